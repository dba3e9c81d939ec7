"""Probe a model's template: the facts for a report, and the profile that rendering needs.

`facts_of` collects everything that decides how the template is rendered. An inspection creates its sections and
findings from these facts; `profile_files` returns only the profile. Nothing here raises because of the template,
except `LimitHit` in `facts_of`. The template's code runs in this process.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from toolfmt.errors import LimitHit, TemplateError
from toolfmt.inspect.facts import NO_OPTIONS, Facts, InspectionOptions
from toolfmt.inspect.format.best_reading import ReadBack
from toolfmt.inspect.format.decision import FormatResolution, decide, declarations
from toolfmt.inspect.format.read_back import SINGLE_CALL, call_sets, render_calls, try_calls
from toolfmt.inspect.probe.capabilities import Probed, probe, threw
from toolfmt.inspect.probe.conversations import PLACEHOLDERS, SINGLE, TOOLS, conversation, reply, user
from toolfmt.inspect.probe.generation_effects import generation_effects
from toolfmt.inspect.probe.markers import needed_tools, turn_marks
from toolfmt.inspect.probe.renders import Renders, needs_parts
from toolfmt.inspect.probe.tokenizer_file import TokenizerFile, find_tokenizer
from toolfmt.inspect.probe.turn_markers import SENTENCE, prefill, reasoning_markers
from toolfmt.inspect.probe.turns import content, ids, results
from toolfmt.inspect.probe.turns.turn_probe import TurnProbe
from toolfmt.inspect.probe.words import Words
from toolfmt.inspect.report.error_messages import thrown
from toolfmt.inspect.report.report import CAPABILITIES, Answer, FormatDecision
from toolfmt.inspect.report.template_profile import Failure, TemplateProfile
from toolfmt.inspect.report.turn_shape import TurnShape
from toolfmt.inspect.report.wording import quote
from toolfmt.inspect.stops import stops
from toolfmt.templates import ChatTemplate, ModelFiles, TemplateSource

# Decides how conversations are written for the template; a report has more.
_QUESTIONS: tuple[Callable[[TurnProbe], Answer], ...] = (
    results.results_reordered,
    results.results_unnamed,
    results.results_as_parts,
    results.results_as_documents,
    ids.ids_ordinary,
    ids.ids_nine,
    ids.ids_function,
    content.text_with_call,
    content.calls_empty,
    content.content_parts,
)

_OWN_TEXT = re.compile(
    rf"{SENTENCE.pattern}|<script\b.{{0,80}}|https?://[^\s\"'<>]{{4,200}}|[A-Za-z0-9+/]{{60,400}}={{0,2}}"
)
"""Parts of the template's strings to search for in prompts: sentences, scripts, addresses, and possible base64."""


def profile_files(files: ModelFiles) -> TemplateProfile:
    """Return the profile of the template that is used with tools."""
    return profile_read(files, find_tokenizer(files.home))


def profile_read(files: ModelFiles, tokenizer: TokenizerFile | None = None) -> TemplateProfile:
    """Return the same with this tokenizer; opens no file if that was loaded before."""
    try:
        return facts_of(files, tokenizer).profile
    except LimitHit as hit:
        return facts_of(files, tokenizer, hit).profile


def profile_stopped(files: ModelFiles, hit: LimitHit) -> TemplateProfile:
    """Return the profile of a model whose template hit this limit during probing."""
    return facts_of(files, None, hit).profile


def whole_profile(files: ModelFiles, profile_of: Callable[[ModelFiles], TemplateProfile]) -> TemplateProfile:
    """Return the profile that `profile_of` creates from the files.

    If another template is used without tools, add the profile of the files with only that template.
    """
    profile, source = profile_of(files), files.template(False)
    if source is None or source == files.template(True):
        return profile
    return replace(profile, without_tools=profile_of(replace(files, templates=(replace(source, name="default"),))))


def facts_of(
    files: ModelFiles,
    tokenizer: TokenizerFile | None,
    hit: LimitHit | None = None,
    options: InspectionOptions = NO_OPTIONS,
) -> Facts:
    """Return what is known about the model before its sections.

    After a limit was `hit`, the template is not run again.
    """
    template = files.template(True) or files.template(False)
    renders, broken, lacking = (None, hit, _Lacking()) if hit else _renders(template, files, options)
    if renders is not None:
        renders.content_as_parts = needs_parts(renders)
        renders.always_generation = next(generation_effects(renders), None) is not None
    probed = None if renders is None else probe(renders)
    if renders is not None and probed is not None:
        renders.reasoning_name = probed.reasoning_name
    decided = decide(
        None if template is None else template.text,
        renders,
        probed,
        files.model_types,
        declarations(files.tokenizer_config, files.config),
    )
    facts = Facts(
        files=files,
        template=template,
        broken=broken,
        renders=renders,
        probed=probed,
        capabilities=_capabilities(template, broken, renders, probed, decided),
        decided=decided,
        needed_tokens=lacking.needed,
        missing_tokens=lacking.needed if files.special_tokens_known else (),
        unnamed_tokens=lacking.printed if _names_tokens(files) else (),
        tokenizer=tokenizer,
        options=options,
    )
    facts = replace(facts, answers=_answers(facts))
    facts = replace(facts, profile=_profile(facts))
    found = stops(facts)
    return replace(facts, profile=replace(facts.profile, stop=found.all, stop_of_calls=found.of_calls))


def _renders(
    template: TemplateSource | None, files: ModelFiles, options: InspectionOptions
) -> tuple[Renders | None, TemplateError | None, _Lacking]:
    """Return the prepared template or its error, and the special tokens that it reads and the model lacks.

    Tokens without which it fails get substitutes. If the tokens cannot be known, all of them do. If the files define
    which tokens exist, the probes see the actual ones.
    """
    if template is None:
        return None, None, _Lacking()
    try:
        chat_template = ChatTemplate(template.text, files.special_tokens, origin=template.origin)
        _ = chat_template.watch  # start recording the outcomes of conditions
        chat_template.record_own_texts(_OWN_TEXT)
        words = None if options.probe_seed is None else Words(options.probe_seed)
        renders = Renders(chat_template, None, words)
        renders.render(user())  # compiles the template, which parsing alone does not
    except LimitHit:
        raise
    except TemplateError as error:
        return None, error, _Lacking()
    read = {name: PLACEHOLDERS[name] for name in PLACEHOLDERS if name in chat_template.variables}
    read = {name: text for name, text in read.items() if name not in files.special_tokens}
    helped = Renders(chat_template, read, words)
    lacking = _lacking(helped)
    if read and _names_tokens(files) and files.kind != "gguf":
        helped = Renders(chat_template, {name: read[name] for name in lacking.needed}, words)
    return helped, None, lacking


@dataclass(frozen=True)
class _Lacking:
    """Special tokens that the template reads and the model does not define.

    `needed`: the template raises without them. `printed`: it only prints them.
    """

    needed: tuple[str, ...] = ()
    printed: tuple[str, ...] = ()


def _names_tokens(files: ModelFiles) -> bool:
    """Return whether the files define the special tokens; a single template does not."""
    return files.special_tokens_known and bool(files.kind == "gguf" or files.tokenizer_config or files.special_tokens)


def _lacking(helped: Renders) -> _Lacking:
    """Return what happens to the template without each of the tokens for which it has a substitute."""
    talks = [(user(), None), (user(system=True), TOOLS), (reply(), None), (conversation(TurnShape(), SINGLE), TOOLS)]
    needed, printed = [], []
    for token, text in helped.tokens.items():
        others = {name: other for name, other in helped.tokens.items() if name != token}
        without = Renders(helped.template, others, helped.words)
        both = [(helped.render(*talk), without.render(*talk)) for talk in talks]
        made = [(one, other) for one, other in both if isinstance(one, str)]
        if any(isinstance(other, TemplateError) for _, other in made):
            needed.append(token)
        elif any(isinstance(other, str) and one.count(text) > other.count(text) for one, other in made):
            printed.append(token)
    return _Lacking(tuple(needed), tuple(printed))


def _capabilities(
    template: TemplateSource | None,
    broken: TemplateError | None,
    renders: Renders | None,
    probed: Probed | None,
    decided: FormatResolution,
) -> dict[str, Answer]:
    if probed is None or renders is None:
        none = Answer("no", "there is no template") if broken is None else threw(broken)
        return dict.fromkeys(CAPABILITIES, none)
    return probed.capabilities | _confirmed(renders, probed, decided)


def _confirmed(renders: Renders, probed: Probed, decided: FormatResolution) -> dict[str, Answer]:
    """Return corrected answers for forms of arguments whose value appears but whose calls are not read back exactly."""
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
            corrected[name] = replace(wrong, line=answer.line)
    return corrected


def _compared(renders: Renders, probed: Probed) -> dict[str, Answer]:
    """Return corrected answers if no format reads the calls: compare arguments as a string and as an object."""
    answer, shape = probed.capabilities["arguments_string"], probed.shape
    if answer.answer != "yes" or shape is None or shape.arguments != "object":
        return {}
    regions = [renders.calls(replace(shape, arguments=form), SINGLE, TOOLS) for form in ("object", "string")]
    texts = [region.text for region in regions if not isinstance(region, TemplateError)]
    if len(texts) < 2 or "".join(texts[0].split()) == "".join(texts[1].split()):
        return {}
    wrong = "a string comes out otherwise than the same arguments as an object"
    return {"arguments_string": Answer("no", wrong, answer.line, "not-read-back", (quote(texts[1]),))}


def _first_wrong(renders: Renders, best: ReadBack, shape: TurnShape) -> Answer | None:
    """Return what is wrong with the first call that is read back in the best shape and not in this one, or None."""
    exact = {trial.kind: set(trial.tolerated) for trial in best.trials if trial.exact}
    for kind, calls in call_sets(parallel=False):
        trial = try_calls(renders, best.format, shape, kind, calls, signed=True)
        if kind in exact and not (trial.exact and set(trial.tolerated) <= exact[kind]):
            region, _ = render_calls(renders, shape, calls)
            # A call that needs tolerances is not what the model was trained to write.
            how = "is not rendered in the format's syntax" if trial.exact else "is parsed back as a different call"
            what = f"{'the call' if kind == SINGLE_CALL else f'a call with {kind}'} {how}"
            if isinstance(region, TemplateError):
                return Answer("no", what, None, "not-read-back", error=thrown(region))
            return Answer("no", what, None, "not-read-back", (quote(region.text),))
    return None


def _answers(facts: Facts) -> dict[str, Answer]:
    """Return the answers about turns that the profile needs, by name; empty if nothing can be tested."""
    turn_probe = facts.turn_probe
    return {} if turn_probe is None else {question.__name__: question(turn_probe) for question in _QUESTIONS}


def _profile(facts: Facts) -> TemplateProfile:
    decision, template = facts.decided.decision, facts.template
    profile = TemplateProfile(
        sha256="" if template is None else template.sha256,
        variables=() if facts.renders is None else facts.renders.template.variables,
        failure=_failure(facts.broken),
        format=decision.name,
        variant=decision.variant,
        derived="" if decision.derived is None else decision.derived.text,
        format_shown=decision.confidence not in ("default", "none"),
        why_no_format=_why_unknown(decision),
        takes_tools=facts.yes("tools"),
        takes_system=facts.yes("system") or facts.capabilities["system"].outcome == "lost-later",
        takes_results=facts.yes("tool_results"),
        takes_parallel_calls=facts.yes("parallel_tool_calls"),
        takes_content_null=facts.yes("content_null"),
        takes_content_empty=facts.yes("content_empty"),
        takes_arguments_object=facts.yes("arguments_object"),
        takes_arguments_string=facts.yes("arguments_string"),
    )
    if facts.renders is None or facts.probed is None:
        return profile
    profile = replace(
        profile,
        arguments_form=facts.shape.arguments if facts.shape else "object",
        shape=facts.shape,
        reasoning=reasoning_markers(facts.probed.reasoning_turn),
        reasoning_name=facts.probed.reasoning_name,
        prefill=prefill(facts.renders, tools=facts.shows_tools, headers=facts.headers),
        markers=turn_marks(facts.renders, facts.shape, needed_tools(facts.renders)),
    )
    return _with_turns(profile, facts.capabilities, facts.answers)


def _with_turns(
    profile: TemplateProfile, capabilities: Mapping[str, Answer], answers: Mapping[str, Answer]
) -> TemplateProfile:
    """Return the profile with the forms of ids, results and contents that the answers require."""
    spelled = capabilities["tool_results"].outcome == "spelled" and answers["results_as_parts"].answer == "yes"
    return replace(
        profile,
        ids=_needed_ids(answers),
        results="parts" if spelled else "string",
        results_in_order=answers["results_reordered"].outcome == "by-order",
        results_named=answers["results_unnamed"].outcome in ("threw", "dropped", "name-lost"),
        parts=not answers["content_parts"].outcome,
        result_parts=not answers["results_as_parts"].outcome,
        result_documents=not answers["results_as_documents"].outcome,
        empty_calls=not answers["calls_empty"].outcome,
        reasoning_parts=capabilities["reasoning"].outcome == "as-parts",
        text_with_call=answers["text_with_call"].outcome != "dropped",
    )


def _needed_ids(answers: Mapping[str, Answer]) -> Literal["", "nine", "function"]:
    """Return the form of ids that a template needs; empty if ordinary ids work, or no form does."""
    if answers["ids_ordinary"].answer == "yes":
        return ""
    forms: tuple[Literal["function", "nine"], ...] = ("function", "nine")
    return next((form for form in forms if answers[f"ids_{form}"].answer == "yes"), "")


def _failure(broken: TemplateError | None) -> Failure | None:
    if broken is None:
        return None
    if not isinstance(broken, LimitHit):
        return Failure(thrown(broken).sentence, broken.line)
    what = "Nothing came back" if broken.limit == "crash" else f"Limit hit: {broken.limit}"
    return Failure(f"{what}: {broken.engine_message}", broken.line, broken.limit)


def _why_unknown(decision: FormatDecision) -> str:
    if decision.name is not None:
        return ""
    return next((evidence.detail for evidence in decision.evidence), "no evidence")
