"""The parser: one output of a model, fed in chunks and emitted as events.

`feed` handles a chunk that lies inside the current text itself, and otherwise resumes the driver (`driver.py`), which
decides what the text means. `feed` and `finish` never raise because of the text; `feed` after `finish` is a
programming error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Literal, NoReturn

from toolfmt.formats.format import ToolCallFormat
from toolfmt.formats.parser.argument_check import ArgumentCheck, Validate
from toolfmt.formats.parser.copying import copy_of
from toolfmt.formats.parser.driver import Driver
from toolfmt.formats.parser.fallback import AUTO
from toolfmt.formats.parser.fast_path import pass_over, pass_over_joined
from toolfmt.formats.parser.prompt_prefix import answer_prefix
from toolfmt.formats.registry import resolved
from toolfmt.formats.scanner.literals import Literals, literals
from toolfmt.formats.tolerances import Tolerate, allowed_tolerances
from toolfmt.messages.events import Event, ToolCallArguments
from toolfmt.messages.tools import tool_schemas

_AFTER_FINISH = "feed() after finish(): a parser reads one output; create a new one for the next"


def _stop_strings(given: Iterable[str]) -> Literals | None:
    """Return the stop strings as literals; empty strings are ignored."""
    if isinstance(given, str):
        raise TypeError("stop must be a collection of strings, not a single string")
    strings = tuple(given)
    for one in strings:
        if not isinstance(one, str):
            raise TypeError(f"stop must contain strings, not {one!r}")
    return literals(*filter(None, strings)) if any(strings) else None


class Parser:
    """Parses one output of a model in one format. Never raises because of the text.

    Args:
        format: A format or its name; `auto` for calls in the syntax of any known format.
        tools: Tool definitions in any form of `toolfmt.messages.tools`. If None, any name is accepted; if empty, every
            call is rejected.
        prefix: The tail of the prompt, for an output that begins inside something, such as a reasoning block.
        strict: Reject calls that need a tolerance: the same as `tolerate="none"`.
        tolerate: The tolerances that may be applied: `"all"`, `"none"` or a collection of names
            (`toolfmt.formats.TOLERANCES`). A call that needs another one is rejected, with its name in `message`.
        validate: Checks the arguments of each complete call. It gets the name of the tool and the arguments as a dict,
            and returns why they are invalid, or None (`toolfmt.validator` makes one from tool definitions). An invalid
            call is rejected. It is called once for each call. Exceptions it raises propagate from `feed` or `finish`.
        stop: Strings at which the output ends, for runtimes that emit the text of the stop token.
        reasoning: `events` emits reasoning blocks as `Reasoning` events. `text` keeps them in the content, verbatim.

    Raises:
        UnknownFormat: There is no format of this name.
        BadTools: The tool definitions are not valid.
        TypeError: `format`, `prefix`, `tolerate`, `validate` or `stop` has the wrong type.
        ValueError: An option has an unknown value, or `strict` contradicts `tolerate`.
    """

    _finished = False
    _unstopped = ""
    """The end of the text, if it may be the beginning of a stop string."""

    def __init__(
        self,
        format: str | ToolCallFormat,
        *,
        tools: object = None,
        prefix: str = "",
        strict: bool = False,
        tolerate: Tolerate = "all",
        validate: Validate | None = None,
        stop: Iterable[str] | None = (),
        reasoning: Literal["events", "text"] = "events",
    ) -> None:
        if reasoning not in ("events", "text"):
            raise ValueError(f'reasoning must be "events" or "text", not {reasoning!r}')
        if not isinstance(prefix, str):
            raise TypeError(f"prefix must be the end of the prompt as a str, not {type(prefix).__name__}")
        if validate is not None and not callable(validate):
            raise TypeError(f"validate must be a function, not {type(validate).__name__}; see toolfmt.validator")
        self.format = AUTO if isinstance(format, str) and format == AUTO.name else resolved(format)
        schemas = None if tools is None else tool_schemas(tools)
        self._stop = _stop_strings(stop) if stop else None
        output_prefix = self._output_prefix(prefix) if prefix else ""
        allowed = None if tolerate == "all" and not strict else allowed_tolerances(tolerate, strict)
        verbatim = reasoning == "text"
        self._options: dict[str, Any] = {"prefix": output_prefix, "allowed": allowed, "verbatim": verbatim}
        self._schemas, self._validate = schemas, validate
        self._driver = Driver(self.format, schemas, **self._options, validate=validate)

    def _output_prefix(self, prefix: str) -> str:
        """Return the beginning of the output that is in the prompt."""
        known = self.format
        return answer_prefix(prefix, known.markers.output_starts, known.headers, known.reasoning_read)

    def feed(self, text: str) -> list[Event]:
        """Return the events that are certain after this chunk.

        Args:
            text: The next chunk of the output.

        Raises:
            RuntimeError: The parser is finished.
            TypeError: `text` is not a string.
        """
        if self._stop is not None:
            self._check(text)
            text, ended = self._before_stop(text, self._stop)
            if ended:
                return self._end_with(text)
        pending = self._driver.waiting
        if pending is None or not text:
            return self._read(text)
        scan, span = pending.scan, pending.span
        try:
            if scan.text or pending.outer:
                events = pass_over_joined(pending, text)
                return self._read(text) if events is None else events
            trigger = span.trigger
            found = None if trigger and trigger not in text and text[-1] not in span.before else span.may_end(text)
            if found is not None:
                events = pass_over(pending, text, found)
                return self._read(text) if events is None else events
            kind = pending.kind
            if kind is None:
                emitted = text if span.encode is None else span.encode(text)
        except TypeError:
            self._check(text)
            raise
        # From here on this is `pass_over` for a chunk that cannot end the span, which most chunks are.
        start = scan.offset
        scan.offset = start + len(text)
        if kind is not None:
            pending.seen(text)  # type: ignore[misc]  # text has it
            return [kind(text, start)]
        scan.kept.append(text)
        pending.fragments.append(emitted)  # type: ignore[union-attr]  # arguments have them
        return [ToolCallArguments(pending.calls.index, emitted)] if pending.emits else []  # type: ignore[union-attr]  # it has them

    def _read(self, text: str) -> list[Event]:
        """Resume the driver with a chunk."""
        driver = self._driver
        if driver.scan.closed or not isinstance(text, str):
            self._check(text)
            return driver.go_on()  # a stop string has ended the output
        driver.scan.append(text)
        return driver.go_on()

    def _end_with(self, text: str) -> list[Event]:
        """Feed the last text before a stop string."""
        self._stop = None
        driver = self._driver
        driver.scan.append(text)
        driver.advance()
        driver.scan.closed = True
        return driver.go_on()

    def _check(self, text: object) -> None:
        if self._finished:
            raise RuntimeError(_AFTER_FINISH)
        if not isinstance(text, str):
            raise TypeError(f"feed() takes a str, not {type(text).__name__}")

    def finish(self, *, cut: bool = False) -> list[Event]:
        """Return the events that were held back, at the end of the output. A second call returns nothing.

        Args:
            cut: The runtime stopped the model, for example at its token limit. An open call is then
                `incomplete_output`, even if only its end marker is missing.
        """
        scan = self._driver.scan
        closed, self._finished = scan.closed, True
        if closed:
            return self._driver.go_on()  # empty, unless `validate` raised an exception
        if self._unstopped:
            scan.append(self._unstopped)
            self._unstopped = ""
        if cut and scan.text:
            self._driver.advance()  # an error in what the fast path left is certain
        scan.closed, scan.cut = True, cut
        return self._driver.go_on()

    def _before_stop(self, text: str, stop: Literals) -> tuple[str, bool]:
        """Return the text that can be parsed, and whether a stop string ends the output there.

        A stop string that is a marker of the format, such as the end marker of a call, is parsed too.
        """
        if not self._unstopped and stop.may_end(text) is None:
            return text, False
        text = self._unstopped + text
        begin, literal = stop.search(text, 0, False) or (len(text), "")
        self._unstopped = "" if literal else text[begin:]
        return text[: begin + len(literal) if literal in self.format.markers.output_literals else begin], bool(literal)

    def copy(self) -> Parser:
        """Return an independent parser in the same state. This costs at most the length of the open call."""
        twin = object.__new__(Parser)
        twin.__dict__.update(self.__dict__)
        twin._driver = copy_of(self._driver)
        return twin

    @property
    def continued(self) -> list[Event]:
        """The content and reasoning of this output that the prefix already contains.

        The end of the prefix may be the start of a marker. Such text is added once the output decides it.
        """
        return self._driver.continued

    @property
    def ended(self) -> bool:
        """Whether the output has ended, by a stop string or by `finish`.

        After a stop string, `feed` returns no events.
        """
        return self._driver.scan.closed

    @property
    def waiting_for(self) -> str:
        """A sentence that describes what the parser is currently inside of."""
        return self._driver.waiting_for(self._unstopped)

    __copy__ = copy

    def __deepcopy__(self, memo: object) -> Parser:
        return self.copy()

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a Parser has state that cannot be pickled: "
            "send the text that it was fed, or use copy() in the same process"
        )

    @property
    def scanned_characters(self) -> int:
        """The number of characters examined so far, repetitions included: a small multiple of the input."""
        return self._driver.scan.scanned + self._driver.scan.position


def stop_strings(parser: Parser) -> frozenset[str]:
    """Return the strings at which the output of a new parser ends."""
    return parser._stop.literals if parser._stop else frozenset()


def for_tokens(
    parser: Parser, tokens: frozenset[str], change_prefix: Callable[[str], str]
) -> tuple[Parser, ArgumentCheck | None]:
    """Return a new parser with the options of another one, and its check of the arguments, which the caller applies.

    The new parser ends each call to check with an `UncheckedEnd`.

    Args:
        parser: A parser that was not fed.
        tokens: If not empty, a call must start with a marker that contains one of these strings.
        change_prefix: Returns the prefix to parse, for the parser's own, which is as long.

    Raises:
        ValueError: The parser was already fed.
    """
    scan = parser._driver.scan
    if parser._finished or parser._unstopped or scan.closed or scan.offset + len(scan.text):
        raise ValueError("the parser was already fed; pass a new one")
    twin = object.__new__(Parser)
    twin.__dict__.update(parser.__dict__)
    options = {**parser._options, "prefix": change_prefix(parser._options["prefix"])}
    driver = Driver(parser.format, parser._schemas, **options, validate=parser._validate, tokens=tokens)
    check, driver.check = driver.check, None
    twin._driver = driver
    return twin, check
