"""Change a chat template so that it keeps the reasoning of earlier turns.

Many templates drop it, by a condition on the position of a message: `loop.index0 > last_question`. Then no prompt is
the start of the next one, and one rendered conversation cannot train all reasoning. The change replaces such an operand
of a condition by a constant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from toolfmt.inspect.checks.editing.source import Edit, Word, as_newlines, edited, with_line_ends_of, words

_POSITIONS = ("loop", "<", ">", "<=", ">=")
"""Names and operators of conditions on the position of a message."""
_SEPARATING = ("and", "or", "not", "if", "elif", "else")
_MOST_CHANGES = 3


def with_kept_reasoning(source: str, problems: Callable[[str], int | None]) -> str | None:
    """Return the source with the changes after which there are the fewest problems. None if no change helps.

    `problems` returns the number of problems with a changed source, or None if the change is not acceptable.
    """
    body = as_newlines(source)
    fewest = None if body is None else problems(body)
    if body is None or fewest is None:
        return None
    changed = body
    for _ in range(_MOST_CHANGES):
        judged = [(count, text) for text in _candidates(changed) if (count := problems(text)) is not None]
        best = min(judged, key=lambda one: one[0], default=(fewest, changed))
        if best[0] >= fewest:
            break
        fewest, changed = best
    return None if changed == body else with_line_ends_of(source, changed)


def _candidates(source: str) -> Iterator[str]:
    """Yield the source with one operand of a condition on positions replaced by a constant."""
    for operand in _operands(words(source)):
        for constant in ("true", "false"):
            yield edited(source, [Edit(operand[0].start, operand[-1].end, constant)])


def _operands(listed: Sequence[Word]) -> Iterator[Sequence[Word]]:
    """Yield the words of each operand in the conditions of `if` and `elif` that is about positions."""
    for at, word in enumerate(listed):
        if word.kind != "block_begin" or not listed[at + 1].is_one("if", "elif"):
            continue
        end = next(end for end in range(at, len(listed)) if listed[end].kind == "block_end")
        for operand in _split(listed[at + 2 : end]):
            if any(one.is_one(*_POSITIONS) for one in operand):
                yield operand


def _split(condition: Sequence[Word]) -> Iterator[Sequence[Word]]:
    """Yield the operands of a condition, also those in parentheses around several."""
    operand: list[Word] = []
    depth = 0
    for word in condition:
        opens, closes = word.is_one("(", "[", "{"), word.is_one(")", "]", "}")
        if word.is_one(*_SEPARATING) or (opens and not operand) or (closes and not depth):
            yield operand
            operand, depth = [], 0
            continue
        depth += opens - closes
        operand.append(word)
    yield operand
