"""Compile a model's template, and find the format of its calls."""

from __future__ import annotations

from functools import lru_cache

from toolfmt.errors import OF_THE_PROCESS, TemplateError
from toolfmt.formats import ToolCallFormat, default_format
from toolfmt.inspect.report.template_profile import TemplateProfile
from toolfmt.templates import ChatTemplate, ModelFiles, TemplateSource

_MOST_COMPILED = 16
"""Compiling a template takes a hundred times as long as rendering it."""


def compiled(files: ModelFiles, source: TemplateSource) -> ChatTemplate:
    """Return the compiled template, whose errors name the file. Raises `TemplateError` if it does not parse."""
    return _compiled(source.text, tuple(files.special_tokens.items()), files.where(source))


@lru_cache(maxsize=_MOST_COMPILED)
def _compiled(text: str, special_tokens: tuple[tuple[str, str], ...], origin: str) -> ChatTemplate:
    try:
        return ChatTemplate(text, dict(special_tokens), origin=origin)
    except TemplateError as error:
        raise TemplateError(with_way_out(str(error)), error.line, error.kind, error.engine_message) from None


def check_limit(files: ModelFiles, profile: TemplateProfile) -> None:
    """Raise `TemplateError` if the template hit a limit when it was probed."""
    failure = profile.failure
    if failure is not None and failure.limit:
        line = "" if failure.line is None else f" (line {failure.line})"
        trusted = " (trusted=True, or --trusted, renders it without limits)" if failure.limit in OF_THE_PROCESS else ""
        raise TemplateError(f"{files.directory}: {failure.message}{line}; it is not rendered{trusted}")


def with_way_out(error: str) -> str:
    """Return the error and what to do. Some of jinja2's errors end with a full stop."""
    return f"{error.rstrip('.')}; fix the template or copy it again from the repository of the original model"


def taught_format(profile: TemplateProfile) -> ToolCallFormat:
    """Return the format for describing and writing calls: the model's, in its template's variant, or the default."""
    known = profile.tool_call_format
    return default_format() if known is None else known.with_variant(profile.variant)
