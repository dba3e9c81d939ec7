"""The corpus: read the parser cases of `corpus/<format>/<topic>.txt`, write cases, and export them as data.

This module does not parse model output. The files are part of the package; in a checkout they are in its folder
`corpus`.

A case is a title and its header lines between two rules of `=`, the model's output, a rule of `-`, and the expected
merged events, one per line. The output is everything between the rules except the last newline, verbatim. A broken file
raises `BadCase` with the file and the line. Lines before the first case that begin with `TO FILL` describe missing
work: they are skipped here, and the contract tests report them.

Header lines:
    :tools NAME      the tool definitions of that name in corpus/tools.json, or a JSON list of them; `:tools []` passes
                     no tools; without this line, any name is a tool
    :prefix "..."    the tail of the prompt, as a JSON string
    :strict          the parser rejects what it usually tolerates
    :escaped         the output is written as JSON strings, one per line, each with an optional repetition: "ab" * 300
    :seen WHERE      where an output like this was seen; or
    :composed        it was made up

Expected lines:
    content "..."                 text, as a JSON string
    reasoning "..."
    call 0 NAME [id "..."]        a call starts
    args 0 {...}                  its arguments: as JSON if the call ends, else character by character
    end 0 [a-b] [names]           it ends, with this span and these tolerances; without it: no tolerance, any span
    rejected 0 REASON ["raw"]     it is rejected, with this text
`...` instead of the arguments or the tolerances matches anything. A call without a rejected line ends.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from toolfmt.formats import get
from toolfmt.messages.events import Content, Event, Reasoning, ToolCallArguments, ToolCallRejected, ToolCallStart

_INSTALLED = Path(__file__).parents[1] / "corpus"
CORPUS = _INSTALLED if _INSTALLED.is_dir() else Path(__file__).parents[2] / "corpus"
TOPICS = (
    "single", "several", "text-around", "values", "whitespace", "names",
    "no-arguments", "undeclared", "malformed", "truncated", "lookalikes", "reasoning",
)  # fmt: skip
FOREIGN = "foreign"
"""The topic of calls in the syntax of another format, which not every format has to have."""
TO_FILL = "TO FILL"
"""The beginning of everything that `toolfmt dev new-format` and `new-finding` leave for a person to write."""

_TITLES = re.compile(r"={16,}")
_ANSWER_ENDS = re.compile(r"-{16,}")
_REPEATED = re.compile(r'(".*")(?: \* ([0-9]+))?')
_CALL = re.compile(r'(\S+)(?: +id +(".*"))?')
_END = re.compile(r"(?:([0-9]+)-([0-9]+))? *(\.\.\.|[a-z_:, ]*)")
_REJECTED = re.compile(r'([a-z_]+)(?: +(".*"))?')


class BadCase(Exception):
    """A case file that cannot be read."""


@dataclass(frozen=True, slots=True)
class ExpectedText:
    """Content or reasoning, verbatim."""

    kind: str
    text: str


@dataclass(slots=True)
class ExpectedCall:
    """A call and its result. None means that the case does not specify a value; `reason` None is a call that ended."""

    index: int
    name: str | None = None
    id: str | None = None
    arguments: str | None = ""
    span: tuple[int, int] | None = None
    tolerated: tuple[str, ...] | None = ()
    reason: str | None = None
    raw: str | None = None


@dataclass(frozen=True, slots=True)
class Case:
    """A model output and its expected events.

    Attributes:
        format: The name of the format.
        topic: The file of the case, without its ending.
        title: The title.
        origin: Where an output like this was seen. Empty if it was composed.
        text: The output.
        tools: The tool definitions. None if any name is a tool.
        prefix: The tail of the prompt.
        strict: Whether the parser rejects what it usually tolerates.
        expected: The expected texts and calls, in order.
    """

    format: str
    topic: str
    title: str
    origin: str
    text: str
    tools: list[Any] | None
    prefix: str
    strict: bool
    expected: tuple[ExpectedText | ExpectedCall, ...]

    @property
    def id(self) -> str:
        """The format, the topic and the title."""
        return f"{self.format}/{self.topic}: {self.title}"

    @property
    def calls(self) -> list[ExpectedCall]:
        """The expected calls."""
        return [part for part in self.expected if isinstance(part, ExpectedCall)]

    @property
    def clean(self) -> bool:
        """Whether all calls end without any tolerance."""
        return bool(self.expected) and all(
            isinstance(part, ExpectedCall)
            and part.reason is None
            and part.tolerated == ()
            and part.arguments is not None
            for part in self.expected
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the case as data: a line of `toolfmt dev corpus export`. docs/fuzzing.md describes the fields."""
        return {
            "id": self.id,
            "format": self.format,
            "topic": self.topic,
            "title": self.title,
            "seen": self.origin or None,
            "text": self.text,
            "tools": self.tools,
            "prefix": self.prefix,
            "strict": self.strict,
            "expected": [_part_as_data(part) for part in self.expected],
        }


def formats() -> list[str]:
    """Return the formats that have cases."""
    return sorted({file.parent.name for topic in TOPICS for file in CORPUS.glob(f"*/{topic}.txt")})


def cases(format: str | None = None) -> list[Case]:
    """Return the cases of a format, or of all, in the order of formats, topics and files.

    Args:
        format: Any name of a format. The default is all formats.

    Raises:
        UnknownFormat: There is no format of this name.
    """
    names = formats() if format is None else [get(format).name]
    return [case for name in names for topic in (*TOPICS, FOREIGN) for case in read(CORPUS / name / f"{topic}.txt")]


def read(file: Path) -> list[Case]:
    """Return the cases of a file. A missing file has none."""
    if not file.exists():
        return []
    return list(_parsed(file, file.read_bytes().decode("utf-8")))


@cache
def _parsed(file: Path, text: str) -> tuple[Case, ...]:
    return tuple(_cases(file, text.split("\n")))


@cache
def tool_sets() -> dict[str, list[Any]]:
    """Return the tool definitions that cases refer to by name."""
    sets: dict[str, list[Any]] = json.loads((CORPUS / "tools.json").read_text(encoding="utf-8"))
    return sets


def _cases(file: Path, lines: list[str]) -> Iterator[Case]:
    rules = [number for number, line in enumerate(lines) if _TITLES.fullmatch(line)]
    head = lines[: rules[0] if rules else None]
    if len(rules) % 2 or any(line.strip() and not line.startswith(TO_FILL) for line in head):
        raise BadCase(f"{file}: a case begins with a title between two rules of '='; one of them is missing")
    for place, (above, below) in enumerate(zip(rules[::2], rules[1::2], strict=True)):
        end = rules[2 * place + 2] if 2 * place + 2 < len(rules) else len(lines)
        answer_ends = [number for number in range(below, end) if _ANSWER_ENDS.fullmatch(lines[number])]
        if len(answer_ends) != 1:
            raise BadCase(f"{file}:{above + 2}: a case has one rule of '-' after the output, not {len(answer_ends)}")
        try:
            yield _case(
                file, lines[above + 1 : below], lines[below + 1 : answer_ends[0]], lines[answer_ends[0] + 1 : end]
            )
        except (BadCase, ValueError, KeyError) as wrong:
            raise BadCase(f"{file}:{above + 2}: {wrong!r}") from wrong


def _case(file: Path, head: list[str], body: list[str], expected: list[str]) -> Case:
    title, *lines = head
    header = {key: value for key, _, value in (line.partition(" ") for line in lines)}
    if unknown := sorted(set(header) - {":tools", ":prefix", ":strict", ":escaped", ":seen", ":composed"}):
        raise BadCase(f"unknown header line {unknown[0]}")
    if (":seen" in header) == (":composed" in header):
        raise BadCase("a case says where it was seen (:seen WHERE) or that it is :composed")
    return Case(
        format=file.parent.name,
        topic=file.stem,
        title=title,
        origin=header.get(":seen", ""),
        text="".join(_escaped(line) for line in body) if ":escaped" in header else "\n".join(body),
        tools=_tools(header.get(":tools")),
        prefix=json.loads(header.get(":prefix", '""')),
        strict=":strict" in header,
        expected=tuple(_expected([line for line in expected if line.strip()])),
    )


def _tools(name: str | None) -> list[Any] | None:
    if name is None:
        return None
    listed: list[Any] = json.loads(name) if name.startswith("[") else tool_sets()[name]
    return listed


def _escaped(line: str) -> str:
    text, times = _match(_REPEATED, line).groups()
    return str(json.loads(text)) * int(times or 1)


def _expected(lines: list[str]) -> list[ExpectedText | ExpectedCall]:
    parts: list[ExpectedText | ExpectedCall] = []
    calls: dict[int, ExpectedCall] = {}
    for line in lines:
        word, rest = line.split(maxsplit=1)
        if word in ("content", "reasoning"):
            parts.append(ExpectedText(word, json.loads(rest)))
            continue
        number, _, rest = rest.partition(" ")
        index = int(number)
        if index not in calls:
            if word not in ("call", "rejected"):
                raise BadCase(f"{line!r}: no line announces call {index}")
            calls[index] = ExpectedCall(index)
            parts.append(calls[index])
        _outcome(calls[index], word, rest.strip(), line)
    return parts


def _outcome(call: ExpectedCall, word: str, rest: str, line: str) -> None:
    if word == "call":
        call.name, id = _match(_CALL, rest).groups()
        call.id = json.loads(id) if id else None
    elif word == "args":
        call.arguments = None if rest == "..." else rest
    elif word == "end":
        begin, end, names = _match(_END, rest).groups()
        call.span = (int(begin), int(end)) if begin else None
        call.tolerated = None if names == "..." else tuple(sorted(names.replace(",", " ").split()))
    elif word == "rejected":
        call.reason, raw = _match(_REJECTED, rest).groups()
        call.raw = json.loads(raw) if raw else None
    else:
        raise BadCase(f"{line!r}: a line begins with content, reasoning, call, args, end or rejected")


def _match(pattern: re.Pattern[str], text: str) -> re.Match[str]:
    match = pattern.fullmatch(text)
    if match is None:
        raise BadCase(f"{text!r} is not written as {pattern.pattern}")
    return match


# --- writing cases


def _part_as_data(part: ExpectedText | ExpectedCall) -> dict[str, Any]:
    if isinstance(part, ExpectedText):
        return {"type": part.kind, "text": part.text}
    return {
        "type": "tool_call",
        "index": part.index,
        "name": part.name,
        "id": part.id,
        "arguments": part.arguments,
        "span": None if part.span is None else list(part.span),
        "tolerated": None if part.tolerated is None else list(part.tolerated),
        "rejected": part.reason,
        "raw": part.raw,
    }


def parts_of(events: Iterable[Event]) -> list[ExpectedText | ExpectedCall]:
    """Return merged events as the parts of a case, with all details."""
    parts: list[ExpectedText | ExpectedCall] = []
    calls: dict[int, ExpectedCall] = {}
    for event in events:
        if isinstance(event, (Content, Reasoning)):
            parts.append(ExpectedText("content" if isinstance(event, Content) else "reasoning", event.text))
            continue
        if event.index not in calls:
            calls[event.index] = ExpectedCall(event.index)
            parts.append(calls[event.index])
        call = calls[event.index]
        if isinstance(event, ToolCallStart):
            call.name, call.id = event.name, event.id
        elif isinstance(event, ToolCallArguments):
            call.arguments = (call.arguments or "") + event.delta
        elif isinstance(event, ToolCallRejected):
            call.reason, call.raw = event.reason, event.raw
        else:
            call.span, call.tolerated = event.span, tuple(sorted(event.tolerated))
    return parts


def lines_of(parts: Iterable[ExpectedText | ExpectedCall]) -> list[str]:
    """Return the parts as lines of a case file."""
    return [
        line for part in parts for line in ([_text_line(part)] if isinstance(part, ExpectedText) else _call_lines(part))
    ]


def case_text(title: str, text: str, expected: Iterable[str], *, tools: list[Any] | None = None, seen: str = "") -> str:
    """Return a case as text of a case file.

    It is marked as composed if `seen` is empty. The output is escaped if it cannot be written verbatim.
    """
    verbatim = text.isprintable() or all(char == "\n" or char.isprintable() for char in text)
    ruled = any(_TITLES.fullmatch(line) or _ANSWER_ENDS.fullmatch(line) for line in text.split("\n"))
    plain = verbatim and not ruled
    named = next((name for name, tools_ in tool_sets().items() if tools_ == tools), None)
    head = [] if tools is None else [f":tools {named or json.dumps(tools)}"]
    origin = f":seen {seen}" if seen else ":composed"
    head += [origin] if plain else [origin, ":escaped"]
    rule = "=" * 64
    body = text if plain else json.dumps(text)
    return "\n".join([rule, title, *head, rule, body, "-" * 64, *expected]) + "\n"


def json_lines(listed: Iterable[Case]) -> Iterator[str]:
    """Yield cases as lines of ASCII JSON, so that any reader can read half a surrogate pair in an output."""
    return (json.dumps(case.to_dict()) + "\n" for case in listed)


def _text_line(part: ExpectedText) -> str:
    return f"{part.kind} {json.dumps(part.text)}"


def _call_lines(call: ExpectedCall) -> list[str]:
    lines = []
    if call.name is not None:
        lines.append(f"call {call.index} {call.name}" + (f" id {json.dumps(call.id)}" if call.id is not None else ""))
    if call.arguments is None:
        lines.append(f"args {call.index} ...")
    elif call.arguments:
        lines.append(f"args {call.index} {as_json(call.arguments) if call.reason is None else call.arguments}")
    if call.reason is not None:
        raw = [] if call.raw is None else [json.dumps(call.raw)]
        return [*lines, " ".join([f"rejected {call.index} {call.reason}", *raw])]
    span = [] if call.span is None else [f"{call.span[0]}-{call.span[1]}"]
    tolerated = ["..."] if call.tolerated is None else [", ".join(call.tolerated)] if call.tolerated else []
    return [*lines, " ".join([f"end {call.index}", *span, *tolerated])]


def as_json(text: str) -> str:
    """Return JSON text in canonical form, in which types differ. Text that is not JSON stays unchanged."""
    try:
        return json.dumps(json.loads(text, parse_constant=_reject))
    except (ValueError, RecursionError):
        return text


def _reject(name: str) -> Any:
    raise ValueError(name)
