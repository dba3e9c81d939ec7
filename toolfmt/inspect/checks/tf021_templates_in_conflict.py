"""The directory contains several chat templates that differ, and runtimes use different ones.

What it checks: the templates that each runtime uses if tools are sent, and the templates with and without tools. It is
a note if all current runtimes use the same template, because older versions may use the other.

Why it matters: the same model behaves differently in each runtime, and a fix in one file does not reach the other.

Affected runtimes: transformers uses `chat_template.jinja`, and llama.cpp's converter uses the entry in
`tokenizer_config.json`. mlx-swift-lm prefers `chat_template.json` to that entry. A runtime that does not support named
templates uses none of them, or the first.

Example:

    model/
        chat_template.jinja      (renders tools)
        tokenizer_config.json    ("chat_template": the older template, without tools)

Fix: keep one template and write it into every file that has one. Keep the newer template, which is usually the one that
renders tools.

    model/
        chat_template.jinja      (renders tools)
        tokenizer_config.json    (the same template, or none)
"""

from __future__ import annotations

from collections.abc import Iterator

from toolfmt._util.text_lists import listed
from toolfmt.errors import LimitHit, TemplateError
from toolfmt.inspect.checks.diagnostic import Diagnostic, Setting
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.probe.conversations import PLACEHOLDERS, TOOL, TOOLS, user
from toolfmt.inspect.probe.renders import Renders
from toolfmt.inspect.report.report import FixedBy, Severity
from toolfmt.inspect.runtimes.runtime_support import choices_of
from toolfmt.inspect.runtimes.template_choice import LLAMA_CPP, same_text
from toolfmt.templates import ChatTemplate, TemplateSource

SEVERITY: Severity = "warning"
PROTECTED = True
SETTING: Setting = "same-template"
SOLVED_BY_SETTINGS = True
ABOUT_FILES = True
FIXED_BY: FixedBy = "setting"


def check(facts: Facts) -> Iterator[Diagnostic]:
    with_tools, without = facts.template, facts.files.template(False)
    choices = _choices(facts)
    if len(choices) > 1:
        who = [f"{_label(source)} is used by {listed(runtimes)}" for source, runtimes in choices]
        others = [one.runtime for one in choices_of(facts) if not same_text(one.with_tools, with_tools)]
        yield Diagnostic(
            f"Runtimes use different templates if tools are sent: {'; '.join(who)}.",
            _fix(facts, choices),
            runtimes=tuple(others),
        )
    else:
        # A file may contain a hundred templates of the same name.
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
            f"{with_tools.origin} has a template '{with_tools.name}' for requests with tools and '{without.name}' for "
            "others. Some runtimes read only one of them.",
            f"If the runtime can use only one template, give it {with_tools.name}.",
        )
    if with_tools is not None and without is None:
        yield Diagnostic(
            f"Only the template {with_tools.name} exists, and it is used only if tools are given.",
            "Add a template called default.",
        )


def _choices(facts: Facts) -> list[tuple[TemplateSource, list[str]]]:
    """Return the different templates that are used if tools are sent, each with its runtimes."""
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
    """Return which template to keep: the template in use, unless only another one shows tools."""
    first = choices[0][0]
    better = None if facts.shows_tools else next((one for one, _ in choices[1:] if _shows_tools(facts, one)), None)
    if better is None:
        return f"Use the template of {_label(first)} everywhere: copy it to the other files, or remove the others."
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
    return TOOL in Renders(template, PLACEHOLDERS).text(user(), TOOLS)


def _label(source: TemplateSource) -> str:
    named = source.name != "default" and not source.origin.endswith(".jinja")
    return f"{source.name} of {source.origin}" if named else source.origin
