"""One answer, parsed whole: a parser fed once. There is no second implementation."""

from __future__ import annotations

from collections.abc import Collection

from toolfmt.formats.format import ToolCallFormat
from toolfmt.formats.parser import Parser
from toolfmt.message import Message


def parse(
    text: str,
    format: str | ToolCallFormat,
    *,
    tools: object = None,
    prefix: str = "",
    strict: bool = False,
    taken_ids: Collection[str] = (),
) -> Message:
    """One answer of a model as a message.

    Takes the text, a format or its name, and what `Parser` takes. Content and reasoning that the prefix already holds
    of the answer (a continued message) belong to the message too. Raises `UnknownFormat` and `BadTools`; never on the
    text.
    """
    parser = Parser(format, tools=tools, prefix=prefix, strict=strict)
    return Message.from_events(
        [*parser.continued, *parser.feed(text), *parser.finish()], taken_ids, parser.format.call_id
    )
