"""Which formats another project's parsers are said to read, and what a target of the fuzz kit is made of.

The formats' own records tell (`ToolCallFormat.runtime_parsers`); nothing here names a format that is read, and nothing
here imports a project.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import metadata
from typing import Any, TypeAlias

from toolfmt.errors import CannotWrite
from toolfmt.formats import Call, ToolCallFormat, formats, write
from toolfmt.inspect.runtimes.parser_choice import reads

Tools: TypeAlias = Sequence[dict[str, Any]] | None
Make: TypeAlias = Callable[[Tools], Any]
Claims: TypeAlias = Mapping[str, tuple[str, ...]]
"""By a format's name the variants of it that a parser is said to read; the empty one is the format's own way."""

NOT_READ_ALONE = {
    ("vLLM", "gpt_oss"),  # vLLM reads the channels by itself, whatever parser it is given
    ("SGLang", "gpt_oss"),  # SGLang's reasoning parser takes the channels first
    ("SGLang", "internlm"),  # SGLang's expects the blank that a slow tokenizer puts between two special tokens
}
"""Runtimes and formats whose parser cannot be judged by the text of an answer alone."""
OTHER_VOCABULARY = {
    ("hunyuan_v3", "with :opensource"),
    ("hunyuan_v4", "without a suffix"),
    ("xml_function", "without a frame"),
}
"""Variants that no model writes beside the format's own: markers with a suffix or without, no frame."""
_CALL: Sequence[Call] = [("get_weather", {"city": "Paris"})]


@dataclass(frozen=True)
class Factory:
    """A target: called with tools it makes a reader of one answer."""

    name: str
    parser: str
    """What the project calls the parser."""
    variants: Claims
    package: str
    make: Make

    def __call__(self, tools: Tools = None) -> Any:
        """A reader of one answer. Raises `ImportError` where the project's package is missing."""
        return self.make(tools)

    @property
    def formats(self) -> tuple[str, ...]:
        """The formats that the parser is said to read, by name."""
        return tuple(self.variants)

    @cached_property
    def version(self) -> str:
        """The version of the installed package. Raises `ImportError` where there is none."""
        try:
            return metadata.version(self.package)
        except metadata.PackageNotFoundError as error:
            raise ImportError(f"{self.package} is not installed: pip install {self.package}") from error


def natives_of(format: ToolCallFormat, runtime: str) -> tuple[str, ...]:
    """The names of a runtime's own parsers for a format."""
    parser = format.runtime_parser(runtime)
    if parser is None or parser.only_in or (runtime, format.name) in NOT_READ_ALONE:
        return ()
    return parser.names


def claimed(runtime: str) -> dict[str, tuple[str, Claims]]:
    """What each of a runtime's parsers is said to read: by the name of a factory, the parser and one format with its
    variants. A parser of several formats has a factory for each, as a model's vocabulary has the markers of one; the
    first bears the parser's name alone.

    A format's record names its parsers; of several for one format each is for the variants that it was seen to read
    (`toolfmt.inspect.runtimes.parser_choice`). One that was seen to read none is for all of them.
    """
    claims: dict[str, tuple[str, Claims]] = {}
    for format in formats():
        variants = [variant for variant in ("", *format.variants) if (format.name, variant) not in OTHER_VOCABULARY]
        for parser in natives_of(format, runtime):
            read = [variant for variant in variants if _reads(runtime, parser, format.with_variant(variant))]
            name = python_name(parser)
            name = f"{name}_for_{format.name}" if name in claims else name
            claims[name] = (parser, {format.name: tuple(read or variants)})
    return dict(sorted(claims.items()))


def _reads(runtime: str, parser: str, format: ToolCallFormat) -> bool:
    try:
        return reads(runtime, parser, write(format, _CALL))
    except CannotWrite:
        return False


def python_name(parser: str) -> str:
    """A parser's name as one can be written in Python."""
    return "".join(sign if sign.isalnum() else "_" for sign in parser)


def by_name(factories: Iterable[Factory]) -> dict[str, Factory]:
    return {factory.name: factory for factory in factories}


def found(module: str, known: dict[str, Factory], name: str) -> Factory:
    """A module's factory of this name. Raises `AttributeError` that tells the names there are, as `getattr` is to."""
    if name in known:
        return known[name]
    told = "" if name.startswith("_") else f"; it has {', '.join(known)}"
    raise AttributeError(f"module {module!r} has no attribute {name!r}{told}")


def missing(module: str, package: str, error: Exception, way_out: str) -> ImportError:
    """The error for a package that is not there, or is another version than the adapter was written for."""
    return ImportError(f"{module} needs {package}: {way_out} ({error})")
