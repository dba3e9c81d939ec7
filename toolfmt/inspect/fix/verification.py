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
    written_otherwise,
)
from toolfmt.inspect.probe.conversations import STAND_INS
from toolfmt.inspect.report.turn_shape import TurnShape
from toolfmt.templates import ChatTemplate

_BESIDE: tuple[Variant, ...] = ("content-null", "content-absent")
"""Common variants of a call, which templates render differently."""
_LINES = "Qk4first\nQk4second"
NOT_SHOWN = "none of the conversations that verify a change shows it, so no change can be verified"


@dataclass(frozen=True)
class FixCheck:
    """Whether the invariant holds, and if not, `why`. `healed` is the number of prompts that became correct."""

    holds: bool
    why: str = ""
    healed: int = 0


def judged(
    before: str, after: str, tokens: Mapping[str, str], shape: TurnShape, wanted: Sequence[Variant], typed: bool = False
) -> FixCheck:
    """Check the invariant for a template's text `before` and `after` a fix of these variants.

    `tokens` are the model's special tokens. If `typed`, prompts of calls with values that are not strings may change
    to anything: the inspection has to decide whether they are correct.
    """
    healed = 0
    asked = list(conversations(shape))
    try:
        was, is_now = (_renderer(text, tuple(tokens.items())) for text in (before, after))
        # Check the variants to fix first: most attempts fail there.
        for one in asked:
            for variant in wanted:
                other = written_otherwise(one, variant)
                right = _right(one, variant, was)
                if other is None or isinstance(right, TemplateError):
                    continue
                if is_now(other) != right:
                    return FixCheck(False, _not_right(one, variant))
                healed += was(other) != right
                if (beside := _wrong_beside(one, variant, was, is_now)) is not None:
                    return FixCheck(False, beside)
        for one in asked:
            if typed and one.typed:
                if isinstance(is_now(one), TemplateError):
                    return FixCheck(False, f"with what was tried the template fails on {one.name}")
                healed += is_now(one) != was(one)
            elif (why := _changed(one, was, is_now, wanted)) is not None:
                return FixCheck(False, why)
    except TemplateError as error:  # the changed template does not compile
        return FixCheck(False, str(error))
    return FixCheck(healed > 0, "" if healed else NOT_SHOWN, healed)


def _wrong_beside(one: PromptRequest, wanted: Variant, was: _Renders, is_now: _Renders) -> str | None:
    """Return the additional variant in which the fix does not work, or None."""
    for beside in _BESIDE:
        plain = None if beside == wanted else written_otherwise(one, beside)
        other = None if plain is None else written_otherwise(plain, wanted)
        if plain is None or other is None or isinstance(right := _right(plain, wanted, was), TemplateError):
            continue
        if is_now(other) != right:
            return _not_right(one, wanted, beside)
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


def _changed(one: PromptRequest, was: _Renders, is_now: _Renders, wanted: Sequence[Variant]) -> str | None:
    """Return what changed in a conversation that should not change, or None."""
    right = was(one)
    if not isinstance(right, TemplateError) and is_now(one) != right:
        return f"with what was tried the prompt of {one.name} changes"
    for variant in VARIANTS:
        other = written_otherwise(one, variant)
        if other is None or variant in wanted or isinstance(before := was(other), TemplateError):
            continue
        if is_now(other) not in (before, _right(one, variant, was)):
            return f"with what was tried the prompt of {one.name} with {IN_WORDS[variant]} changes"
    return None


class _Renders:
    """The prompts of one template, cached; an error instead of a prompt that cannot be rendered."""

    def __init__(self, template: ChatTemplate) -> None:
        self._template = template
        self._made: dict[str, str | TemplateError] = {}

    def __call__(self, asked: PromptRequest) -> str | TemplateError:
        key = repr(asked)
        if key not in self._made:
            self._made[key] = self._render(asked)
        return self._made[key]

    def _render(self, asked: PromptRequest) -> str | TemplateError:
        given: dict[str, Any] = {**STAND_INS, **self._template.special_tokens, **asked.variables}
        try:
            return self._template.render(
                asked.messages, tools=asked.tools, add_generation_prompt=asked.generation, **given
            )
        except LimitHit:
            raise
        except TemplateError as error:
            return error


@lru_cache(maxsize=4)
def _renderer(source: str, tokens: tuple[tuple[str, str], ...]) -> _Renders:
    return _Renders(ChatTemplate(source, dict(tokens)))
