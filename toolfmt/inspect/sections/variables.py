"""The template's own variables: the default of each one, and what setting it changes.

`variables` is called once per inspection. Names, defaults and the literals that a value is compared with come from the
syntax tree (`toolfmt.templates.analysis.variable_uses`). The effect comes from rendering the same conversations with
and without a value. Nothing here raises. If a template has very many variables, only the first of them are tried.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from toolfmt._util.text_lists import listed
from toolfmt.errors import TemplateError
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.format.decision import decide
from toolfmt.inspect.probe.capabilities import probe
from toolfmt.inspect.probe.conversations import REASONING, REPLY, SINGLE, TOOL, TOOLS, USER, Message, conversation, user
from toolfmt.inspect.probe.needed_variables import GIVEN, USUAL, needed_variables
from toolfmt.inspect.probe.reasoning import names_read
from toolfmt.inspect.probe.renders import Renders
from toolfmt.inspect.report.error_messages import thrown
from toolfmt.inspect.report.report import Effect, ReasoningEffect, TemplateFailure, Variable
from toolfmt.inspect.report.turn_shape import TurnShape
from toolfmt.inspect.report.wording import quote
from toolfmt.inspect.sections.tool_variables import form_taken, message_places
from toolfmt.inspect.sections.variable_effects import described, of_reasoning
from toolfmt.templates.analysis.variable_uses import VariableUse

_NUMBERS = (1, 512)
_MOST_TRIED = 24
_MOST_LITERALS = 6
_REASONING: dict[ReasoningEffect, str] = {
    "kept": "keeps earlier reasoning",
    "kept-with-calls": "keeps earlier reasoning next to calls",
    "dropped": "drops earlier reasoning",
}
_SWITCHES = ("enable_thinking", "thinking")
_DOCUMENT = dict.fromkeys(("title", "text", "content", "contents", "snippet", "doc_id", "id"), GIVEN)
_IF = " if "
_WITH_TOOLS = f"{_IF}tools are given"
_AFTER_RESULT = f"{_IF}the conversation ends with the result of a call"
_WITH_IMAGE = [{"type": "image"}, {"type": "text", "text": USER}]


@dataclass(frozen=True)
class _Conversation:
    """A conversation in which effects are searched for; `where` describes it, at the end of a sentence."""

    where: str
    messages: list[Message]
    tools: list[Message] | None
    thought: bool = False
    """Whether its history contains reasoning."""

    def render(self, renders: Renders) -> str | TemplateError:
        return renders.render(self.messages, self.tools, generation=True)


@dataclass(frozen=True)
class _Value:
    """A value to try and its label. `described` is set if the label is not the literal to type."""

    label: str
    value: Any
    described: bool = False


def variables(facts: Facts) -> tuple[Variable, ...]:
    """Return the template's custom variables, and the keys and roles of messages that accept the tools it drops."""
    renders = facts.renders
    if renders is None:
        return ()
    known = USUAL | set(renders.template.special_tokens)
    uses = [use for use in renders.template.variable_uses if use.name not in known]
    seeing = _Seeing(facts, renders, uses)
    found: list[Variable] = []
    for number, use in enumerate(uses):
        if number >= _MOST_TRIED:
            found += [] if use.own else [Variable(use.name, use.default, line=use.line)]
        elif (variable := seeing.variable(use)) is not None:
            found.append(variable)
    if not facts.shows_tools:
        found += [
            Variable(place.name, None, (_taking(place.form),), place.line, takes_tools=place.form)
            for place in message_places(renders)
        ]
    return tuple(found)


def _taking(form: str, others: Sequence[str] = ()) -> Effect:
    """Return the effect that tools are accepted in this form, and the variables that have to be set as well."""
    words = f"accepts the tools in place of the request's `tools`, as {form}"
    if not others:
        return Effect("takes-tools", words)
    return Effect("takes-tools", f"{words}; {{}} has to be given as well", (listed(others, "or"),))


class _Seeing:
    """Tries values of one template's variables."""

    def __init__(self, facts: Facts, renders: Renders, uses: list[VariableUse]) -> None:
        self._facts, self._renders = facts, renders
        self._needed = needed_variables(renders)
        self._switches = [use.name for use in uses if use.name in _SWITCHES and "asked" in use.manners]
        self._shape = facts.shape or TurnShape()
        # Under every name at once: which name is rendered may depend on the variable.
        names = dict.fromkeys(("reasoning_content", *names_read(renders.template)), REASONING)
        thought = {"role": "assistant", "content": REPLY, **names}
        inline = {"role": "assistant", "content": f"<think>{REASONING}</think>{REPLY}"}
        called = conversation(replace(self._shape, reasoning=True, follows="result"), SINGLE)
        reply = {"role": "assistant", "content": REPLY}
        history = " if the history has reasoning"
        self._talks = (
            _Conversation("", user(), None),
            _Conversation(_WITH_TOOLS, user(), TOOLS),
            _Conversation(" if there is a system message", user(system=True), None),
            *(
                _Conversation(history, [*user(), turn, *user(), reply, *user()], None, thought=True)
                for turn in (thought, inline)
            ),
            _Conversation(" if a question contains an image", [{"role": "user", "content": _WITH_IMAGE}], None),
            _Conversation(_AFTER_RESULT, called, TOOLS, thought=True),
            _Conversation(" if the history has calls", [*called, thought, *user()], TOOLS, thought=True),
        )

    def variable(self, use: VariableUse) -> Variable | None:
        """Return the variable, or None for a name set by the template itself that does not accept tools."""
        base = self._renders.given({name: text for name, text in self._needed.items() if name != use.name})
        takes = form_taken(base, use.name)
        if takes:
            taking = _taking(takes, [name for name in self._needed if name != use.name])
            return Variable(use.name, use.default, (taking,), use.line, takes_tools=takes)
        if use.own and use.name not in _SWITCHES:  # a template may override a switch that its caller passes
            return None
        values = list(_values(use))
        found = Variable(use.name, use.default, self._effects(use, base, values), use.line)
        if found.effects:
            default = use.default or _acts_as(found.effects, values)
            return replace(found, default=default, formats=self._formats(use, base, values))
        others = [name for name in self._switches if name != use.name]
        effects = self._thinking(use, base, values, others)
        if effects:
            alone = [name for name in others if self._thinking(use, base, values, [name]) == effects]
            return replace(found, effects=effects, requires=tuple(alone[:1] or others))
        return replace(found, effects=self._other_kinds(use, base, values))

    def _thinking(self, use: VariableUse, base: Renders, values: list[_Value], others: list[str]) -> tuple[Effect, ...]:
        """Return what the values change if the model is to think, for variables that only count then."""
        return self._effects(use, base.given(dict.fromkeys(others, True)), values, throws=False) if others else ()

    def _effects(
        self, use: VariableUse, base: Renders, values: list[_Value], *, throws: bool = True
    ) -> tuple[Effect, ...]:
        """Return what each value changes in a prompt, grouped by effect."""
        grouped: dict[Effect, list[_Value]] = {}
        for value in values:
            effect = self._effect(base, base.given({use.name: value.value}), value, throws=throws)
            if effect is not None:
                grouped.setdefault(effect, []).append(value)
                if value.value == GIVEN and any(GIVEN in shown for shown in effect.excerpts):
                    break
        return tuple(
            replace(
                effect,
                values=tuple(value.label for value in same),
                typed="" if same[0].described else same[0].label,
            )
            for effect, same in grouped.items()
        )

    def _other_kinds(self, use: VariableUse, base: Renders, tried: list[_Value]) -> tuple[Effect, ...]:
        """Return what a value of another type changes, if the values from the source change nothing."""
        kinds = (*_BOOLEANS, _A_TEXT, _DOCUMENTS, _A_LIST)
        others = [value for value in kinds if value not in tried]
        return next((effects for value in others if (effects := self._effects(use, base, [value], throws=False))), ())

    def _effect(self, base: Renders, varied: Renders, value: _Value, *, throws: bool) -> Effect | None:
        """Return the first change that the value makes, and what happens to reasoning in the history, or None."""
        first: Effect | None = None
        failed: TemplateFailure | None = None
        reasoning: ReasoningEffect = ""
        where = ""
        for talk in self._talks:
            if first and not talk.thought:
                continue
            was, becomes = talk.render(base), talk.render(varied)
            if isinstance(becomes, TemplateError):
                if isinstance(was, str):
                    where = where if failed else talk.where
                    failed = failed or thrown(becomes)
            elif isinstance(was, TemplateError):
                first = first or _lacking(thrown(was), talk.where)
            elif was != becomes:
                effect = described(was, becomes)
                effect = effect if talk.where else self._with_condition(effect, base, varied)
                first = first or _appended(effect, _where(effect, talk.where))
                reasoning = reasoning or of_reasoning(was, becomes, calls=talk.tools is not None)
        if failed and (throws or first):
            # A value that fails in one conversation and works in another is reported with both.
            if first is None:
                return Effect("fails", *_failing("makes the template", failed, where), error=failed)
            words, excerpts = _failing("it makes the template", failed, where or self._unless(base, varied))
            return replace(_appended(first, f"; {words}", *excerpts), error=failed)
        if first is not None and reasoning:
            words = _REASONING[reasoning]
            kind = "leaves-out" if reasoning == "dropped" else "adds"
            only = first.kind == kind and REASONING in first.excerpts[0]
            first = Effect(first.kind, words) if only else _appended(first, f", and {words}")
            first = replace(first, reasoning=reasoning)
        written = self._written(base, varied) if first and isinstance(value.value, str) else ""
        return _appended(first, '; calls are then written as "{}"', quote(written, 80)) if first and written else first

    def _unless(self, base: Renders, varied: Renders) -> str:
        """Return the condition for a value to work that makes a plain question fail; without one, where it fails."""
        works = [
            talk for talk in self._talks if isinstance(talk.render(base), str) and isinstance(talk.render(varied), str)
        ]
        if all(talk.tools is not None for talk in works):
            return " unless tools are given"
        if len({talk.where for talk in works}) == 1:
            return " unless " + works[0].where.removeprefix(_IF)
        return " in other conversations"

    def _with_condition(self, effect: Effect, base: Renders, varied: Renders) -> Effect:
        """Return the effect on a plain question. If text is added only without tools or a system message, add that."""
        if not effect.words.startswith('adds "{}"') or " … " in effect.excerpts[0]:
            return effect
        text, others = effect.excerpts[0].replace("\\n", "\n"), list[str]()
        missing = ("there are no tools", "there is no system message")
        for talk, what in zip(self._talks[1:3], missing, strict=True):
            was, becomes = talk.render(base), talk.render(varied)
            if isinstance(was, str) and isinstance(becomes, str) and becomes.count(text) <= was.count(text):
                others.append(what)
        adds = f'adds "{{}}" if {" and ".join(others)}'
        return replace(effect, words=effect.words.replace('adds "{}"', adds, 1)) if others else effect

    def _written(self, base: Renders, varied: Renders) -> str:
        """Return a call as it is written with the value, if it is written differently without."""
        regions = [renders.calls(self._shape, SINGLE, TOOLS) for renders in (base, varied)]
        texts = [region.text for region in regions if not isinstance(region, TemplateError)]
        # Extra text after an unchanged call does not count.
        differs = len(texts) == 2 and not texts[1].startswith(texts[0])
        return texts[1] if differs and TOOL in texts[1] else ""

    # --- formats

    def _formats(self, use: VariableUse, base: Renders, values: list[_Value]) -> tuple[tuple[str, str], ...]:
        """Return the format of the calls for each value, the default's first; empty if all values have the same."""
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
        """Return the format of calls with the value, if they are written differently than without it."""
        one, other = (renders.calls(self._shape, SINGLE, TOOLS) for renders in (base, varied))
        prompts = [renders.text(user(), TOOLS) for renders in (base, varied)]
        same = isinstance(one, TemplateError) or isinstance(other, TemplateError) or one.text == other.text
        if same and (prompts[0] == prompts[1] or self._facts.renders_calls):
            return None
        decided = decide(prompts[1], varied, probe(varied), derive=False)
        certain = decided.decision.confidence in ("verified", "signature")
        return decided.decision.name if certain else None


def _acts_as(effects: Sequence[Effect], tried: Sequence[_Value]) -> str | None:
    """Return the boolean that changes nothing if the other one does: an unset variable acts like it."""
    changing = {label for effect in effects for label in effect.values}
    same = [value.label for value in tried if value.label not in changing]
    return same[0] if same and tuple(tried) == _BOOLEANS else None


def _lacking(error: TemplateFailure, where: str) -> Effect:
    """Return the effect that the template fails if the variable is not set."""
    if error.kind == "raised":
        return Effect(
            "needed", f'without it, the template raises "{{}}"{where}', (quote(error.engine_message),), error=error
        )
    return Effect("needed", f"without it, the template fails{where}: {{}}", (error.sentence,), error=error)


def _failing(what: str, error: TemplateFailure, where: str) -> tuple[str, tuple[str]]:
    """Return the words for an error of the template, and its text."""
    if error.kind == "raised" and not error.explanation:
        return f'{what} raise "{{}}"{where}', (quote(error.engine_message),)
    return f"{what} fail{where}: {{}}", (error.sentence,)


def _where(effect: Effect, where: str) -> str:
    """Return the conversation in which an effect appears, unless the effect implies it."""
    return "" if effect.kind == "tools" and where == _WITH_TOOLS else where


def _appended(effect: Effect, words: str, *excerpts: str) -> Effect:
    """Append words and their excerpts to the effect."""
    return replace(effect, words=effect.words + words, excerpts=(*effect.excerpts, *excerpts))


# --- values to try

_BOOLEANS = (_Value("true", True), _Value("false", False))
_A_TEXT = _Value(f'a string (tested with "{GIVEN}")', GIVEN, described=True)
_DOCUMENTS = _Value("a list of documents", [_DOCUMENT], described=True)
_A_LIST = _Value("a list of strings", [GIVEN], described=True)


def _values(use: VariableUse) -> Iterator[_Value]:
    """Yield the values that the source suggests."""
    literals = use.literals[:_MOST_LITERALS]
    if "keyed" in use.manners:
        yield _Value("an object", dict.fromkeys(use.keys, GIVEN), described=True)
        return
    if "iterated" in use.manners:
        texts = [literal for literal in literals if isinstance(literal, str)]
        yield _DOCUMENTS if use.name == "documents" else _A_LIST
        if texts:
            yield _Value(f"the list {texts}", texts, described=True)
        return
    for literal in literals:
        yield _Value(f'"{literal}"' if isinstance(literal, str) else str(literal), literal)
    if any(isinstance(literal, (int, float)) for literal in literals) or _is_number(use.default):
        yield from (_Value(str(number), number) for number in _NUMBERS if number not in literals)
    elif "printed" in use.manners or _is_text(use.default):
        yield _Value(f'another string (tested with "{GIVEN}")', GIVEN, described=True) if literals else _A_TEXT
    elif "asked" in use.manners and not any(isinstance(literal, str) for literal in literals):
        yield from _BOOLEANS


def _is_text(default: str | None) -> bool:
    return default is not None and default.startswith('"')


def _is_number(default: str | None) -> bool:
    return default is not None and re.fullmatch(r"-?\d{1,18}", default) is not None
