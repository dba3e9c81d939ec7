"""The jinja2 environment for chat templates, as documented by Hugging Face.

`ChatTemplate` parses, compiles and renders in it. A template sees exactly what it sees in transformers 5.23
(tests/templates/test_templates_transformers.py), except that the clock is a parameter (`clock`). The sandbox prevents
access to Python's internals. It does not limit time and memory.
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
"""Maximum number of characters in a rendered prompt, two hundred times the longest real template."""
_NOT_A_LINE_BREAK = re.compile(r"[^\r\n]")
_MOST_BITS = 1 << 20
_DICT_ATTRIBUTES = frozenset(dir(dict))
_WIDTH = re.compile(r"[1-9][0-9]{7,}")


class RaisedByTemplate(jinja2.TemplateError):
    """The template called `raise_exception` with this message: it does not render this conversation."""


class TooMuch(Exception):
    """The result of an operator would be larger than any prompt. `limit` is the limit that it would exceed."""

    def __init__(self, message: str, limit: str) -> None:
        super().__init__(message)
        self.limit = limit


@cache
def environment() -> ImmutableSandboxedEnvironment:
    """Return the shared environment. It is never modified after it is created."""
    built = _Sandbox(trim_blocks=True, lstrip_blocks=True, extensions=[_GenerationBlock, loopcontrols])
    built.filters["tojson"] = _tojson
    built.globals["raise_exception"] = _raise_exception
    built.globals["dict"] = _TemplateDict()
    built.globals["namespace"] = _TemplateNamespace
    return built


def lexed(source: str) -> list[tuple[str, str]]:
    """Return the tokens of the source as the environment lexes it: kind and text of each. Evaluates nothing.

    Empty if the source cannot be lexed.
    """
    try:
        return [(kind, text) for _, kind, text in environment().lex(source)]
    except jinja2.TemplateError:
        return []


def without_comments(source: str) -> str:
    """Return the source with comments replaced by spaces. Line breaks stay, so line numbers do not change."""
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
    """Return the `strftime_now` for a render at time `now`."""
    return lambda format: now.strftime(format)


def plain(value: Any) -> Any:
    """Return the value rebuilt from plain JSON types, so that a template sees only methods of these types.

    Subclasses become their base type. Dataclasses and pydantic models become objects. Any other value (an image, an
    array) becomes its type's name in angle brackets, because templates only test whether it exists.
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
    """`{% generation %}`: marks assistant text for training masks. The text is not changed."""

    tags = {"generation"}  # noqa: RUF012 - jinja2 declares it an instance variable

    def parse(self, parser: Parser) -> nodes.Node:
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        # A call block, as in transformers: `set` inside is local, and `break` cannot leave a surrounding loop.
        return nodes.CallBlock(self.call_method("_pass_through"), [], [], body, lineno=line)

    def _pass_through(self, caller: Callable[[], str]) -> str:
        return caller()


class _Sandbox(ImmutableSandboxedEnvironment):
    """The sandbox, with checks of operators that are disproportionately expensive.

    jinja2 does not fold constants of intercepted operators, so compiling `'a' * 10**10` is cheap. This does not limit
    the cost of a template (methods and loops can cost as much).
    """

    intercepted_binops = frozenset({"*", "**", "%"})

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        _check_size(operator, left, right)
        return super().call_binop(context, operator, left, right)

    def getattr(self, obj: Any, attribute: str) -> Any:
        """Return what jinja2 returns, but find the key of a dict directly. jinja2 first raises an AttributeError."""
        if type(obj) is dict and attribute in obj and attribute not in _DICT_ATTRIBUTES:
            return obj[attribute]
        return super().getattr(obj, attribute)


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
    """`dict` for templates: creates dictionaries, without attributes that lead further."""

    def __call__(self, *args: Any, **kwargs: Any) -> dict[Any, Any]:
        return dict(*args, **kwargs)

    def fromkeys(self, keys: Iterable[Any], *default: Any) -> dict[Any, Any]:
        return dict.fromkeys(keys, *default)


class _TemplateNamespace(Namespace):
    """`namespace` for templates: rejects attributes that begin with an underscore."""

    def __init__(self, /, *args: Any, **kwargs: Any) -> None:
        attributes = dict(*args, **kwargs)
        for name in attributes:
            _reject_underscore(name)
        super().__init__(attributes)

    def __setitem__(self, name: str, value: Any) -> None:
        _reject_underscore(name)
        super().__setitem__(name, value)


def _reject_underscore(name: object) -> None:
    if isinstance(name, str) and name.startswith("_"):
        raise jinja2.exceptions.SecurityError(
            f"a namespace takes no attribute that begins with an underscore: {name!r}"
        )


def _tojson(
    value: Any, ensure_ascii: bool = False, indent: Any = None, separators: Any = None, sort_keys: bool = False
) -> str:
    # jinja2's own filter escapes HTML and sorts keys; prompts need neither.
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def _raise_exception(message: object) -> NoReturn:
    # Converted here, because converting a value can fail too (an integer of 5,000 digits).
    raise RaisedByTemplate(str(message))
