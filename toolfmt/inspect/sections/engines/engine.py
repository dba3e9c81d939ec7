"""What the section on portability needs of a template engine: a render of one request, and how it failed."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from toolfmt.inspect.report.wording import quote
from toolfmt.templates import ChatTemplate

LONGEST_TAG = 60
"""Maximum number of characters of the template in the report."""


@dataclass(frozen=True)
class EngineRequest:
    """A template and its variables, as passed to jinja2.

    `values` are of JSON's types, `tokens` are the special tokens that the template reads.
    """

    template: ChatTemplate
    values: Mapping[str, Any]
    tokens: Mapping[str, str]


class EngineFailure(Exception):
    """The engine rejects the template or the request.

    `construct` is the part of the template that fails, `line` its line, and `what` the engine's error.
    """

    def __init__(self, construct: str, line: int | None, what: str) -> None:
        super().__init__(what)
        self.construct, self.line, self.what = construct, line, what


class NotTried(Exception):
    """The engine hit a limit set here, which is not an error of the template."""


class Engine(Protocol):
    """A template engine."""

    name: str
    now: datetime | None
    """What the template's clock shows. None for the usual time of renders."""
    removes_generation_tags: bool
    """Whether `{% generation %}` is removed first, as some runtimes with this engine do."""

    def render(self, request: EngineRequest) -> str:
        """Return the prompt. Raises `EngineFailure` and `NotTried`."""
        ...

    def with_filter(self, name: str, function: Callable[..., Any]) -> Engine | None:
        """Return the engine with this filter instead of its own. None if a filter cannot be replaced."""
        ...


def tag_around(source: bytes, offset: int) -> str:
    """Return the tag of the template that contains this offset, shortened for the report."""
    opened = max(source.rfind(b"{%", 0, offset), source.rfind(b"{{", 0, offset))
    closing = [end for end in (source.find(b"%}", offset), source.find(b"}}", offset)) if end >= 0]
    if opened < 0 or not closing:
        return "the template"
    return quote(source[opened : min(closing) + 2].decode(errors="replace"), LONGEST_TAG)


def raised(template: ChatTemplate, message: str) -> EngineFailure:
    """Return the failure for an exception that the template raised itself with this message."""
    return EngineFailure("raise_exception", template.line_of(re.escape(message[:LONGEST_TAG])), quote(message))
