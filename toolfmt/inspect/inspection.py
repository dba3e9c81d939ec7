"""Judging a model: the template in force is probed, its format decided, and what will go wrong is told.

`inspect_files` takes what `toolfmt.templates.load_files` read, `inspect_template` a template's text alone; both return
a `Report` and never raise on what a template is or does. The template's code runs in this process:
`toolfmt.sandbox.pool` has them run in one with limits, and asks `inspect_stopped` for the report where one was hit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from toolfmt.errors import LimitHit, TemplateError
from toolfmt.formats import FORMATS, ToolCallFormat
from toolfmt.inspect import checks
from toolfmt.inspect.chapters.definitions import definitions
from toolfmt.inspect.chapters.portability import portability
from toolfmt.inspect.chapters.safety import safety
from toolfmt.inspect.chapters.sample import sample
from toolfmt.inspect.chapters.sample_prompts import prompts
from toolfmt.inspect.chapters.stability import stability
from toolfmt.inspect.chapters.tokens import tokens
from toolfmt.inspect.chapters.turns import details, fitted
from toolfmt.inspect.chapters.variables import variables
from toolfmt.inspect.facts import NO_OPTIONS, Facts, Options
from toolfmt.inspect.inference.decision import Decided, ReadBack, decide, declarations
from toolfmt.inspect.inference.read_back import call_sets, read, render_calls, try_calls
from toolfmt.inspect.probe.capabilities import Probed, probe
from toolfmt.inspect.probe.conversations import SINGLE, STAND_INS, TOOLS, Shape, conversation, reply, user
from toolfmt.inspect.probe.renders import Renders
from toolfmt.inspect.probe.stop_tokens import eos_tokens
from toolfmt.inspect.probe.tokenizer_file import TokenizerFile, find_tokenizer
from toolfmt.inspect.probe.turn_markers import prefill, reasoning_markers, stop_strings
from toolfmt.inspect.report import CAPABILITIES, Answer, Rendering, Report, Sections, TemplateInfo
from toolfmt.inspect.support.advice import advice
from toolfmt.inspect.support.support import readers
from toolfmt.inspect.wording import quote
from toolfmt.templates import ChatTemplate, ModelFiles, TemplateSource, template_alone

NO_PARSER = "no parser: import toolfmt's"
TEMPLATE_BROKEN, LIMIT_HIT = "TF002", "TF007"
"""The codes of the findings that a template does not compile, and that it took more than it is given."""


def inspect_files(files: ModelFiles, options: Options = NO_OPTIONS) -> Report:
    """The report on a model directory."""
    return _inspect(files, options, find_tokenizer(files.home))


def inspect_stopped(files: ModelFiles, options: Options, hit: LimitHit) -> Report:
    """The report on a model directory whose inspection hit this limit: what can be told without its template's code and
    without its tokenizer, which may be what took too much.
    """
    return _judged(files, options, None, hit)


def inspect_template(
    source: str, *, model_type: str | None = None, name: str = "template", options: Options = NO_OPTIONS
) -> Report:
    """The report on the text of one template; `name` is what messages call it."""
    return _inspect(replace(template_alone(source, Path(name)), model_type=model_type), options, None)


def _inspect(files: ModelFiles, options: Options, tokenizer: TokenizerFile | None) -> Report:
    try:
        return _judged(files, options, tokenizer, None)
    except LimitHit as hit:
        return _judged(files, options, tokenizer, hit)


def _judged(files: ModelFiles, options: Options, tokenizer: TokenizerFile | None, hit: LimitHit | None) -> Report:
    """The report; after a limit was hit the template is not run again."""
    template = files.template(True) or files.template(False)
    renders, broken, missing = (None, hit, ()) if hit else _renders(template, files.special_tokens)
    probed = None if renders is None else probe(renders)
    decided = decide(
        None if template is None else template.text,
        renders,
        probed,
        files.model_types,
        declarations(files.tokenizer_config, files.config),
    )
    capabilities = _capabilities(template, broken, renders, probed, decided)
    facts = Facts(
        files=files,
        template=template,
        broken=broken,
        renders=renders,
        probed=probed,
        capabilities=capabilities,
        decided=decided,
        missing_tokens=missing if files.special_tokens_known else (),
        tokenizer=tokenizer,
        options=options,
    )
    facts = replace(facts, rendering=_rendering(facts))
    facts = replace(facts, sections=_sections(facts))
    found = checks.findings(facts)
    return Report(
        path=str(files.directory),
        model_type=files.model_type,
        template=None if template is None else _template_info(template, files.reason(True), renders),
        capabilities=capabilities,
        format=decided.decision,
        strategy="template" if facts.shows_tools else "prose",
        runtimes=runtimes(decided.format, by_template=facts.shows_tools),
        findings=tuple(finding for finding in found if finding.severity != "note"),
        notes=tuple(finding for finding in found if finding.severity == "note"),
        sections=facts.sections,
        broken="" if broken is None or isinstance(broken, LimitHit) else str(broken),
        rendering=fitted(facts.rendering, capabilities, facts.sections.details),
        prompts=prompts(facts),
    )


def _sections(facts: Facts) -> Sections:
    """The chapters of the report, one module each."""
    return Sections(
        details=details(facts),
        definitions=definitions(facts),
        variables=variables(facts),
        stability=stability(facts),
        safety=safety(facts),
        tokens=tokens(facts),
        portability=portability(facts),
        sample=sample(facts),
        readers=readers(facts),
        advice=advice(facts),
    )


def runtimes(format: ToolCallFormat | None, *, by_template: bool = True) -> dict[str, str]:
    """What each runtime calls the parser of a format, for every runtime that any format is known to.

    A runtime that finds the parser itself does so by what the template shows, so not where that shows no tools.
    """
    if format is None:
        return {}
    known = sorted({runtime for other in FORMATS for runtime in other.elsewhere}, key=str.lower)
    named = {runtime: format.elsewhere.get(runtime, NO_PARSER) for runtime in known}
    return {runtime: name for runtime, name in named.items() if by_template or name != "auto"}


def _renders(
    template: TemplateSource | None, special_tokens: Mapping[str, str]
) -> tuple[Renders | None, TemplateError | None, tuple[str, ...]]:
    """The template made ready, or why it cannot be; and the special tokens it needs that are not there."""
    if template is None:
        return None, None, ()
    try:
        chat_template = ChatTemplate(template.text, special_tokens, origin=template.origin)
        renders = Renders(chat_template)
        renders.render(user())  # compiles, which parsing alone does not
    except LimitHit:
        raise
    except TemplateError as error:
        return None, error, ()
    read = [name for name in STAND_INS if name in chat_template.variables and name not in special_tokens]
    helped = Renders(chat_template, {name: STAND_INS[name] for name in read})
    return (helped, None, tuple(name for name in read if _fails_without(name, helped, chat_template)))


def _fails_without(token: str, helped: Renders, template: ChatTemplate) -> bool:
    """Whether the template throws for want of this special token."""
    others = {name: text for name, text in STAND_INS.items() if name != token and name not in template.special_tokens}
    without = Renders(template, others)
    talks = [(user(), None), (user(system=True), TOOLS), (reply(), None), (conversation(Shape(), SINGLE), TOOLS)]
    return any(
        isinstance(helped.render(messages, tools), str) and isinstance(without.render(messages, tools), TemplateError)
        for messages, tools in talks
    )


def _capabilities(
    template: TemplateSource | None,
    broken: TemplateError | None,
    renders: Renders | None,
    probed: Probed | None,
    decided: Decided,
) -> dict[str, Answer]:
    if probed is None or renders is None:
        none = Answer("no", "there is no template") if broken is None else Answer("error", str(broken), broken.line)
        return dict.fromkeys(CAPABILITIES, none)
    return probed.capabilities | _confirmed(renders, probed, decided)


def _confirmed(renders: Renders, probed: Probed, decided: Decided) -> dict[str, Answer]:
    """The forms of arguments whose value appears, but in calls that do not read back as those given."""
    best = decided.read_back
    if best is None:
        return _compared(renders, probed)
    corrected = {}
    for name, shape in (
        ("arguments_object", replace(best.shape, arguments="object")),
        ("arguments_string", replace(best.shape, arguments="string")),
    ):
        answer = probed.capabilities[name]
        wrong = None if answer.answer != "yes" or shape == best.shape else _first_wrong(renders, best, shape)
        if wrong is not None:
            corrected[name] = Answer("no", wrong, answer.line, "not-read-back")
    return corrected


def _compared(renders: Renders, probed: Probed) -> dict[str, Answer]:
    """Where no format reads the calls: whether arguments given as a string come out as they do given as an object."""
    answer, shape = probed.capabilities["arguments_string"], probed.shape
    if answer.answer != "yes" or shape is None or shape.arguments != "object":
        return {}
    regions = [renders.calls(replace(shape, arguments=form), SINGLE, TOOLS) for form in ("object", "string")]
    texts = [region.text for region in regions if not isinstance(region, TemplateError)]
    if len(texts) < 2 or "".join(texts[0].split()) == "".join(texts[1].split()):
        return {}
    wrong = f"a string comes out otherwise than the same arguments as an object: {quote(texts[1])}"
    return {"arguments_string": Answer("no", wrong, answer.line, "not-read-back")}


def _first_wrong(renders: Renders, best: ReadBack, shape: Shape) -> str | None:
    """What is wrong with the first call that reads back in the best shape and not in this one; None if none is."""
    exact = {trial.kind: set(trial.tolerated) for trial in best.trials if trial.exact}
    for kind, calls in call_sets(parallel=False):
        trial = try_calls(renders, best.format, shape, kind, calls, signed=True)
        if kind in exact and not (trial.exact and set(trial.tolerated) <= exact[kind]):
            region, _ = render_calls(renders, shape, calls)
            text = str(region) if isinstance(region, TemplateError) else quote(region.text)
            # What is only read generously is not what the model was trained to write.
            how = "is not written as the format has it" if trial.exact else "does not read back as the one given"
            return f"a call with {kind} {how}: {text}"
    return None


def _template_info(template: TemplateSource, reason: str, renders: Renders | None) -> TemplateInfo:
    variables = () if renders is None else renders.template.variables
    return TemplateInfo(template.origin, template.name, template.sha256, variables, reason)


def _rendering(facts: Facts) -> Rendering:
    special_tokens, ends = facts.files.special_tokens, eos_tokens(facts.files, facts.tokenizer)
    if facts.renders is None or facts.probed is None:
        return Rendering(stop=tuple(filter(None, dict.fromkeys([special_tokens.get("eos_token", ""), *ends]))))
    shape = facts.shape
    return Rendering(
        arguments_form=shape.arguments if shape else "object",
        shape=shape,
        parallel=facts.probed.parallel,
        reasoning=reasoning_markers(facts.probed.reasoning_turn),
        stop=tuple(
            dict.fromkeys(
                (
                    *stop_strings(facts.renders, shape, _after_calls(facts, shape), special_tokens),
                    *_ending_calls(facts, shape),
                    *ends,
                )
            )
        ),
        prefill=prefill(facts.renders, tools=facts.shows_tools, headers=_headers(facts)),
    )


def _headers(facts: Facts) -> tuple[str, ...]:
    return facts.decided.format.headers if facts.decided.format is not None else ()


def _ending_calls(facts: Facts, shape: Shape | None) -> tuple[str, ...]:
    """The control token at the end of a rendered call that the format reads over: models stop there."""
    best = facts.decided.read_back
    if best is None or shape is None or facts.renders is None:
        return ()
    region = facts.renders.calls(shape, SINGLE, TOOLS)
    text = "" if isinstance(region, TemplateError) else region.text.rstrip()
    return tuple(mark for mark in best.format.silent if mark.strip() and text.endswith(mark))


def _after_calls(facts: Facts, shape: Shape | None) -> str:
    """What the template writes behind the calls of a turn."""
    best = facts.decided.read_back
    if best is None or shape is None or facts.renders is None:
        return ""
    region = facts.renders.calls(shape, SINGLE, TOOLS)
    return "" if isinstance(region, TemplateError) else read(best.format, region, TOOLS).trailing + region.after
