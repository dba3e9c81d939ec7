"""The directory holds several chat templates that differ, and runtimes pick different ones.

transformers takes `chat_template.jinja`, llama.cpp's converter takes the entry in `tokenizer_config.json`,
mlx-swift-lm takes `chat_template.json` before that entry, and a runtime that does not know named templates takes
none or the first. The same model then behaves differently from one to the next, and a fix in one place does not
reach the other. Where all runtimes of today take the same one, the other is only in the way: older versions may
still take it.

What to do: keep one text, in every place where it stands: the newer one, which mostly is the one that shows tools.

Example: a `chat_template.jinja` with tool support beside a `tokenizer_config.json` with the older template.
"""

from __future__ import annotations

from collections.abc import Iterator

from toolfmt._util.text_lists import listed
from toolfmt.errors import LimitHit, TemplateError
from toolfmt.inspect.checks.diagnostic import Diagnostic, Setting
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.probe.conversations import STAND_INS, TOOL, TOOLS, user
from toolfmt.inspect.probe.renders import Renders
from toolfmt.inspect.report.report import FixedBy, Severity
from toolfmt.inspect.runtimes.runtime_support import choices_of
from toolfmt.inspect.runtimes.template_choice import LLAMA_CPP, same_text
from toolfmt.templates import ChatTemplate, TemplateSource

SEVERITY: Severity = "warning"
SETTING: Setting = "same-template"
ABOUT_FILES = True
FIXED_BY: FixedBy = "setting"


def check(facts: Facts) -> Iterator[Diagnostic]:
    with_tools, without = facts.template, facts.files.template(False)
    choices = _choices(facts)
    if len(choices) > 1:
        who = [f"{_label(source)} is used by {listed(runtimes)}" for source, runtimes in choices]
        yield Diagnostic(f"Runtimes use different templates if tools are sent: {'; '.join(who)}.", _fix(facts, choices))
    else:
        # A file may hold a hundred templates of one name.
        for name, origin, first in dict.fromkeys(
            (other.name, other.origin, one.origin) for one, other in facts.files.conflicts
        ):
            yield Diagnostic(
                f"{origin} holds another template {name} than {first}; today's runtimes take the latter, older ones "
                "may not.",
                f"Make {origin} hold the same template as {first}, or none.",
                severity="note",
            )
    if len(choices) < 2 and with_tools is not None and without is not None and not same_text(with_tools, without):
        yield Diagnostic(
            f"With tools the template {with_tools.name} of {with_tools.origin} is in force, without them "
            f"{without.name}, and a runtime may know one of them only.",
            f"Where the runtime knows one template only, give it {with_tools.name}.",
        )
    if with_tools is not None and without is None:
        yield Diagnostic(
            f"Only the template {with_tools.name} is there, and it is in force only when tools are given.",
            "Add a template called default.",
        )


def _choices(facts: Facts) -> list[tuple[TemplateSource, list[str]]]:
    """The different templates that runtimes render with when tools are given, and who takes which."""
    choices: list[tuple[TemplateSource, list[str]]] = []
    for choice in choices_of(facts):
        source = choice.with_tools
        if source is None or choice.own:
            continue
        runtime = f"{LLAMA_CPP}'s converter" if choice.runtime == LLAMA_CPP else choice.runtime
        runtimes = next((runtimes for other, runtimes in choices if same_text(source, other)), None)
        if runtimes is None:
            choices.append((source, [runtime]))
        else:
            runtimes.append(runtime)
    return choices


def _fix(facts: Facts, choices: list[tuple[TemplateSource, list[str]]]) -> str:
    """Which template to keep: the one in force, unless only another one shows tools."""
    first = choices[0][0]
    better = None if facts.shows_tools else next((one for one, _ in choices[1:] if _shows_tools(facts, one)), None)
    if better is None:
        return f"Use the same template everywhere: {_label(first)}, or none."
    return (
        f"Put the template of {_label(better)} into every place: it shows the model its tools, that of {_label(first)} "
        "does not."
    )


def _shows_tools(facts: Facts, source: TemplateSource) -> bool:
    try:
        template = ChatTemplate(source.text, facts.renders.template.special_tokens if facts.renders else {})
    except LimitHit:
        raise
    except TemplateError:
        return False
    return TOOL in Renders(template, STAND_INS).text(user(), TOOLS)


def _label(source: TemplateSource) -> str:
    named = source.name != "default" and not source.origin.endswith(".jinja")
    return f"{source.name} of {source.origin}" if named else source.origin
