"""The jinja2 environment that chat templates are written for, as Hugging Face documents it.

`ChatTemplate` parses, compiles and renders in it. What a template sees here is byte for byte what it sees under
transformers 5.23 (tests/templates/test_templates_transformers.py), with one addition: the clock is a parameter, see
`clock`.
The sandbox stops a template from reaching Python's internals; it does not bound what a template costs.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING, Any, NoReturn

import jinja2
from jinja2 import nodes
from jinja2.ext import Extension, loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import Namespace

if TYPE_CHECKING:
    from jinja2.parser import Parser
    from jinja2.runtime import Context

LONGEST_OUTPUT = 10_000_000
"""The most characters a rendered prompt may have, two hundred times the longest real template."""
_NOT_A_LINE_BREAK = re.compile(r"[^\r\n]")
_MOST_BITS = 1 << 20
_WIDTH = re.compile(r"[1-9][0-9]{7,}")


class Refusal(jinja2.TemplateError):
    """The template called `raise_exception`: it will not render this conversation, and says why."""


class TooMuch(Exception):
    """An operator whose result would be larger than any prompt; `limit` is what it would use up."""

    def __init__(self, message: str, limit: str) -> None:
        super().__init__(message)
        self.limit = limit


@cache
def environment() -> ImmutableSandboxedEnvironment:
    """The one environment; nothing changes it after it is built, so every template shares it."""
    built = _Sandbox(trim_blocks=True, lstrip_blocks=True, extensions=[_GenerationBlock, loopcontrols])
    built.filters["tojson"] = _tojson
    built.globals["raise_exception"] = _raise_exception
    built.globals["dict"] = _TemplateDict()
    built.globals["namespace"] = _TemplateNamespace
    return built


def lexed(source: str) -> list[tuple[str, str]]:
    """The source cut as the environment does before it parses: the kind of each stretch, and its text.

    Empty where it cannot be cut. Evaluates nothing.
    """
    try:
        return [(kind, text) for _, kind, text in environment().lex(source)]
    except jinja2.TemplateError:
        return []


def without_comments(source: str) -> str:
    """Return the source with spaces in place of its comments, line breaks kept: each line stays where it is."""
    begin, kept, offset = "", [], 0
    for kind, text in lexed(source):
        if kind == "comment_begin":
            begin = text
        elif kind == "comment":
            at = source.find(begin + text, offset)
            end = at + len(begin + text)
            kept += [source[offset:at], _NOT_A_LINE_BREAK.sub(" ", source[at:end])]
            offset = end
    return "".join(kept) + source[offset:]


def clock(now: datetime) -> Callable[[str], str]:
    """The `strftime_now` of a render that happens at `now`."""
    return lambda format: now.strftime(format)


def plain(value: Any) -> Any:
    """The value rebuilt from plain JSON types, so that a template meets no method but those of JSON's own types.

    Subclasses become their base type, dataclasses and pydantic models objects; anything else (an image, an array)
    becomes its type's name in angle brackets, since templates only ask whether such a value is there.
    """
    kind = type(value)
    if value is None or kind in (str, int, float, bool):
        return value
    if kind is dict:
        return {
            key if type(key) is str else plain(key): item if type(item) is str else plain(item)
            for key, item in value.items()
        }
    if kind is list:
        return [plain(item) for item in value]
    for base in (str, int, float):
        if isinstance(value, base):
            return getattr(base, f"__{base.__name__}__")(value)
    if isinstance(value, Mapping):
        return {plain(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return (list if isinstance(value, list) else tuple)(plain(item) for item in value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if callable(getattr(value, "model_dump", None)):
        return plain(value.model_dump())
    return f"<{type(value).__name__}>"


class _GenerationBlock(Extension):
    """`{% generation %}`: marks what the assistant wrote, for training masks; the text passes through unchanged."""

    tags = {"generation"}  # noqa: RUF012 - jinja2 declares it an instance variable

    def parse(self, parser: Parser) -> nodes.Node:
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        # A call block, as under transformers: `set` inside does not reach out of it, nor can `break` leave a loop.
        return nodes.CallBlock(self.call_method("_pass_through"), [], [], body, lineno=line)

    def _pass_through(self, caller: Callable[[], str]) -> str:
        return caller()


class _Sandbox(ImmutableSandboxedEnvironment):
    """The sandbox with a look at operators whose cost is out of proportion to their length.

    jinja2 folds no constants of intercepted operators, so `'a' * 10**10` costs nothing where it is only compiled. This
    is no bound on what a template costs (methods and loops cost as much), only the cheapest part of one.
    """

    intercepted_binops = frozenset({"*", "**", "%"})

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        _check_size(operator, left, right)
        return super().call_binop(context, operator, left, right)


def _check_size(operator: str, left: Any, right: Any) -> None:
    match operator:
        case "*":
            for sequence, times in ((left, right), (right, left)):
                if isinstance(sequence, (str, list, tuple)) and isinstance(times, int):
                    if len(sequence) * times > LONGEST_OUTPUT:
                        raise TooMuch(f"a string or list repeated {times:,} times", "memory")
        case "**":
            if isinstance(left, int) and isinstance(right, int) and left.bit_length() * right > _MOST_BITS:
                raise TooMuch(f"a number to the power of {_shortly(right)}", "CPU time")
        case "%":
            if isinstance(left, str) and any(int(width) > LONGEST_OUTPUT for width in _WIDTH.findall(left)):
                raise TooMuch("a string padded beyond the length of any prompt", "memory")


def _shortly(number: int) -> str:
    return f"{number:,}" if number.bit_length() < 64 else "a number of more than 19 digits"


class _TemplateDict:
    """`dict` for templates: it builds dictionaries and has no attribute that leads further."""

    def __call__(self, *args: Any, **kwargs: Any) -> dict[Any, Any]:
        return dict(*args, **kwargs)

    def fromkeys(self, keys: Iterable[Any], *default: Any) -> dict[Any, Any]:
        return dict.fromkeys(keys, *default)


class _TemplateNamespace(Namespace):
    """`namespace` for templates: attributes that begin with an underscore are refused."""

    def __init__(self, /, *args: Any, **kwargs: Any) -> None:
        attributes = dict(*args, **kwargs)
        for name in attributes:
            _refuse_underscore(name)
        super().__init__(attributes)

    def __setitem__(self, name: str, value: Any) -> None:
        _refuse_underscore(name)
        super().__setitem__(name, value)


def _refuse_underscore(name: object) -> None:
    if isinstance(name, str) and name.startswith("_"):
        raise jinja2.exceptions.SecurityError(
            f"a namespace takes no attribute that begins with an underscore: {name!r}"
        )


def _tojson(
    value: Any, ensure_ascii: bool = False, indent: Any = None, separators: Any = None, sort_keys: bool = False
) -> str:
    # jinja2's own filter escapes HTML and sorts keys; a prompt is neither HTML nor sorted.
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def _raise_exception(message: object) -> NoReturn:
    # As text here, not where it is reported: the text of a value can fail too (an integer of 5,000 digits).
    raise Refusal(str(message))
