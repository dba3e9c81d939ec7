"""Run the series against a server, and collect what it shows.

`Examination.run` yields after each probe, so that the progress can be shown, and the result is valid at any time. A
difference between the whole and the streamed response counts only if repeated requests show that the model itself is
not random.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

from toolfmt.cli.doctor.checks import differences, lost_arguments, notices, problems, undecided, with_markers
from toolfmt.cli.doctor.connection import Connection
from toolfmt.cli.doctor.probes import (
    MOST_TOKENS,
    OTHER_STATION,
    PLAIN,
    RESULT,
    STATION,
    Probe,
    probes,
    result_messages,
    sample_call,
)
from toolfmt.cli.doctor.protocols import ChatRequest
from toolfmt.cli.doctor.protocols.chat_protocol import response_of
from toolfmt.cli.doctor.response import Problem, ServerError, ServerResponse, Unreadable
from toolfmt.cli.doctor.transport import LimitReached, TooSlow, Transport
from toolfmt.cli.measure.subject import NotAnswered
from toolfmt.formats import ToolCallFormat

Outcome: TypeAlias = Literal["passed", "failed", "undecided"]
_REPEATS, _STREAMED_REPEATS = 4, 2
"""How often a whole and a streamed response is repeated to find out whether the model is random."""
BUSY = "the server is busy"
_BUSY = (429, 503)
_DENIED = (401, 403)
_NOT_SUPPORTED = (400, 404, 422, 501)
_MOST_SLOW = 2
_DROPPED = "tools-dropped"
_FEW_TOKENS = 256
"""Tokens of a response of a model that wrote until the limit without reasoning."""
_TOOLS_OFF = ("enable-auto-tool-choice", "tool-call-parser", "requires --jinja", "--jinja flag")
"""Parts of the messages with which vLLM and llama.cpp reject tools if tool calling is off."""


class NotExamined(Exception):
    """The server cannot be examined. The message is one line with the reason."""


@dataclass
class Finding:
    """A problem or a notice, with the requests that show it: `one call, streamed`."""

    problem: Problem
    is_notice: bool = False
    where: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Check:
    """The outcome of a probe. `detail` are the names of its findings, or why it is undecided."""

    name: str
    title: str
    outcome: Outcome
    detail: str = ""


@dataclass
class Examination:
    """The checks so far. `stopped` is why the series was not completed, empty if it was."""

    connection: Connection
    model: str
    key: str
    transport: Transport
    format: ToolCallFormat | None = None
    variables: Mapping[str, Any] = field(default_factory=dict)
    checks: list[Check] = field(default_factory=list)
    findings: dict[str, Finding] = field(default_factory=dict)
    is_random: bool = False
    has_calls: bool = False
    stopped: str = ""
    _most_tokens: int = MOST_TOKENS
    _slow: int = 0
    _plain: int = 0
    _with_tools: int = 0
    _counts: set[int] = field(default_factory=set)

    @property
    def planned(self) -> tuple[Probe, ...]:
        """The probes, in their order."""
        made = list(probes(self.format))
        if not self.connection.protocol.forced_choice:
            made = [probe for probe in made if probe.choice is None]
        return (*made, RESULT)

    @property
    def problems(self) -> list[Finding]:
        return [finding for finding in self.findings.values() if not finding.is_notice]

    @property
    def status(self) -> Literal["healthy", "problems", "undecided"]:
        """Whether the server has problems. Without one, it is healthy only if the series ended and had calls."""
        if self.problems:
            return "problems"
        return "healthy" if self.has_calls and not self.stopped else "undecided"

    def run(self) -> Iterator[Check]:
        """Run the series, and yield each check. Raises `NotExamined`."""
        self._begin()
        try:
            for probe in self.planned:
                check = self._result() if probe is RESULT else self._check(probe)
                self.checks.append(check)
                self._compare_counts()
                yield check
        except LimitReached as limit:
            self.stopped = str(limit)

    def _begin(self) -> None:
        """Send a request without tools, to find out whether the server responds at all. Raises `NotExamined`."""
        try:
            self._plain = self._send(PLAIN, streamed=False).prompt_tokens
        except (NotAnswered, Unreadable, ServerError, LimitReached) as error:
            raise NotExamined(str(error)) from None

    def _request(self, probe: Probe) -> ChatRequest:
        return probe.request(self.variables, self._most_tokens)

    def _send(self, request: ChatRequest, streamed: bool) -> ServerResponse:
        protocol = self.connection.protocol
        body = protocol.body(self.model, request, streamed)
        reply = self.transport.send(self.connection.url, body, protocol.headers(self.key))
        return response_of(protocol, reply, streamed)

    def _check(self, probe: Probe) -> Check:
        """Send a probe whole and streamed, and compare both."""
        whole, streamed = (self._asked(probe, self._request(probe), streamed) for streamed in (False, True))
        if isinstance(whole, ServerResponse):
            self._counts.add(whole.prompt_tokens)
            if probe.name == "one-call":
                self._with_tools = whole.prompt_tokens
            if isinstance(streamed, ServerResponse):
                self._compare(probe, whole, streamed)
        return self._concluded(probe, (whole, streamed))

    def _asked(self, probe: Probe, request: ChatRequest, streamed: bool) -> ServerResponse | str:
        """Return the response, after its problems were recorded, or why there is none."""
        try:
            response = self._send(request, streamed)
        except (Unreadable, NotAnswered, ServerError) as error:
            return self._failed(probe, error, streamed)
        self._slow = 0
        self.has_calls = self.has_calls or bool(response.calls)
        if response.cut and probe.max_tokens == MOST_TOKENS and not response.reasoning:
            self._most_tokens = _FEW_TOKENS  # it writes without an end
        found = problems(probe, response, self.format)
        if probe.name == "markers" and not any(problem.name in self.findings for problem in found):
            found = with_markers(probe, response, found)
        for problem in found:
            self._add(problem, probe, streamed)
        for notice in notices(response):
            self._add(notice, probe, streamed, is_notice=True)
        return response

    def _failed(self, probe: Probe, error: Exception, streamed: bool) -> str:
        """Record a request that failed. Return why it shows nothing, if that is not a problem of the server."""
        if isinstance(error, TooSlow):
            self._slow += 1
            if self._slow == _MOST_SLOW:
                raise LimitReached(str(error))
            return str(error)
        if isinstance(error, ServerError):
            if error.status in _BUSY:
                return f"{BUSY}: {error}"
            if error.status in _DENIED:
                raise LimitReached(str(error))
            if any(part in error.message for part in _TOOLS_OFF):
                self._add(Problem("tools-off", str(error)), probe, streamed)
                return ""
            if probe.choice is not None and error.status in _NOT_SUPPORTED:
                return f"tool_choice is not supported: {error}"
        name = "unreadable-response" if isinstance(error, Unreadable) else "request-fails"
        self._add(Problem(name, str(error)), probe, streamed)
        return ""

    def _add(self, problem: Problem, probe: Probe, streamed: bool | None, *, is_notice: bool = False) -> None:
        if problem.name == "tool-choice-ignored" and _DROPPED in self.findings:
            return  # the consequence
        finding = self.findings.setdefault(problem.name, Finding(problem, is_notice))
        how = {True: ", streamed", False: ", whole", None: ""}[streamed]
        finding.where.append(probe.title + how)

    def _concluded(self, probe: Probe, responses: Sequence[ServerResponse | str]) -> Check:
        if names := self._problems_of(probe):
            return Check(probe.name, probe.title, "failed", ", ".join(names))
        reasons = [one if isinstance(one, str) else undecided(probe, one) for one in responses]
        if all(reasons):
            return Check(probe.name, probe.title, "undecided", reasons[0])
        return Check(probe.name, probe.title, "passed")

    def _problems_of(self, probe: Probe) -> list[str]:
        """Return the names of the problems that this probe showed."""
        return [finding.problem.name for finding in self.problems if any(_is_of(probe, one) for one in finding.where)]

    def _compare(self, probe: Probe, whole: ServerResponse, streamed: ServerResponse) -> None:
        """Record a difference between both responses, if the model is not random."""
        difference = differences(whole, streamed)
        if not difference or self.is_random or whole.cut or streamed.cut or self._problems_of(probe):
            return  # a cut call is only in a stream; and the difference may be a consequence of the problems
        for _ in range(_REPEATS):
            repeated = self._repeated(probe, streamed=False)
            if repeated is None or differences(whole, repeated):
                self.is_random = repeated is not None
                return
        for _ in range(_STREAMED_REPEATS):
            repeated = self._repeated(probe, streamed=True)
            if repeated is None or differences(streamed, repeated):
                self.is_random = repeated is not None
                return
        name = "arguments-missing" if lost_arguments(whole, streamed) else "stream-differs"
        self._add(Problem(name, difference), probe, None)

    def _repeated(self, probe: Probe, streamed: bool) -> ServerResponse | None:
        try:
            return self._send(self._request(probe), streamed)
        except (Unreadable, NotAnswered, ServerError):
            return None

    def _result(self) -> Check:
        """Send the results of calls back: those that the model makes, or one that the client invents."""
        calls = [sample_call()]
        first = self._asked(RESULT, self._request(RESULT), False)
        if isinstance(first, ServerResponse) and first.calls and not problems(RESULT, first, self.format):
            calls = [
                {"id": call.id or f"call{number:05}", "type": "function",
                 "function": {"name": call.name, "arguments": call.arguments}}
                for number, call in enumerate(first.calls)
            ]  # fmt: skip
        content = None if self._accepts_null(calls) else ""
        request, other_request = (
            replace(self._request(RESULT), messages=result_messages(calls, station, content))
            for station in (STATION, OTHER_STATION)
        )
        responses = [self._asked(RESULT, request, streamed) for streamed in (False, True)]
        other = self._asked(RESULT, other_request, False)
        whole = responses[0]
        if isinstance(whole, ServerResponse) and isinstance(other, ServerResponse) and self._counts_tokens:
            self._counts.add(whole.prompt_tokens)
            if 0 < whole.prompt_tokens == other.prompt_tokens:
                seen = f"{whole.prompt_tokens} prompt tokens with results of 8 and of {len(OTHER_STATION)} characters"
                self._add(Problem("result-dropped", seen), RESULT, None)
        return self._concluded(RESULT, [self._uses_result(one) for one in responses])

    def _accepts_null(self, calls: Sequence[Mapping[str, Any]]) -> bool:
        """Record if the second turn fails with `content: null` and not with an empty string. Return whether not."""
        request = replace(self._request(RESULT), messages=result_messages(calls, STATION), max_tokens=1)
        try:
            self._send(request, streamed=False)
        except ServerError as error:
            try:
                self._send(replace(request, messages=result_messages(calls, STATION, "")), streamed=False)
            except (NotAnswered, Unreadable, ServerError):
                return True  # it fails for another reason
            self._add(Problem("null-content-rejected", str(error)), RESULT, streamed=False)
            return False
        except (NotAnswered, Unreadable):
            return True
        return True

    def _uses_result(self, response: ServerResponse | str) -> ServerResponse | str:
        """Return the response, or why it does not show that the model got the result."""
        if isinstance(response, ServerResponse) and STATION not in response.content:
            return "the answer does not use the result"
        return response

    @property
    def _counts_tokens(self) -> bool:
        """Whether the numbers of prompt tokens depend on the prompt."""
        return len(self._counts - {0}) > 1

    def _compare_counts(self) -> None:
        """Record that the prompt has no tools, if it has as many tokens without them."""
        if self._counts_tokens and not self.has_calls and 0 < self._plain == self._with_tools:
            first = self.planned[0]
            if _DROPPED not in self.findings:
                self._add(Problem(_DROPPED, f"{self._plain} prompt tokens with and without tools"), first, None)
                self.checks[0] = self._concluded(first, ())


def _is_of(probe: Probe, where: str) -> bool:
    return where == probe.title or where.startswith(probe.title + ", ")
