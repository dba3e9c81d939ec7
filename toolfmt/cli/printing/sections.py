"""The sections of a report as lines of text: a summary, or in full every answer with its evidence.

`toolfmt.cli.printing.report` places the lines. Every line is already `visible`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from toolfmt._util.text_lists import listed, listed_first
from toolfmt.cli.printing.control_characters import visible
from toolfmt.cli.printing.layout import ANSWER_STYLES
from toolfmt.cli.printing.phrases import phrased
from toolfmt.cli.printing.settings import leaving_out
from toolfmt.inspect.report.growing_prompts import PrefixCondition, Turn
from toolfmt.inspect.report.report import Answer, Portability, Report, RuntimeSupport, Tokens, Variable

_MOST, _MOST_IDLE = 3, 8
"""Maximum number of variables in the summary, and of named variables without effect; the others are counted."""
_MOST_MARKERS = 6
"""Maximum number of markers in a line; the others are counted."""


def chapters(report: Report) -> list[tuple[str, Text]]:
    """Return the sections of the summary: costs and conditions. What findings and notes cover is not repeated."""
    lines = [
        *(("details", line) for line in _unphrased(report.sections.details)),
        *(("prefix", line) for line in _prefix(report)),
        *(("tokens", line) for line in _tokens(report.sections.tokens)),
        *(("token ids", line) for line in _token_ids(report.sections.tokens)),
        *(("variables", line) for line in _variables(report.sections.variables)),
    ]
    return [(name, Text(visible(line))) for name, line in lines]


_AFTER: Mapping[Turn, str] = {
    "question": "a question",
    "question without tools": "a question in a request without tools",
    "result": "a result",
    "results": "several results",
    "later question": "a later question",
}

# --- summary

_ALL_REUSED = "a prefix cache can reuse all prompt text of the test conversation"


def _unphrased(details: Mapping[str, Answer]) -> list[str]:
    """Return the names of details that are not yes and have no phrase in `toolfmt.cli.printing.phrases`."""
    names = [_words(name) for name, answer in details.items() if answer.answer != "yes" and name not in phrased()]
    return [f"not {listed_first(names, _MOST_IDLE)}; see --full"] if names else []


def _prefix(report: Report) -> list[str]:
    stability = report.sections.stability
    if stability is None:
        return []
    ticks = f"the prompt contains the time and changes every {stability.tick}" if stability.tick else ""
    if stability.share >= 1:
        if ticks:
            return [f"{ticks}; otherwise {_ALL_REUSED}"]
        if worse := [condition for condition in stability.conditions if condition.share < 1]:
            return [f"{_ALL_REUSED}, except {_conditions(worse)}"]
        return [_ALL_REUSED]
    broken = [turn for turn in stability.turns if turn.kept < turn.length]
    lines = sorted({turn.line for turn in broken if turn.line is not None})
    where = f" (line{'s' * (len(lines) > 1)} {listed(map(str, lines))})" if lines else ""
    when = f"; the first cache miss occurs when {broken[0].name}{where}" if broken else ""
    stays = f"a prefix cache can reuse {int(stability.share * 100)} % of the prompt text of the test conversation{when}"
    return [f"{stays}; {ticks}" if ticks else stays]


def _conditions(conditions: Sequence[PrefixCondition]) -> str:
    """Return the conditions under which less is supported. One that only adds variables is an addition to another."""
    additions: dict[PrefixCondition, list[str]] = {}
    for condition in sorted(conditions, key=lambda one: len(one.variables)):
        wider = next((one for one in additions if _is_narrower(condition, one)), None)
        if wider is None:
            additions[condition] = []
            continue
        if _share(condition) == _share(wider):
            continue
        more = [name_value for name_value in condition.variables if name_value not in wider.variables]
        values = listed(f"{name}={str(value).lower()}" for name, value in more)
        additions[wider].append(f"; {_share(condition)} with {values}")
    texts = (
        f"{condition.describe()} ({_share(condition)} reused{''.join(dict.fromkeys(more))})"
        for condition, more in additions.items()
    )
    return listed(dict.fromkeys(texts), "or")


def _is_narrower(one: PrefixCondition, other: PrefixCondition) -> bool:
    same = (one.reasoning, one.tools) == (other.reasoning, other.tools) and other.reasoning is not None
    return same and set(other.variables) < set(one.variables)


def _share(condition: PrefixCondition) -> str:
    return f"{int(condition.share * 100)} %"


def _tokens(tokens: Tokens | None) -> list[str]:
    if tokens is None or not tokens.tools:
        return []
    count = len(tokens.tools)
    whose = "" if tokens.given else "example "
    of = "" if tokens.context is None else f" of {tokens.context:,}"
    line = f"{count} {whose}{'tools cost' if count > 1 else 'tool costs'} {tokens.total:,} tokens{of}"
    if tokens.preamble:
        line += f", {tokens.preamble:,} of them for the instructions around the tools"
    if tokens.given and count > 1:
        line += f"; the longest is {tokens.tools[0].name} with {tokens.tools[0].tokens:,}"
    lines = [line]
    if advice := leaving_out(tokens):
        lines.append(advice)
    return lines


def _token_ids(tokens: Tokens | None) -> list[str]:
    """Return a line that shows which markers `TokenParser` accepts only as tokens."""
    markers = [marker for marker in tokens.markers if marker.kind != "stop"] if tokens else []
    if not markers:
        return []
    only, as_text = (
        listed_first([marker.marker for marker in markers if marker.only_as_token is whether], _MOST_MARKERS)
        for whether in (True, False)
    )
    if not only:
        return [f"toolfmt.TokenParser matches all markers as text: {as_text}"]
    return [f"toolfmt.TokenParser matches {only} only as tokens" + (f", {as_text} as text" if as_text else "")]


def _variables(variables: Iterable[Variable]) -> list[str]:
    """Return a line for each variable with an effect, and the names of the others."""
    effective = [variable for variable in variables if variable.effect]
    idle = [variable.name for variable in variables if not variable.effect]
    lines = [_variable(variable) for variable in effective[:_MOST]]
    if effective[_MOST:]:
        lines.append(f"other variables: {listed_first([variable.name for variable in effective[_MOST:]], _MOST_IDLE)}")
    if idle:
        lines.append(f"variables without effect in the tests: {listed_first(idle, _MOST_IDLE)}")
    return lines


def _variable(variable: Variable) -> str:
    default = "" if variable.default is None else f" (default: {_default(variable.default)})"
    return f"{variable.name}{default}: {variable.effect}"


def _default(source: str) -> str:
    """Return the source of a default for people: another variable's name, or a value."""
    name, *alternatives = source.split(" or ")
    if name.isidentifier() and name.lower() not in ("true", "false", "none"):
        return ", or ".join([f"the value of {name}", *alternatives])
    return source


_SCOPE = (
    "Each row states what the template does in the tested conversations, with its default variables unless the row "
    "names others."
)


def everything(report: Report) -> list[RenderableType]:
    """Return every answer of every section with its evidence, with a heading before each non-empty section."""
    sections = report.sections
    evidence = {f"{one.source}: {one.format or 'none'}": one.detail for one in report.format.evidence}
    tables: list[tuple[str, Table]] = [
        ("capabilities", _answers(report.capabilities)),
        ("evidence of the format", _facts(evidence)),
        ("details", _answers(sections.details)),
        ("definitions", _answers(sections.definitions)),
        ("safety (yes = safe)", _answers(sections.safety)),
        ("variables", _facts({one.name: _variable_in_full(one) for one in sections.variables})),
        ("prefix cache: what the next prompt keeps", _facts(_turns(report))),
        ("response text that the prompt already contains", _facts(_starts(report))),
        ("tokens", _facts(_costs(sections.tokens))),
        *((f"other engines: {visible(other.engine)}", _facts(_differences(other))) for other in sections.engines),
        ("runtimes", _facts({one.runtime: _why(one) for one in sections.runtime_support})),
    ]
    chapters = [Group(Text(heading, "bold"), table) for heading, table in tables if table.row_count]
    return [Text(_SCOPE, "dim"), *chapters] if sections.details else [*chapters]


def _why(support: RuntimeSupport) -> str:
    """Return the reasons, the second with the runtime's name: "it" would refer to the template in the first."""
    of_parser = support.why_parser
    if support.why_template and of_parser.startswith("it "):
        of_parser = f"{support.runtime} {of_parser.removeprefix('it ')}"
    return "; ".join(filter(None, (support.why_template, of_parser)))


def _answers(answers: Mapping[str, Answer]) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    for _ in ("name", "answer"):
        table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for name, answer in answers.items():
        evidence: str = answer.to_dict()["evidence"]
        table.add_row(
            Text(f"  {visible(name)}"), Text(answer.answer, ANSWER_STYLES[answer.answer]), Text(visible(evidence))
        )
    return table


def _facts(facts: Mapping[str, str]) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(max_width=36, overflow="fold")
    table.add_column(overflow="fold")
    for name, fact in facts.items():
        table.add_row(Text(f"  {visible(name)}"), Text(visible(fact)))
    return table


def _variable_in_full(variable: Variable) -> str:
    default = "" if variable.default is None else f"default: {_default(variable.default)}; "
    where = "" if variable.line is None else f" (line {variable.line})"
    return f"{default}{variable.effect or 'no effect in the tests'}{where}"


def _turns(report: Report) -> dict[str, str]:
    stability = report.sections.stability
    turns = () if stability is None else stability.turns
    facts = {}
    for turn in turns:
        where = "" if turn.line is None else f" (line {turn.line})"
        facts[turn.name] = (
            f"only the first {turn.kept:,} of {turn.length:,} characters stay the same; "
            f"then '{turn.was}' becomes '{turn.becomes}'{where}"
            if turn.kept < turn.length
            else f"all {turn.length:,} characters of the previous prompt stay the same"
        )
    for condition in () if stability is None else stability.conditions:
        facts[condition.describe()] = (
            f"{int(condition.share * 100)} % of the prompt is reused (measured on two follow-up requests)"
        )
    return facts


def _starts(report: Report) -> dict[str, str]:
    """Return what responses start with: with the usual variables, and with those that make a difference."""
    groups: dict[tuple[tuple[str, bool], ...], dict[str, list[str]]] = {}
    for start in report.sections.response_starts:
        groups.setdefault(start.variables, {}).setdefault(start.prefix, []).append(_AFTER[start.turn])
    usual = groups.get((), {})
    return {
        ", ".join(f"{name}={str(value).lower()}" for name, value in variables) or "default variables": "; ".join(
            f"{prefix or 'nothing'} {_in_turns(turns, every=len(starts) == 1)}" for prefix, turns in starts.items()
        )
        for variables, starts in groups.items()
        if not variables or starts != usual
    }


def _in_turns(turns: Sequence[str], *, every: bool) -> str:
    return "in the tested turns" if every else f"after {listed(turns, 'or')}"


def _costs(tokens: Tokens | None) -> dict[str, str]:
    if tokens is None:
        return {}
    costs = {one.name: f"{one.tokens:,} tokens" for one in tokens.tools}
    for one in tokens.markers:
        special = "; a special token, dropped unless skip_special_tokens=False" if one.special else ""
        costs[one.marker] = (
            f"{len(one.tokens)} token{'s' if len(one.tokens) != 1 else ''}: {' '.join(one.tokens)}{special}"
        )
    return {"for having tools at all": f"{tokens.preamble:,} tokens", **costs}


def _differences(other: Portability) -> dict[str, str]:
    tags = [one for one in other.differences if one.construct == "{% generation %}"]
    cut = any(not one.what.startswith("unknown statement") for one in tags)
    without = "with {% generation %} cut out, " if cut else ""
    same = f"{without}it renders {other.same} of {other.renders} conversations as Jinja2 does"
    # The runtimes that use minijinja format JSON differently, which was not compared.
    lines = {other.engine: same + ", apart from JSON formatting" * (other.engine == "minijinja")}
    for one in other.differences:
        lines[one.construct] = one.what + ("" if one.line is None else f" (line {one.line})")
    return lines


def _words(name: str) -> str:
    return name.replace("_", " ")
