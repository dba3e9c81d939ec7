"""What surrounds calls: once around all of them, around each, and between two."""

from __future__ import annotations

from dataclasses import dataclass

from toolfmt.inspect.format.derive.text_cuts import common_end, common_start, leading_whitespace, trailing_whitespace


@dataclass(frozen=True)
class Frames:
    """`outer` precedes all calls and `outer_close` follows them.

    `each` and `each_close` surround every call. `between` is between two of them.
    """

    outer: str = ""
    outer_close: str = ""
    each: str = ""
    each_close: str = ""
    between: str = ""

    @property
    def apart(self) -> str:
        """The text between two framed calls, including the whitespace of their frames."""
        return trailing_whitespace(self.each_close) + self.between + leading_whitespace(self.each)


def frames(before: str, after: str, between: str | None, *, keep_close: bool = False) -> Frames:
    """Return the frames, from the text before the first call, after the last, and between two calls.

    `between` is None for one call per turn. The text between two calls may share characters with both ends.
    `keep_close` assigns them to the end of the first call.
    """
    if between is None:
        return Frames(each=before, each_close=after)
    each, close = common_end(before, between), common_start(after, between)
    over = len(each) + len(close) - len(between)
    if over > 0 and keep_close:
        each = each[over:]
    elif over > 0 and each.strip():
        close = close[: max(0, len(between) - len(each))]
    return Frames(
        before[: len(before) - len(each)],
        after[len(close) :],
        each,
        close,
        between[len(close) : len(between) - len(each)],
    )
