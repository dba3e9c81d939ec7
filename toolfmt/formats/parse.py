"""Parse complete outputs. Each is fed to a `Parser` in one piece; there is no second implementation.

`parse` parses one output, `parse_many` several, optionally in several processes. The command line parses a file of
outputs with `parse_each`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Iterator
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, TypeAlias

from toolfmt.formats.format import ToolCallFormat
from toolfmt.formats.parser.argument_check import Validate
from toolfmt.formats.parser.parser import Parser
from toolfmt.formats.tolerances import Tolerate
from toolfmt.messages.message import Message
from toolfmt.messages.tools import counting_tools

if TYPE_CHECKING:
    from concurrent.futures import Future

ParseJob: TypeAlias = tuple[str, object]
"""An output and the tools of its request, as `counting_tools` returns them, so that they can be sent to a process."""

_BATCH_SIZE = 64
"""The number of outputs sent to a process at a time. Sending one costs about as much as parsing it."""


def parse(
    text: str,
    format: str | ToolCallFormat,
    *,
    tools: object = None,
    prefix: str = "",
    strict: bool = False,
    tolerate: Tolerate = "all",
    validate: Validate | None = None,
    taken_ids: Collection[str] = (),
) -> Message:
    """Return a model's output as a message. Never raises because of the text.

    Content and reasoning that the prefix already contains (of a continued message) are part of the message too.

    Args:
        text: The complete output.
        format: A format or its name.
        tools: As for `Parser`.
        prefix: As for `Parser`.
        strict: As for `Parser`.
        tolerate: As for `Parser`.
        validate: As for `Parser`.
        taken_ids: The call ids already used in the conversation (`toolfmt.taken_ids`).

    Raises:
        UnknownFormat: There is no format of this name.
        BadTools: The tool definitions are not valid.
    """
    parser = Parser(format, tools=tools, prefix=prefix, strict=strict, tolerate=tolerate, validate=validate)
    events = [*parser.feed(text), *parser.finish()]
    return Message.from_events([*parser.continued, *events], taken_ids, parser.format.call_id)


def parse_many(
    texts: Iterable[str],
    format: str | ToolCallFormat,
    *,
    tools: object = None,
    prefix: str = "",
    strict: bool = False,
    tolerate: Tolerate = "all",
    processes: int = 1,
) -> list[Message]:
    """Return many outputs as messages, in the order of the texts. Each is what `parse` returns for it.

    Args:
        texts: The complete outputs.
        format: A format or its name.
        tools: As for `Parser`.
        prefix: As for `Parser`.
        strict: As for `Parser`.
        tolerate: As for `Parser`.
        processes: The number of processes that parse in parallel. As usual, a program that starts processes must do so
            below `if __name__ == "__main__"`.

    Raises:
        UnknownFormat: There is no format of this name.
        BadTools: The tool definitions are not valid.
        ValueError: There is less than one process.
        TypeError: `texts` is not a collection of strings, or `processes` is not an integer.
    """
    if isinstance(texts, (str, bytes)):
        raise TypeError("texts must be a collection of strings, not one string; use parse(text, format) for one")
    given = counting_tools(tools)
    known = Parser(
        format, tools=given, strict=strict, tolerate=tolerate
    ).format  # invalid arguments raise before the first text is consumed
    jobs = ((_text(text, position), given) for position, text in enumerate(texts))
    tolerate = "none" if strict else tolerate
    return list(parse_each(jobs, known, prefix=prefix, tolerate=tolerate, processes=processes))


def _text(text: object, position: int) -> str:
    if not isinstance(text, str):
        raise TypeError(f"texts[{position}] must be a string, not {type(text).__name__}; decode it or leave it out")
    return text


def parse_each(
    jobs: Iterable[ParseJob],
    format: ToolCallFormat,
    *,
    prefix: str = "",
    tolerate: Tolerate = "all",
    processes: int = 1,
) -> Iterator[Message]:
    """Yield the messages of outputs lazily, in order.

    With several processes, a limited number of outputs is parsed ahead, never all of them.

    Args:
        jobs: The outputs, each with its tools.
        format: The format.
        prefix: As for `Parser`.
        tolerate: As for `Parser`.
        processes: The number of processes, as for `parse_many`.

    Raises:
        BadTools: The tool definitions are not valid.
        ValueError: There is less than one process.
        TypeError: `processes` is not an integer.
    """
    if not isinstance(processes, int) or isinstance(processes, bool):
        raise TypeError(f"processes must be an integer of at least 1, not {processes!r}")
    if processes < 1:
        raise ValueError(f"processes must be at least 1, not {processes}")
    read = partial(_read, format=format, prefix=prefix, tolerate=tolerate)
    if processes == 1:
        yield from (message for job in jobs for message in read([job]))
        return
    from concurrent.futures import ProcessPoolExecutor

    waiting: deque[Future[list[Message]]] = deque()
    remaining = iter(jobs)
    with ProcessPoolExecutor(processes) as pool:
        while True:
            while len(waiting) < 4 * processes and (batch := list(islice(remaining, _BATCH_SIZE))):
                waiting.append(pool.submit(read, batch))
            if not waiting:
                return
            yield from waiting.popleft().result()


def _read(jobs: list[ParseJob], format: ToolCallFormat, prefix: str, tolerate: Tolerate) -> list[Message]:
    return [parse(text, format, tools=tools, prefix=prefix, tolerate=tolerate) for text, tools in jobs]
