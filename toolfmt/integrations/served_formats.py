"""The parsers that a server can choose by name, and the structural tags for their calls."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

from toolfmt.errors import CannotConstrain, ToolfmtError
from toolfmt.formats import ToolCallFormat, formats
from toolfmt.formats.parser.tokens.added_tokens import added_tokens
from toolfmt.messages.tools import tool_schemas

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class ServedParser:
    """A parser for a server.

    Attributes:
        format: Returns the format for a model directory or a repository id.
        whole_calls: Whether a call is sent after it has ended. Otherwise its arguments are streamed.
    """

    format: Callable[[str], ToolCallFormat]
    whole_calls: bool


def parsers() -> Mapping[str, ServedParser]:
    """Return the parsers by name: `toolfmt` finds the format of the model, `toolfmt_<format>` is for one format.

    `_streamed` is added to the names of those that stream arguments.
    """
    choices: dict[str, Callable[[str], ToolCallFormat]] = {"toolfmt": format_of_model}
    choices |= {f"toolfmt_{format.name}": partial(_chosen, format) for format in formats()}
    return {
        f"{name}{end}": ServedParser(choice, whole_calls)
        for name, choice in choices.items()
        for end, whole_calls in (("", True), ("_streamed", False))
    }


def _chosen(format: ToolCallFormat, model: str) -> ToolCallFormat:
    return format


@cache
def format_of_model(model: str) -> ToolCallFormat:
    """Return the format of a model's calls, in the variant of its template; computed once in a process.

    Args:
        model: A directory or a repository id.

    Raises:
        ToolfmtError: The model cannot be read, or its format is not known. The message names what to set instead.
    """
    from toolfmt.model.model import load
    from toolfmt.render.compiled_template import taught_format

    try:
        loaded = load(model)
        profile = loaded.profile
        if profile.tool_call_format is None:
            raise ToolfmtError(f"{model}: the tool-call format is not known ({profile.why_no_format})")
    except ToolfmtError as error:
        raise ToolfmtError(
            f"the parser toolfmt needs the format of the model: {error} (or set toolfmt_<format>)"
        ) from error
    format = taught_format(profile)
    if profile.format_shown:
        _log.info("toolfmt: calls of %s are parsed in the format %s", model, format.name)
    else:
        _log.warning(
            "toolfmt: the files of %s identify no tool-call format; using %s. Set toolfmt_<format> to choose one",
            model,
            format.name,
        )
    return format


def structural_tag(
    format: ToolCallFormat, tools: object, choice: Any, *, parallel: bool, tokenizer: Any = None
) -> str | None:
    """Return a structural tag that allows only valid calls, as JSON text.

    If the schemas cannot be constrained, log a warning and return None.

    Args:
        format: The format of the calls.
        tools: The tool definitions.
        choice: The request's `tool_choice`: `auto`, `required`, or an object with the tool to call.
        parallel: Whether several calls are allowed.
        tokenizer: The server's tokenizer, which knows the markers that are tokens.
    """
    from toolfmt.grammars.grammar import grammar

    tokens = {text: number for number, text in added_tokens(tokenizer).items()}
    named = getattr(choice, "function", choice)
    if not isinstance(named, str):  # only this tool is allowed, because it may have the name "auto"
        schemas = tool_schemas(tools)
        tools = [{"name": name, "parameters": schemas[name]} for name in schemas if name == named.name]
        choice = "required"
    try:
        made = grammar(format, tools, syntax="structural-tag", choice=choice, parallel=parallel, tokens=tokens)
    except CannotConstrain as error:
        _log.warning("toolfmt: the calls are parsed, but not constrained: %s", error)
        return None
    return made.text
