"""What stands around calls: once around all of them, around each, and between two."""

from __future__ import annotations

from dataclasses import dataclass

from toolfmt.inspect.format.derive.text_cuts import blanks_before, blanks_behind, common_end, common_start


@dataclass(frozen=True)
class Frames:
    """`outer` stands before all calls and `outer_close` behind them, `each` and `each_close` around every one,
    `between` between two of them."""

    outer: str = ""
    outer_close: str = ""
    each: str = ""
    each_close: str = ""
    between: str = ""

    @property
    def apart(self) -> str:
        """What stands between two calls that are framed each, blanks of their frames included."""
        return blanks_behind(self.each_close) + self.between + blanks_before(self.each)


def frames(before: str, after: str, between: str | None, *, keep_close: bool = False) -> Frames:
    """From what stands before the first call, behind the last, and between two; None where a turn holds one call.

    What the text between two calls shares with both ends may be counted twice; `keep_close` leaves it with the end of
    the first.
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
