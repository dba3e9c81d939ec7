"""A chat template: checked on creation, compiled on first render, and rendered as transformers renders it.

`toolfmt.model` and the probes of `toolfmt.inspect` use it. Every error in a template, of any type, becomes a
`TemplateError` with a one-line message and the template's line if jinja2 provides it. Creating a `ChatTemplate` and
reading its attributes only parses and never evaluates. Compiling (which folds constants) and rendering run untrusted
code without limits on time or memory. Run untrusted templates in a process with limits.
"""

from __future__ import annotations

import re
import sys
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from types import FrameType, MappingProxyType
from typing import Any, NoReturn

import jinja2
from jinja2.utils import internal_code

from toolfmt.errors import HAPPENED, BadMessages, BadTools, FailureKind, LimitHit, TemplateError
from toolfmt.messages.tools import kind_of
from toolfmt.templates.analysis.compared_names import compared_names, compared_words
from toolfmt.templates.analysis.cuts import cuts
from toolfmt.templates.analysis.hidden_characters import HiddenText, hidden_characters
from toolfmt.templates.analysis.internals import internals
from toolfmt.templates.analysis.matched_texts import MatchedText, matched_texts
from toolfmt.templates.analysis.nondeterminism import clock_formats, draws_line
from toolfmt.templates.analysis.tested_roles import tested_roles
from toolfmt.templates.analysis.tested_texts import TestedText, tested_texts
from toolfmt.templates.analysis.variable_uses import VariableUse, variable_uses
from toolfmt.templates.analysis.variables import cache_nodes, caller_names, calls, copied, filters, keys, tree_size
from toolfmt.templates.analysis.written_texts import written_texts
from toolfmt.templates.engine.branch_coverage import FILTER, OPERAND, BranchCoverage, watch
from toolfmt.templates.engine.environment import (
    LONGEST_OUTPUT,
    RaisedByTemplate,
    TooMuch,
    clock,
    environment,
    plain,
    without_comments,
)
from toolfmt.templates.engine.expression_lines import Spanning, line_of_lookup, missing, spanning
from toolfmt.templates.engine.line_output import by_lines, holds_back, unmarked
from toolfmt.templates.engine.nesting import nesting
from toolfmt.templates.engine.own_texts import OwnTexts
from toolfmt.templates.engine.syntax_hints import hint

# Twenty times the longest real template known (51,034 characters, of 1,176 templates, November 2026).
LONGEST_SOURCE = 1_000_000
"""Maximum number of characters in a template's source."""

# The largest tree of the same templates has 5,001 nodes.
LARGEST_TREE = 100_000
"""Maximum number of nodes in a template's syntax tree."""

FROZEN_NOW = datetime(2025, 1, 1, 12)
"""The template's current time by default, so that a render never depends on the day."""

_LONGEST_MESSAGE = 500
_NEWLINE = re.compile(r"\r\n|\r|\n")
_NO_TOKENS: Mapping[str, str] = MappingProxyType({})
# Keys of a message's reasoning. transformers passes the first two to every template, whichever the caller used.
_REASONING = ("reasoning_content", "thinking", "reasoning")


class ChatTemplate:
    """A chat template that parses.

    Takes the source, the special tokens that the template reads as variables, and the template's name in messages (its
    file). Raises `TemplateError` if the source is not valid jinja2, and `LimitHit` if it is longer than
    `LONGEST_SOURCE` or its syntax tree is larger than `LARGEST_TREE`.

    - `source`: the source text.
    - `variables`: the names it reads from its caller, sorted, without those that the environment defines.
    - `variable_uses`: their defaults and uses in the syntax tree.
    - `uses_clock`: whether it calls `strftime_now`, so that its prompts depend on the date.
    - `own_texts`: what `record_own_texts` has recorded.
    """

    def __init__(
        self, source: str, special_tokens: Mapping[str, str] = _NO_TOKENS, *, origin: str = "chat template"
    ) -> None:
        self.source = source
        self.special_tokens = dict(special_tokens)
        self.origin = origin
        self.own_texts = OwnTexts()
        if len(source) > LONGEST_SOURCE:
            raise LimitHit(
                f"{origin}: the source has {len(source):,} characters, over the limit of 1 MB; "
                "chat templates have some thousand: check that this file is one",
                "source size",
            )
        try:
            self._tree = environment().parse(source)
            cache_nodes(self._tree)
            if (size := tree_size(self._tree)) > LARGEST_TREE:
                raise TooMuch(f"a syntax tree of {size:,} nodes, over the limit of {LARGEST_TREE:,}", "syntax tree")
            provided = {*environment().globals, "strftime_now", "loop", "self"}
            self.variables: tuple[str, ...] = tuple(sorted(caller_names(self._tree) - provided))
            self.uses_clock = calls(self._tree, "strftime_now")
            self.variable_uses: tuple[VariableUse, ...] = variable_uses(self._tree, self.variables)
        except Exception as error:  # noqa: BLE001 - untrusted source, and jinja2 lets any type through
            self._fail("not-parsed", error)

    def render(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        tools: Sequence[Mapping[str, Any]] | None = None,
        add_generation_prompt: bool = False,
        now: datetime | None = None,
        **variables: Any,
    ) -> str:
        """Return the prompt, byte for byte what transformers' `render_jinja_template` returns for the same arguments.

        Messages and tools are passed unchanged (None values are not dropped, keys not reordered). `now` is the time
        that the template's clock shows (default: `FROZEN_NOW`). Other keywords are variables of the template and
        override special tokens of the same name. Raises `TemplateError` if the template raises or fails. Raises
        `LimitHit` if memory runs out or the prompt is too long. Raises `BadMessages` and `BadTools` if these are not
        lists of objects.
        """
        given = self._given(messages, tools, add_generation_prompt, now, variables)
        try:
            template = self._compiled
            # Not `template.render`: its rewritten traceback compiles once for every frame of a deep recursion.
            prompt = _bounded(template.root_render_func(template.new_context(given())))
        except Exception as error:  # noqa: BLE001 - a template can cause any type of error
            self._fail("not-rendered", error)
        self.own_texts.record(prompt, messages, tools, variables)
        return prompt

    def pieces(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        tools: Sequence[Mapping[str, Any]] | None = None,
        add_generation_prompt: bool = False,
        now: datetime | None = None,
        innermost: bool = False,
        **variables: Any,
    ) -> list[tuple[str, int]]:
        """Return the prompt of `render`, split into the texts that were written at once, each with its template line.

        This includes texts of macros and set blocks. Texts that the template processes (measures or slices) before
        printing count at the line that prints them. Arguments that a macro prints unchanged, and all texts of a macro
        that is called from several lines, count at the line of the call, unless `innermost` is set.

        Raises what `render` raises.
        """
        given = self._given(messages, tools, add_generation_prompt, now, variables)
        try:
            plain = _pieces(self._by_lines, given())
            if not self._holds_back:
                return plain
            try:
                marked = unmarked(_pieces(self._by_marked_lines, given()), innermost=innermost)
            except Exception:  # noqa: BLE001 - the template may process the marks
                return plain
            same = "".join(text for text, _ in marked) == "".join(text for text, _ in plain)
            return marked if same else plain
        except Exception as error:  # noqa: BLE001 - a template can cause any type of error
            self._fail("not-rendered", error)

    def clock_lines(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        tools: Sequence[Mapping[str, Any]] | None = None,
        add_generation_prompt: bool = False,
        now: datetime | None = None,
        **variables: Any,
    ) -> list[int]:
        """Return the lines that read the clock while `render` renders these arguments, in order. Raises what `render`
        raises.
        """
        lines: list[int] = []
        show = clock(now or FROZEN_NOW)

        def watched(format: str) -> str:
            line = _line_of_caller()
            lines.extend([] if line is None else [line])
            return show(format)

        given = self._given(messages, tools, add_generation_prompt, now, variables)
        try:
            template = self._compiled
            for _ in template.root_render_func(template.new_context({**given(), "strftime_now": watched})):
                pass
        except Exception as error:  # noqa: BLE001 - a template can cause any type of error
            self._fail("not-rendered", error)
        return lines

    def line_of(self, *patterns: str) -> int | None:
        """Return the first line (from 1) with the first pattern that matches outside comments, or None."""
        matches = (re.compile(pattern, re.MULTILINE).search(self.code) for pattern in patterns)
        found = next((match for match in matches if match is not None), None)
        return None if found is None else len(_NEWLINE.findall(self.code, 0, found.start())) + 1

    def in_one_expression(self, line: int, other: int) -> bool:
        """Return whether an expression covers both lines."""
        return any(one.first <= min(line, other) and max(line, other) <= one.last for one in self._spanning)

    def _given(
        self,
        messages: Sequence[Mapping[str, Any]],
        tools: Sequence[Mapping[str, Any]] | None,
        add_generation_prompt: bool,
        now: datetime | None,
        variables: Mapping[str, Any],
    ) -> Callable[[], dict[str, Any]]:
        """Return a function that creates the template's variables after messages and tools were checked."""
        _check_list(messages, "messages", BadMessages)
        if tools is not None:
            _check_list(tools, "tools", BadTools)
        return lambda: {
            "strftime_now": clock(now or FROZEN_NOW),
            "documents": None,
            **plain({**self.special_tokens, **variables}),
            "messages": [_with_reasoning_names(message) for message in plain(list(messages))],
            "tools": plain(None if tools is None else list(tools)),
            "add_generation_prompt": add_generation_prompt,
        }

    @cached_property
    def code(self) -> str:
        """The source with comments replaced by spaces."""
        return without_comments(self.source)

    @cached_property
    def internals(self) -> tuple[tuple[str, int], ...]:
        """What leads to Python's internals, with its first line."""
        return internals(self._tree)

    @cached_property
    def hidden_characters(self) -> tuple[HiddenText, ...]:
        """The characters of the source that editors do not show."""
        return hidden_characters(self.source, self._tree)

    def record_own_texts(self, pattern: re.Pattern[str]) -> None:
        """Start recording which prompts contain strings of the template that match the pattern."""
        self.own_texts = OwnTexts(written_texts(self._tree, pattern))

    @cached_property
    def tested_texts(self) -> tuple[TestedText, ...]:
        """The texts that the template searches for in others or splits at, in the order of its lines."""
        return tested_texts(self._tree)

    @cached_property
    def matched_texts(self) -> tuple[MatchedText, ...]:
        """The texts that the template compares others with outside its conditions, in the order of its lines."""
        return matched_texts(self._tree)

    @cached_property
    def compared_names(self) -> tuple[str, ...]:
        """The names that the template compares a name with, in its order."""
        return compared_names(self._tree)

    @cached_property
    def compared_words(self) -> tuple[str, ...]:
        """The words that the template compares with or lists, in its order."""
        return compared_words(self._tree)

    @cached_property
    def tested_roles(self) -> tuple[str, ...]:
        """The roles that the template compares messages' roles with."""
        return tested_roles(self._tree)

    @cached_property
    def _by_lines(self) -> jinja2.Template:
        """The template compiled so that every text it writes is from a single known line."""
        return _made(by_lines(copied(self._tree)))

    @cached_property
    def _by_marked_lines(self) -> jinja2.Template:
        """The same, with marks in the output of macros and set blocks."""
        return _made(by_lines(copied(self._tree), marked=True))

    @cached_property
    def _spanning(self) -> tuple[Spanning, ...]:
        return spanning(self._tree)

    @cached_property
    def _holds_back(self) -> bool:
        return holds_back(self._tree)

    @cached_property
    def nesting(self) -> int:
        """The nesting depth of the source."""
        return nesting(self._tree)

    @cached_property
    def filters(self) -> dict[str, int]:
        """The filters in the source, each with its first line."""
        return filters(self._tree)

    @cached_property
    def keys(self) -> dict[str, int]:
        """The keys that the source looks up in its caller's objects, each with its first line."""
        return keys(self._tree)

    @property
    def unknown_filters(self) -> dict[str, int]:
        """The filters that the environment does not have, each with its first line."""
        return {name: line for name, line in self.filters.items() if name not in environment().filters}

    @cached_property
    def cuts(self) -> dict[int, int]:
        """The numbers (2 or more) at which the template slices texts and lists, each with its first line."""
        return cuts(self._tree)

    @cached_property
    def draws_line(self) -> int | None:
        """The first line that uses random values (`random`, `lipsum`), or None."""
        return draws_line(self._tree)

    @cached_property
    def clock_formats(self) -> tuple[str, ...]:
        """The constant formats in which the template reads the clock."""
        return clock_formats(self._tree)

    @cached_property
    def watch(self) -> BranchCoverage:
        """The outcomes of the template's conditions since the first access.

        Access it before the first render, because the template is compiled differently then. Empty if it cannot be
        watched.
        """
        tree = copied(self._tree)
        try:
            watched = BranchCoverage(watch(tree))
            own = environment().overlay()
            own.filters = {**own.filters, FILTER: watched.filter, OPERAND: watched.operand_filter}
            self._compiled = jinja2.Template.from_code(own, own.compile(tree), own.make_globals(None))
        except Exception:  # noqa: BLE001 - a template that fails to compile fails at its first render
            return BranchCoverage()
        return watched

    @cached_property
    def _compiled(self) -> jinja2.Template:
        return _made(copied(self._tree))

    def _fail(self, kind: FailureKind, error: Exception) -> NoReturn:
        line = _line(error)
        if line is not None and isinstance(error, jinja2.UndefinedError) and (key := missing(str(error))):
            line = line_of_lookup(self._spanning, line, key)
        place = f"{self.origin}{'' if line is None else f', line {line}'}"
        if isinstance(error, (TooMuch, MemoryError)):
            limit, what = (error.limit, str(error)) if isinstance(error, TooMuch) else ("memory", "memory ran out")
            raise LimitHit(f"{place}: {what}", limit, line, engine_message=what) from None
        if isinstance(error, RaisedByTemplate):
            kind = "raised"
        happened, engine_message = HAPPENED[kind], " ".join(self._own_words(error).split())
        room = _LONGEST_MESSAGE - len(f"{happened}: ")
        if len(engine_message) > room:
            engine_message = engine_message[:room] + "…"
        raise TemplateError(
            f"{place}: {happened}: {engine_message}".removesuffix(": "), line, kind, engine_message
        ) from error

    def _own_words(self, error: Exception) -> str:
        """Return the original message: of the template if it raised, else of the engine, with the exception's name."""
        if isinstance(error, RaisedByTemplate):
            return str(error)
        if isinstance(error, jinja2.TemplateSyntaxError):
            more = hint(environment(), self.source, error.message or "")
            return f"{f'{error.message}'.rstrip('.')}; {more}" if more else f"{error.message}"
        # A SyntaxError's own text includes a line of Python that jinja2 generated, which users cannot look up.
        text = error.msg if isinstance(error, SyntaxError) else error
        return f"{type(error).__name__}: {text}".removesuffix(": ")


def _made(tree: jinja2.nodes.Template) -> jinja2.Template:
    code = environment().compile(tree)
    return jinja2.Template.from_code(environment(), code, environment().make_globals(None))


def _pieces(template: jinja2.Template, given: dict[str, Any]) -> list[tuple[str, int]]:
    """Return what the template writes, each text with its line."""
    lines = [(code, line) for line, code in template.debug_info]
    written: Any = template.root_render_func(template.new_context(given))
    # A suspended generator is at the line of its code that yielded.
    return [(text, _template_line(lines, written.gi_frame.f_lineno)) for text in written if text]


def _bounded(pieces: Iterable[str]) -> str:
    """Return the joined pieces. Raise if they are longer than the limit for a prompt."""
    length, kept = 0, []
    for piece in pieces:
        length += len(piece)
        if length > LONGEST_OUTPUT:
            raise TooMuch(f"the prompt is longer than {LONGEST_OUTPUT:,} characters", "output")
        kept.append(piece)
    return "".join(kept)


def _with_reasoning_names(message: dict[str, Any]) -> dict[str, Any]:
    """Return the message with its reasoning under the keys that templates read, in the key order of transformers."""
    reasoning = next((message[name] for name in _REASONING if message.get(name) is not None), None)
    return message if reasoning is None else {"thinking": reasoning, **message, "reasoning_content": reasoning}


def _check_list(value: object, name: str, error: type[BadMessages | BadTools]) -> None:
    if not isinstance(value, (list, tuple)):
        raise error(f"{name} must be a list of objects, not {kind_of(value)}")
    for position, item in enumerate(value):
        if not isinstance(item, Mapping):
            raise error(f"{name}[{position}] must be an object, not {kind_of(item)}")


def _line(error: BaseException) -> int | None:
    """Return the line of the template that raised: the innermost frame of the traceback that runs a template's code."""
    if isinstance(error, jinja2.TemplateSyntaxError):
        return error.lineno
    line = None
    step = error.__traceback__
    while step is not None:
        template = step.tb_frame.f_globals.get("__jinja_template__")
        # The placeholder for a missing filter is jinja2's own code, before the first line.
        if template is not None and step.tb_frame.f_code not in internal_code:
            line = template.get_corresponding_lineno(step.tb_lineno)
        step = step.tb_next
    return line


def _template_line(lines: Sequence[tuple[int, int]], code_line: int) -> int:
    """Return the template line of a line of its code. `lines` pairs code lines with template lines, in order."""
    place = bisect_right(lines, code_line, key=lambda pair: pair[0])
    return lines[place - 1][1] if place else 1


def _line_of_caller() -> int | None:
    """Return the line of the running template: the innermost frame that runs a template's code."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        template = frame.f_globals.get("__jinja_template__")
        if template is not None:
            line: int = template.get_corresponding_lineno(frame.f_lineno)
            return line
        frame = frame.f_back
    return None
