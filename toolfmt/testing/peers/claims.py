"""Which formats the parsers of other projects support, and the class of fuzz kit targets.

The data come from the formats' own records (`ToolCallFormat.runtime_parsers`). This module names no supported format
and imports no project.
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
"""By format name, the variants that a parser supports. The empty one is the format's own."""

NOT_READ_ALONE = {
    ("vLLM", "gpt_oss"),  # vLLM parses the channels itself, whatever parser is configured
    ("SGLang", "gpt_oss"),  # SGLang's reasoning parser consumes the channels first
    ("SGLang", "internlm"),  # SGLang's expects the space that a slow tokenizer puts between two special tokens
}
"""Runtimes and formats whose parser cannot be judged by the text of an output alone."""
OTHER_VOCABULARY = {
    ("hunyuan_v3", "with :opensource"),
    ("hunyuan_v4", "without a suffix"),
    ("xml_function", "without a frame"),
}
"""Variants that no model uses together with the format's own: markers with or without a suffix, no markers."""
_CALL: Sequence[Call] = [("get_weather", {"city": "Paris"})]


@dataclass(frozen=True)
class Factory:
    """A target: call it with tools to create a reader of one output."""

    name: str
    parser: str
    """The project's name for the parser."""
    variants: Claims
    package: str
    make: Make

    def __call__(self, tools: Tools = None) -> Any:
        """Return a reader of one output. Raises `ImportError` if the project's package is missing."""
        return self.make(tools)

    @property
    def formats(self) -> tuple[str, ...]:
        """The names of the formats that the parser supports."""
        return tuple(self.variants)

    @cached_property
    def version(self) -> str:
        """The version of the installed package. Raises `ImportError` if it is not installed."""
        try:
            return metadata.version(self.package)
        except metadata.PackageNotFoundError as error:
            raise ImportError(f"{self.package} is not installed: pip install {self.package}") from error


def natives_of(format: ToolCallFormat, runtime: str) -> tuple[str, ...]:
    """Return the names of a runtime's own parsers for a format."""
    parser = format.runtime_parser(runtime)
    if parser is None or parser.only_in or (runtime, format.name) in NOT_READ_ALONE:
        return ()
    return parser.names


def claimed(runtime: str) -> dict[str, tuple[str, Claims]]:
    """Return what each of a runtime's parsers supports: by factory name, the parser and one format with its variants.

    A parser of several formats has a factory for each, because a model's vocabulary has only the markers of one. The
    first factory has only the parser's name. A format's record lists its parsers. If there are several, each is for the
    variants that it was verified to parse (`toolfmt.inspect.runtimes.parser_choice`), or for all if there are none.
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
    """Return a parser's name as a Python identifier."""
    return "".join(character if character.isalnum() else "_" for character in parser)


def by_name(factories: Iterable[Factory]) -> dict[str, Factory]:
    return {factory.name: factory for factory in factories}


def found(module: str, known: dict[str, Factory], name: str) -> Factory:
    """Return a module's factory of this name. Raises `AttributeError`, like `getattr`, with the existing names."""
    if name in known:
        return known[name]
    hint = "" if name.startswith("_") else f"; it has {', '.join(known)}"
    raise AttributeError(f"module {module!r} has no attribute {name!r}{hint}")


def missing(module: str, package: str, error: Exception, way_out: str) -> ImportError:
    """Return the error for a package that is missing or has another version than the adapter supports."""
    return ImportError(f"{module} needs {package}: {way_out} ({error})")
