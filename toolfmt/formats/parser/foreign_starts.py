"""What an output is searched for if calls in the syntax of any format count: the starts of all calls, in one table."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, lru_cache

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
    own = scan_targets(markers, ())
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


def foreign_targets(markers: Markers, names: tuple[str, ...]) -> ScanTargets:
    """Return the literals to search for in an output of a format, with those of all syntaxes.

    Args:
        markers: The markers of the format.
        names: The names of the declared tools.
    """
    tables = _tables(markers, bool(names))
    tags = tuple(f"<{name}>" for name in names)
    lines = tuple(f"\n{start}" for start in (*names, *tags))
    return ScanTargets(
        at_start=ManyLiterals(tables.at_start, (*names, *tags)),
        in_content=ManyLiterals(tables.in_content, lines),
        at_fence=ManyLiterals(tables.at_fence),
        in_program=ManyLiterals(tables.in_program),
        calls=tables.calls.union(names, tags),
        call_starts=ManyLiterals(tables.call_starts, (*names, *tags)),
        opener_in={**tables.opener_in, **{line: line[1:] for line in lines}},
    )


@cache
def _starts() -> LiteralTable:
    return LiteralTable(frozenset((*syntaxes().framed, *syntaxes().unframed)))


def foreign_starts(names: tuple[str, ...]) -> Literals:
    """Return everything that a call in any syntax may start with.

    Args:
        names: The names of the declared tools.
    """
    return ManyLiterals(_starts(), (*names, *(f"<{name}>" for name in names)))
