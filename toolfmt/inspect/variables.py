"""The template's own variables: what each takes where nobody gives it, and what giving it was seen to change.

`variables` is called once an inspection. Names, defaults and the literals that a value is compared with come from the
syntax tree (`toolfmt.templates.variable_uses`); the effect comes from rendering the same conversations with and without
a value. Nothing here raises, and a template with very many variables has only the first of them tried.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from toolfmt.errors import TemplateError
from toolfmt.inspect.conversations import (
    DESCRIPTION,
    REASONING,
    REPLY,
    SINGLE,
    STAND_INS,
    TOOL,
    TOOLS,
    USER,
    Message,
    Shape,
    conversation,
    user,
)
from toolfmt.inspect.cutting import added
from toolfmt.inspect.deciding import decide
from toolfmt.inspect.differences import Change, change, first_change
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.probes import excerpt, probe, quote
from toolfmt.inspect.reasons import reason
from toolfmt.inspect.renders import Renders
from toolfmt.inspect.report import Variable
from toolfmt.inspect.surroundings import known_reasoning
from toolfmt.inspect.tool_places import form_taken, message_places
from toolfmt.templates.variable_uses import VariableUse

TEXT = "Vq9given"
_NUMBERS = (1, 512)
_MOST_TRIED = 24
_MOST_LITERALS = 6
_TELLING = 20
_USUAL = frozenset({"messages", "tools", "add_generation_prompt", *STAND_INS, "sep_token", "cls_token", "mask_token"})
_SWITCHES = ("enable_thinking", "thinking")
_DOCUMENT = dict.fromkeys(("title", "text", "content", "contents", "snippet", "doc_id", "id"), TEXT)
_LONGEST_BLOCK = 200
_EMPTY_BLOCK = re.compile(r"<([\w|]{1,30})>\s*</\1>\s*\Z")
_OPENED_BLOCK = re.compile(r"<(\w*think\w*|\w*reason\w*)>\s*\Z")
_WITH_IMAGE = [{"type": "image"}, {"type": "text", "text": USER}]


@dataclass(frozen=True)
class _Talk:
    """A conversation that effects are looked for in; `where` says which, behind a sentence."""

    where: str
    messages: list[Message]
    tools: list[Message] | None
    thought: bool = False
    """Whether there is reasoning in its history."""

    def render(self, renders: Renders) -> str | TemplateError:
        return renders.render(self.messages, self.tools, generation=True)


@dataclass(frozen=True)
class _Value:
    """A value that is tried, and what a person calls it."""

    label: str
    value: Any


def variables(facts: Facts) -> tuple[Variable, ...]:
    """The template's variables beyond the usual ones, and places of messages that take the tools it drops."""
    renders = facts.renders
    if renders is None:
        return ()
    known = _USUAL | set(renders.template.special_tokens)
    uses = [use for use in renders.template.variable_uses if use.name not in known]
    seeing = _Seeing(facts, renders, uses)
    found: list[Variable] = []
    for number, use in enumerate(uses):
        if number >= _MOST_TRIED:
            found += [] if use.own else [Variable(use.name, use.default, "", use.line)]
        elif (variable := seeing.variable(use)) is not None:
            found.append(variable)
    if not facts.shows_tools:
        found += [
            Variable(place.name, None, f"takes the tools as {place.form}", place.line, takes_tools=place.form)
            for place in message_places(renders)
        ]
    return tuple(found)


def _needed(renders: Renders, uses: list[VariableUse]) -> Mapping[str, str]:
    """Texts for the variables that are printed, where without them not even a question is rendered."""
    printed = {use.name: TEXT for use in uses if "printed" in use.manners}
    fails = isinstance(renders.render(user()), TemplateError)
    return printed if printed and fails and isinstance(renders.given(printed).render(user()), str) else {}


class _Seeing:
    """Tries values of one template's variables."""

    def __init__(self, facts: Facts, renders: Renders, uses: list[VariableUse]) -> None:
        self._facts, self._renders = facts, renders
        self._needed = _needed(renders, uses)
        self._switches = [use.name for use in uses if use.name in _SWITCHES and "asked" in use.manners]
        shape = facts.probed.shape if facts.probed is not None else None
        self._shape = shape or Shape()
        # Under the name of ServiceNow's templates as well; the usual ones are given together.
        thought = {"role": "assistant", "content": REPLY, "reasoning_content": REASONING, "thought": REASONING}
        inline = {"role": "assistant", "content": f"<think>{REASONING}</think>{REPLY}"}
        called = conversation(replace(self._shape, reasoning=True, follows="result"), SINGLE)
        reply = {"role": "assistant", "content": REPLY}
        history = " with reasoning in the history"
        self._talks = (
            _Talk("", user(), None),
            _Talk(" when tools are given", user(), TOOLS),
            _Talk(" when there is a system message", user(system=True), None),
            *(
                _Talk(history, [*user(), turn, *user(), reply, *user()], None, thought=True)
                for turn in (thought, inline)
            ),
            _Talk(" when a question holds an image", [{"role": "user", "content": _WITH_IMAGE}], None),
            _Talk(" after a call", called, TOOLS, thought=True),
            _Talk(" with calls in the history", [*called, thought, *user()], TOOLS, thought=True),
        )

    def variable(self, use: VariableUse) -> Variable | None:
        """The variable; None for a name of the template's own that takes no tools."""
        base = self._renders.given({name: text for name, text in self._needed.items() if name != use.name})
        takes = form_taken(base, use.name)
        if takes:
            beside = [name for name in self._needed if name != use.name]
            effect = f"takes the tools as {takes}" + (f"; {_or(beside)} has to be given as well" if beside else "")
            return Variable(use.name, use.default, effect, use.line, takes_tools=takes)
        if use.own:
            return None
        values = list(_values(use))
        effect = self._effects(use, base, values)
        formats = self._formats(use, base, values) if effect else ()
        if formats:
            told = ", ".join(f"{name} with {value}" for value, name in formats)
            effect = f"{effect}; calls are written in {told}"
        effect = effect or self._thinking(use, base, values) or self._other_kinds(use, base, values)
        return Variable(use.name, use.default, effect, use.line, formats=formats)

    def _thinking(self, use: VariableUse, base: Renders, values: list[_Value]) -> str:
        """What the values change where the model is to think, for variables that count only then."""
        others = {name: True for name in self._switches if name != use.name}
        told = self._effects(use, base.given(others), values, throws=False) if others else ""
        return f"{told} (with {' and '.join(others)} true)" if told else ""

    def _effects(self, use: VariableUse, base: Renders, values: list[_Value], *, throws: bool = True) -> str:
        """One clause for every value, or values together, that changes a prompt."""
        told: dict[str, list[str]] = {}
        for value in values:
            effect = self._effect(base, base.given({use.name: value.value}), value, throws=throws)
            if effect:
                told.setdefault(effect, []).append(value.label)
                if TEXT in effect and value.value == TEXT:
                    break
        return "; ".join(f"{_or(labels)} {effect}" for effect, labels in told.items())

    def _other_kinds(self, use: VariableUse, base: Renders, tried: list[_Value]) -> str:
        """What a value of another kind changes, where those that the source suggests change nothing."""
        kinds = (*_BOOLEANS, _A_TEXT, _DOCUMENTS, _A_LIST)
        others = [value for value in kinds if value not in tried]
        return next((told for value in others if (told := self._effects(use, base, [value], throws=False))), "")

    def _effect(self, base: Renders, varied: Renders, value: _Value, *, throws: bool) -> str:
        """What the value changes first, and what becomes of reasoning in the history; empty for nothing."""
        first = extra = failed = where = ""
        for talk in self._talks:
            if first and not talk.thought:
                continue
            was, becomes = talk.render(base), talk.render(varied)
            if isinstance(becomes, TemplateError):
                if isinstance(was, str):
                    where = where if failed else talk.where
                    failed = failed or reason(becomes)
            elif isinstance(was, TemplateError):
                first = first or f"is needed{talk.where}: without it the template fails ({reason(was)})"
            elif was != becomes:
                first = first or _describe(was, becomes) + talk.where
                extra = extra or _reasoning(was, becomes)
        if failed and (throws or first):
            # What fails with one conversation and works with another is told with the difference.
            fails = f"makes the template fail{where or (' without tools' if first else '')}: {failed}"
            return f"{first}; {fails}" if first else fails
        first = f"{first}, and {extra}" if extra and extra not in first else first
        written = self._written(base, varied) if first and isinstance(value.value, str) else ""
        return f"{first}; it writes calls as {quote(written, 80)}" if written else first

    def _written(self, base: Renders, varied: Renders) -> str:
        """A call as it is written with the value, where it is written otherwise without."""
        regions = [renders.calls(self._shape, SINGLE, TOOLS) for renders in (base, varied)]
        texts = [region.text for region in regions if not isinstance(region, TemplateError)]
        return texts[1] if len(texts) == 2 and texts[0] != texts[1] and TOOL in texts[1] else ""

    # --- formats

    def _formats(self, use: VariableUse, base: Renders, values: list[_Value]) -> tuple[tuple[str, str], ...]:
        """The format of the calls for each value, the default's first; empty where all values have the same."""
        usual = self._facts.decided.format
        if usual is None:
            return ()
        found = {}
        for value in values:
            name = self._format(base, base.given({use.name: value.value}))
            if name is not None:
                found[value.label] = name
        if not set(found.values()) - {usual.name}:
            return ()
        default = use.default if use.default is not None else "none given"
        return ((default, usual.name), *((label, name) for label, name in found.items() if label != default))

    def _format(self, base: Renders, varied: Renders) -> str | None:
        """The format in which calls are written with the value, where they are not written as without it."""
        one, other = (renders.calls(self._shape, SINGLE, TOOLS) for renders in (base, varied))
        told = [renders.text(user(), TOOLS) for renders in (base, varied)]
        same = isinstance(one, TemplateError) or isinstance(other, TemplateError) or one.text == other.text
        if same and (told[0] == told[1] or self._facts.renders_calls):
            return None
        decided = decide(told[1], varied, probe(varied))
        certain = decided.decision.confidence in ("verified", "signature")
        return decided.decision.name if certain else None


# --- values to try

_BOOLEANS = (_Value("true", True), _Value("false", False))
_A_TEXT = _Value("a text", TEXT)
_DOCUMENTS = _Value("a list of documents", [_DOCUMENT])
_A_LIST = _Value("a list of texts", [TEXT])


def _values(use: VariableUse) -> Iterator[_Value]:
    """The values that the source suggests."""
    literals = use.literals[:_MOST_LITERALS]
    if "keyed" in use.manners:
        yield _Value("an object", dict.fromkeys(use.keys, TEXT))
        return
    if "iterated" in use.manners:
        texts = [literal for literal in literals if isinstance(literal, str)]
        yield _Value("a list of documents", [_DOCUMENT]) if use.name == "documents" else _A_LIST
        if texts:
            yield _Value(f"the list {texts}", texts)
        return
    for literal in literals:
        yield _Value(f'"{literal}"' if isinstance(literal, str) else str(literal), literal)
    if any(isinstance(literal, (int, float)) for literal in literals) or _is_number(use.default):
        yield from (_Value(str(number), number) for number in _NUMBERS if number not in literals)
    elif "printed" in use.manners or _is_text(use.default):
        yield _Value("another text", TEXT) if literals else _A_TEXT
    elif "asked" in use.manners and not any(isinstance(literal, str) for literal in literals):
        yield from _BOOLEANS


def _is_text(default: str | None) -> bool:
    return default is not None and default.startswith('"')


def _is_number(default: str | None) -> bool:
    return default is not None and re.fullmatch(r"-?\d{1,18}", default) is not None


# --- what changed, in words


def _describe(was: str, becomes: str) -> str:
    """One clause with the evidence."""
    made = _whole(was, becomes)
    if TEXT in becomes and TEXT not in was:
        at = becomes.find(TEXT)
        return f"is printed: {excerpt(becomes, at - 30, at + len(TEXT) + 30, 80)}"
    if not made.removed.strip() and not made.added.strip():
        return "changes blanks or newlines only"
    block = _block(was, becomes)
    if block:
        before = _whole(*(text[: _block_begin(text)].rstrip() for text in (was, becomes)))
        return f"{_plain(before)}, and {block}" if before.removed.strip() or before.added.strip() else block
    one_sided = not made.removed or not made.added
    return _tools(made) or _plain(made if one_sided else _telling(made, first_change(was, becomes)))


def _whole(was: str, becomes: str) -> Change:
    """What changed; where something is added or left out, from where a person would say that it begins."""
    made = change(was, becomes)
    if made.added and not made.removed:
        begin, end = added(becomes, was, ())[0]
        return Change("", becomes[begin:end], made.at_end)
    if made.removed and not made.added:
        begin, end = added(was, becomes, ())[0]
        return Change(was[begin:end], "", made.at_end)
    return made


def _telling(whole: Change, first: Change) -> Change:
    """The first of several changes, unless it is a word of a text that is another one altogether."""
    small, large = (max(len(made.removed), len(made.added)) for made in (first, whole))
    return whole if small < _TELLING and large > 10 * _TELLING else first


def _plain(made: Change) -> str:
    if not made.removed.strip():
        return f'adds "{quote(made.added, 80)}"'
    if not made.added.strip():
        return f'leaves out "{quote(made.removed, 80)}"'
    return f'writes "{quote(made.added, 60)}" instead of "{quote(made.removed, 60)}"'


def _block(was: str, becomes: str) -> str:
    """What becomes of the reasoning block at the end of the generation prompt."""
    old, new = map(_empty_block, (was, becomes))
    if new and not old:
        return f"writes an empty reasoning block: {quote(new)}"
    old_open, new_open = (_OPENED_BLOCK.search(text, max(0, len(text) - _LONGEST_BLOCK)) for text in (was, becomes))
    if new_open and not old_open:
        what = f"opens a reasoning block: {quote(new_open[0])}"
        return f"{what}, instead of an empty one" if old else what
    if old and not new:
        return f"writes no empty reasoning block ({quote(old)})"
    if old_open and not new_open:
        return f"does not open a reasoning block ({quote(old_open[0])})"
    return ""


def _empty_block(text: str) -> str:
    """The empty reasoning block that a prompt ends with; empty where it ends otherwise."""
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
    """Where the reasoning block at the end of a prompt begins; the end where there is none."""
    empty = _empty_block(text)
    if empty:
        return text.rfind(empty)
    opened = _OPENED_BLOCK.search(text, max(0, len(text) - _LONGEST_BLOCK))
    return len(text) if opened is None else opened.start()


def _tools(made: Change) -> str:
    before, after = (any(word in text for word in (TOOL, DESCRIPTION)) for text in (made.removed, made.added))
    if before and after:
        moved = _line_of(made.removed) == _line_of(made.added)
        return f"shows the tools {'in another place' if moved else 'another way'}: {quote(made.added, 80)}"
    if after:
        return f"shows the tools: {quote(made.added, 80)}"
    return f"leaves out the tools: {quote(made.removed, 80)}" if before else ""


def _line_of(text: str) -> str:
    """The line with the tool's description."""
    at = max(0, text.find(DESCRIPTION))
    end = text.find("\n", at)
    return text[text.rfind("\n", 0, at) + 1 : end if end >= 0 else len(text)]


def _reasoning(was: str, becomes: str) -> str:
    before, after = was.count(REASONING), becomes.count(REASONING)
    if before == after:
        return ""
    return "keeps earlier reasoning" if after > before else "drops earlier reasoning"


def _or(names: list[str]) -> str:
    *most, last = names
    return f"{', '.join(most)} or {last}" if most else last
