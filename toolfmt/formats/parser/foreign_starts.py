"""What an output is searched for if calls in the syntax of any format count: the starts of all calls, in one table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache

from toolfmt.formats.engines.frame import MIN_CONTROL_TOKEN
from toolfmt.formats.markers import CODE, FENCES, Markers, ScanTargets, scan_targets
from toolfmt.formats.parser.syntaxes import syntaxes
from toolfmt.formats.scanner.literals import Literals, LiteralTable, ManyLiterals


@dataclass(frozen=True, eq=False)
class _Tables:
    """The literals of one format with those of all syntaxes, which no set of tools changes."""

    at_start: LiteralTable
    in_content: LiteralTable
    at_fence: LiteralTable
    in_program: LiteralTable
    calls: frozenset[str]
    call_starts: LiteralTable
    opener_in: dict[str, str]


@lru_cache(maxsize=64)
def _tables(markers: Markers, names_count: bool) -> _Tables:
    known = syntaxes()
    own = scan_targets(markers)
    taken = {
        *markers.ignored_markers, *markers.ignored_at_start, *markers.content_markers, *markers.reasoning,
        *markers.between,
    }  # fmt: skip
    own_starts = tuple(markers.calls)

    def others(starts: Iterable[str]) -> frozenset[str]:
        """Return the starts that are not longer than one of the format, which would hide it."""
        return frozenset(
            start for start in set(starts) - taken if start in own_starts or not start.startswith(own_starts)
        )

    framed = others(start for start in known.framed if len(start) >= MIN_CONTROL_TOKEN and not start[0].isalnum())
    unframed = others(known.unframed).difference(FENCES) if names_count else frozenset[str]()
    hidden = (start for start in own.in_content.literals | framed if start.startswith(tuple(unframed)))
    lines = {f"\n{start}": start for start in (*unframed, *hidden)}
    code = {CODE} if names_count else set[str]()
    calls = own.calls | framed | unframed | code
    return _Tables(
        at_start=LiteralTable(own.at_start.literals | framed | unframed | code),
        in_content=LiteralTable(own.in_content.literals | framed | lines.keys()),
        at_fence=LiteralTable(own.at_fence.literals | framed),
        in_program=LiteralTable(own.in_program.literals | framed),
        calls=calls,
        call_starts=LiteralTable(calls),
        opener_in={**own.opener_in, **lines},
    )


class ForeignTargets(ScanTargets):
    """The literals to search for in an output of a format, with those of all syntaxes.

    A call may also start with the name of a declared tool, or the name as a tag. Then the name must be at the start of
    the output, or of a line that is not in a code fence.

    Args:
        markers: The markers of the format.
        names: The names of the declared tools.
    """

    def __init__(self, markers: Markers, names: tuple[str, ...]) -> None:
        super().__init__(markers)
        self._tables = _tables(markers, bool(names))
        self._names = (*names, *(f"<{name}>" for name in names))
        self.calls = self.starts = self._tables.calls.union(self._names)

    @cached_property
    def at_start(self) -> Literals:
        return ManyLiterals(self._tables.at_start, self._names)

    @cached_property
    def in_content(self) -> Literals:
        return ManyLiterals(self._tables.in_content, tuple(f"\n{name}" for name in self._names))

    @cached_property
    def at_fence(self) -> Literals:
        return ManyLiterals(self._tables.at_fence)

    @cached_property
    def in_program(self) -> Literals:
        return ManyLiterals(self._tables.in_program)

    @cached_property
    def call_starts(self) -> Literals:
        return ManyLiterals(self._tables.call_starts, self._names)

    @cached_property
    def opener_in(self) -> Mapping[str, str]:
        return {**self._tables.opener_in, **{f"\n{name}": name for name in self._names}}


@cache
def _starts() -> LiteralTable:
    return LiteralTable(frozenset((*syntaxes().framed, *syntaxes().unframed)))


def foreign_starts(names: tuple[str, ...]) -> Literals:
    """Return everything that a call in any syntax may start with.

    Args:
        names: The names of the declared tools.
    """
    return ManyLiterals(_starts(), (*names, *(f"<{name}>" for name in names)))
