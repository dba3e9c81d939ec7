"""Check that a changed template does what it should and nothing else, by rendering both and comparing prompts.

`judged` runs where untrusted templates may run; `toolfmt.model.jobs` runs it in a process with limits. The invariant:

- What the template accepted before renders to the same bytes.
- The variant that the finding is about renders to the prompt of the accepted variant. Content parts that were rendered
  before stay unchanged.
- Any other variant renders as before, or correctly as well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from toolfmt.errors import LimitHit, TemplateError
from toolfmt.inspect.checks.editing.template_fix import Variant
from toolfmt.inspect.fix.conversations import (
    IN_WORDS,
    VARIANTS,
    PromptRequest,
    conversations,
    in_parts,
    written_as,
)
from toolfmt.inspect.probe.conversations import PLACEHOLDERS
from toolfmt.inspect.report.turn_shape import TurnShape
from toolfmt.templates import ChatTemplate

_EXTRA_VARIANTS: tuple[Variant, ...] = ("content-null", "content-absent")
"""Common variants of a call, which templates render differently."""
_LINES = "Qk4first\nQk4second"
NOT_SHOWN = "none of the conversations that verify a change shows it, so no change can be verified"


@dataclass(frozen=True)
class FixCheck:
    """Whether the invariant holds, and if not, `why`. `fixed` is the number of prompts that became correct."""

    holds: bool
    why: str = ""
    fixed: int = 0


def judged(
    before: str,
    after: str,
    tokens: Mapping[str, str],
    shape: TurnShape,
    variants: Sequence[Variant],
    typed: bool = False,
) -> FixCheck:
    """Check the invariant for a template's text `before` and `after` a fix of these variants.

    `tokens` are the model's special tokens. If `typed`, prompts of calls with values that are not strings may change
    to anything: the inspection has to decide whether they are correct.
    """
    fixed = 0
    requests = list(conversations(shape))
    try:
        was, is_now = (_renderer(text, tuple(tokens.items())) for text in (before, after))
        # Check the variants to fix first: most attempts fail there.
        for one in requests:
            for variant in variants:
                other = written_as(one, variant)
                right = _right(one, variant, was)
                if other is None or isinstance(right, TemplateError):
                    continue
                if is_now(other) != right:
                    return FixCheck(False, _not_right(one, variant))
                fixed += was(other) != right
                if (problem := _wrong_with_extra(one, variant, was, is_now)) is not None:
                    return FixCheck(False, problem)
        for one in requests:
            if typed and one.typed:
                if isinstance(is_now(one), TemplateError):
                    return FixCheck(False, f"with what was tried the template fails on {one.name}")
                fixed += is_now(one) != was(one)
            elif (why := _changed(one, was, is_now, variants)) is not None:
                return FixCheck(False, why)
    except TemplateError as error:  # the changed template does not compile
        return FixCheck(False, str(error))
    return FixCheck(fixed > 0, "" if fixed else NOT_SHOWN, fixed)


def _wrong_with_extra(one: PromptRequest, variant: Variant, was: _Renders, is_now: _Renders) -> str | None:
    """Return the additional variant in which the fix does not work, or None."""
    for extra in _EXTRA_VARIANTS:
        plain = None if extra == variant else written_as(one, extra)
        other = None if plain is None else written_as(plain, variant)
        if plain is None or other is None or isinstance(right := _right(plain, variant, was), TemplateError):
            continue
        if is_now(other) != right:
            return _not_right(one, variant, extra)
    return None


def _right(one: PromptRequest, written: Variant, was: _Renders) -> str | TemplateError:
    """Return the correct prompt of a conversation in this variant: that of the original conversation.

    Parts that were rendered before stay unchanged, in whatever way the template joins them.
    """
    taken = [at for at in range(len(one.messages)) if written == "parts" and _takes_parts(one, at, was)]
    return was(in_parts(one, taken))


def _takes_parts(one: PromptRequest, at: int, was: _Renders) -> bool:
    """Return whether the content of this message is rendered as a list of parts: one part, and two for two lines."""
    if was(in_parts(one, [at], several=False)) != was(one):
        return False
    lines = replace(one, messages=(*one.messages[:at], one.messages[at] | {"content": _LINES}, *one.messages[at + 1 :]))
    prompt = was(in_parts(lines, [at]))
    return isinstance(prompt, str) and all(line in prompt for line in _LINES.split("\n"))


def _not_right(one: PromptRequest, *written: Variant) -> str:
    how = " and ".join(IN_WORDS[variant] for variant in written)
    return f"with what was tried {one.name} with {how} does not come out as it should"


def _changed(one: PromptRequest, was: _Renders, is_now: _Renders, variants: Sequence[Variant]) -> str | None:
    """Return what changed in a conversation that should not change, or None."""
    right = was(one)
    if not isinstance(right, TemplateError) and is_now(one) != right:
        return f"with what was tried the prompt of {one.name} changes"
    for variant in VARIANTS:
        other = written_as(one, variant)
        if other is None or variant in variants or isinstance(before := was(other), TemplateError):
            continue
        if is_now(other) not in (before, _right(one, variant, was)):
            return f"with what was tried the prompt of {one.name} with {IN_WORDS[variant]} changes"
    return None


class _Renders:
    """The prompts of one template, cached; an error instead of a prompt that cannot be rendered."""

    def __init__(self, template: ChatTemplate) -> None:
        self._template = template
        self._made: dict[str, str | TemplateError] = {}

    def __call__(self, request: PromptRequest) -> str | TemplateError:
        key = repr(request)
        if key not in self._made:
            self._made[key] = self._render(request)
        return self._made[key]

    def _render(self, request: PromptRequest) -> str | TemplateError:
        given: dict[str, Any] = {**PLACEHOLDERS, **self._template.special_tokens, **request.variables}
        try:
            return self._template.render(
                request.messages, tools=request.tools, add_generation_prompt=request.generation, **given
            )
        except LimitHit:
            raise
        except TemplateError as error:
            return error


@lru_cache(maxsize=4)
def _renderer(source: str, tokens: tuple[tuple[str, str], ...]) -> _Renders:
    return _Renders(ChatTemplate(source, dict(tokens)))
