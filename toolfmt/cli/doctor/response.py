"""A response of a server in one form for all protocols, with the problems that its protocol's reader found."""

from __future__ import annotations

from dataclasses import dataclass, field

_MOST_CALLS = 100
"""Maximum number of calls in a response. No request asks for more than two."""


@dataclass(frozen=True)
class Problem:
    """What is wrong with a response.

    Attributes:
        name: The name of the finding, a key of `explanations.EXPLANATIONS`.
        seen: What was seen, from the server. Untrusted text.
        format: The name of the tool-call format that the server should have parsed; empty if that is not the problem.
    """

    name: str
    seen: str = ""
    format: str = ""


@dataclass
class ResponseCall:
    """A call of a response. A stream sends the arguments in `fragments`; a whole response has one."""

    id: str
    name: str
    fragments: list[str] = field(default_factory=list)

    @property
    def arguments(self) -> str:
        """The JSON text of the arguments."""
        return "".join(self.fragments)


@dataclass
class ServerResponse:
    """A whole response, or what the chunks of a stream add up to.

    Attributes:
        finish: Why it ended, as OpenAI names it: `stop`, `tool_calls`, `length`, another reason, or None.
        prompt_tokens: The tokens of the prompt; 0 if the server does not count them.
        completion_tokens: The same for the response.
    """

    streamed: bool
    content: str = ""
    reasoning: str = ""
    calls: list[ResponseCall] = field(default_factory=list)
    finish: str | None = None
    prompt_tokens: int = 0
    completion_tokens: int = 0
    problems: list[Problem] = field(default_factory=list)

    def report(self, name: str, seen: str = "") -> None:
        """Record a problem, once."""
        if all(problem.name != name for problem in self.problems):
            self.problems.append(Problem(name, seen))

    @property
    def cut(self) -> bool:
        """Whether the token limit ended it."""
        return self.finish == "length"

    def add_call(self, call: ResponseCall) -> ResponseCall:
        """Add a call and return it. Raises `Unreadable` for more calls than a model makes."""
        if len(self.calls) == _MOST_CALLS:
            raise Unreadable(f"unreadable response: it has more than {_MOST_CALLS} calls")
        self.calls.append(call)
        return call


class Unreadable(Exception):
    """A response is not one of its protocol. The message is one line with the reason."""


class ServerError(Exception):
    """The server reported an error: its status (200 inside of a stream), and its message in one line."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"{status} {message}" if status != 200 else message)
        self.status, self.message = status, message
