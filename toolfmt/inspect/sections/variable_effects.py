"""Describe how setting a variable changed a prompt, from the prompts without and with it.

Specific effects come first: the value is printed, a reasoning block, the tools. Other effects are text that is added,
left out, or replaced. Used by the variables section.
"""

from __future__ import annotations

import re
from dataclasses import replace

from toolfmt.inspect.probe.conversations import DESCRIPTION, REASONING, TOOL, VALUES
from toolfmt.inspect.probe.differences import TextChange, change, common_ends, first_change
from toolfmt.inspect.probe.needed_variables import GIVEN
from toolfmt.inspect.probe.segments import added
from toolfmt.inspect.probe.turn_markers import known_reasoning
from toolfmt.inspect.report.report import Effect, ReasoningEffect
from toolfmt.inspect.report.wording import CUT, excerpt, quote

_INFORMATIVE = 20
_LONGEST_BLOCK = 200
_EMPTY_BLOCK = re.compile(r"<([\w|]{1,30})>\s*</\1>\s*\Z")
_OPENED_BLOCK = re.compile(r"<(\w*think\w*|\w*reason\w*)>\s*\Z")
_ENDED_BLOCK = re.compile(r"</(\w*think\w*|\w*reason\w*)>\s*\Z")


def described(was: str, becomes: str) -> Effect:
    """Return the difference between two prompts as a clause."""
    made = _whole(was, becomes)
    if GIVEN in becomes and GIVEN not in was:
        at = becomes.find(GIVEN)
        shown = excerpt(becomes, at - 30, at + len(GIVEN) + 30, 80)
        return Effect("printed", 'inserts it unchanged, as in "{}"', (shown,))
    if not made.removed.strip() and not made.added.strip():
        return Effect("blanks", "changes whitespace only")
    block = _block(was, becomes)
    if block is not None:
        before = _whole(*(text[: _block_begin(text)].rstrip() for text in (was, becomes)))
        if not before.removed.strip() and not before.added.strip():
            return block
        other = _plain(before)
        return replace(block, words=f"{other.words}, and {block.words}", excerpts=other.excerpts + block.excerpts)
    one_sided = not made.removed or not made.added
    return _tools(made) or _plain(made if one_sided else _most_informative(made, first_change(was, becomes)))


def _whole(was: str, becomes: str) -> TextChange:
    """Return what changed. An insertion or omission starts at its natural boundary (see `segments.added`)."""
    made = change(was, becomes)
    if made.added and not made.removed:
        begin, end = added(becomes, was, ())[0]
        return TextChange("", becomes[begin:end], made.at_end)
    if made.removed and not made.added:
        begin, end = added(was, becomes, ())[0]
        return TextChange(was[begin:end], "", made.at_end)
    return made


def _most_informative(whole: TextChange, first: TextChange) -> TextChange:
    """Return the first of several changes, unless it is a single word of a text that changed completely."""
    small, large = (max(len(made.removed), len(made.added)) for made in (first, whole))
    return whole if small < _INFORMATIVE and large > 10 * _INFORMATIVE else first


def _plain(made: TextChange) -> Effect:
    if not made.removed.strip():
        return Effect("adds", 'adds "{}"', (quote(made.added, 80),))
    if not made.added.strip():
        return Effect("leaves-out", 'leaves out "{}"', (quote(made.removed, 80),))
    new, old = _marked(made.added, made.removed)
    return Effect("replaces", 'writes "{}" instead of "{}"', (new, old))


def _marked(*texts: str) -> tuple[str, str]:
    """Return two texts for display. If one only lacks a part of the other, … is where the prompt continues."""
    begin, end = common_ends(*texts)
    if begin + end < min(map(len, texts)):
        begin, end = 0, 0
    one, other = (f"{CUT if begin else ''}{quote(text, 60)}{CUT if end else ''}" for text in texts)
    return one, other


def _block(was: str, becomes: str) -> Effect | None:
    """Return the change of the reasoning block at the end of the generation prompt, or None."""
    old, new = map(_empty_block, (was, becomes))
    if new and not old:
        return Effect("reasoning-block", 'ends the prompt with an empty reasoning block ("{}")', (quote(new),))
    old_open, new_open = (_OPENED_BLOCK.search(text, max(0, len(text) - _LONGEST_BLOCK)) for text in (was, becomes))
    old_end, new_end = (_ENDED_BLOCK.search(text, max(0, len(text) - _LONGEST_BLOCK)) for text in (was, becomes))
    for one, other in ((new_open, old_end), (new_end, old_open)):
        if one and other and not old:
            return Effect(
                "reasoning-block", 'ends the prompt with "{}" instead of "{}"', (quote(one[0]), quote(other[0]))
            )
    if new_open and not old_open:
        instead = " instead of an empty one" if old else ""
        words = f'opens a reasoning block at the end of the prompt{instead} ("{{}}")'
        return Effect("reasoning-block", words, (quote(new_open[0]),))
    if old and not new:
        return Effect("reasoning-block", 'does not end the prompt with an empty reasoning block ("{}")', (quote(old),))
    if old_open and not new_open:
        return Effect(
            "reasoning-block", 'opens no reasoning block at the end of the prompt ("{}")', (quote(old_open[0]),)
        )
    return None


def _empty_block(text: str) -> str:
    """Return the empty reasoning block at the end of a prompt, or an empty string."""
    tail = text[-_LONGEST_BLOCK:].rstrip()
    found = _EMPTY_BLOCK.search(tail)
    if found is not None:
        return found[0]
    for opener, closer in known_reasoning():
        inside = tail.removesuffix(closer.strip())
        if inside != tail and inside.rstrip().endswith(opener.strip()):
            return tail[inside.rstrip().rfind(opener.strip()) :]
    return ""


def _block_begin(text: str) -> int:
    """Return the offset of the reasoning block at the end of a prompt, or the length without one."""
    empty = _empty_block(text)
    if empty:
        return text.rfind(empty)
    last = max(0, len(text) - _LONGEST_BLOCK)
    marker = _OPENED_BLOCK.search(text, last) or _ENDED_BLOCK.search(text, last)
    return len(text) if marker is None else marker.start()


def _tools(made: TextChange) -> Effect | None:
    before, after = (any(word in text for word in (TOOL, DESCRIPTION)) for text in (made.removed, made.added))
    if before and not after and VALUES[0] in made.removed and DESCRIPTION not in made.removed:
        return Effect("calls", 'leaves out earlier calls ("{}")', (quote(made.removed, 80),))
    if before and after:
        moved = _line_of(made.removed) == _line_of(made.added)
        how = "puts the tools in another place" if moved else "shows the tools differently"
        return Effect("tools", f'{how} ("{{}}")', (quote(made.added, 80),))
    if after:
        return Effect("tools", 'shows the tools ("{}")', (quote(made.added, 80),))
    return Effect("tools", 'leaves out the tools ("{}")', (quote(made.removed, 80),)) if before else None


def _line_of(text: str) -> str:
    """Return the line with the tool's description."""
    at = max(0, text.find(DESCRIPTION))
    end = text.find("\n", at)
    return text[text.rfind("\n", 0, at) + 1 : end if end >= 0 else len(text)]


def of_reasoning(was: str, becomes: str, *, calls: bool) -> ReasoningEffect:
    """Return what happens to reasoning in the prompt of a conversation, which may have `calls`; empty if unchanged."""
    before, after = was.count(REASONING), becomes.count(REASONING)
    if before == after:
        return ""
    if after < before:
        return "dropped"
    return "kept-with-calls" if calls else "kept"
