"""Names of the tolerances that `ToolCallEnd.tolerated` lists, with their meaning, and which of them a caller allows."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping, Set
from types import MappingProxyType
from typing import Literal, TypeAlias

Tolerate: TypeAlias = Literal["all", "none"] | Collection[str]
"""The tolerances that may be applied: all, none, or these names."""

TOLERANCES: Mapping[str, str] = MappingProxyType(
    {
        # the frame around calls
        "missing_opener": "the start marker of the frame, a key or a value is missing",
        "repeated_opener": "a start marker of the frame, a key or a value appears twice",
        "missing_closer": "the end marker of a key, the call, its list or the frame is missing",
        "repeated_closer": "the end marker of a key or a value appears twice",
        "missing_header": "the header of the message with the call is missing",
        "missing_prefix": "the keyword before the name is missing",
        "missing_brackets": "the brackets around the list of calls are missing",
        "missing_separator": "the separator between two calls, or between name and arguments, is missing",
        "other_separator": "the separator between two calls is not the one of the format",
        "missing_fence": "the Markdown code fence of the format is missing or not closed",
        "markdown_fence": "the call is in a Markdown code fence, which is not part of the format",
        "list_of_calls": "several calls appear in one place where the format has a single call",
        "text_behind_closer": "text follows the end marker of a value, or the list of calls, where the format has none",
        "text_in_frame": "text precedes or follows the call inside the frame",
        "repeated_call": "the text of the frame is repeated directly after it",
        "residue": "trailing markers follow the call: a closing brace, an empty frame or a code fence",
        "repaired_markers": "the markers are a variant from another model or runtime",
        "other_notation": "a part of the call is in the syntax of another format",
        "foreign_format": "the call is in the syntax of another format",
        "other_blanks": "non-breaking spaces appear in place of regular spaces",
        "other_attributes": "a tag has attributes that are not part of the format",
        "damaged_attribute": "the name or key in a tag is malformed, but matches a declared one",
        # name and id
        "repaired_name": "the name matches no tool exactly, but can be matched to a declared one",
        "quoted_name": "the name is in quotes",
        "other_recipient": "the message is addressed to a different recipient than the tool it calls",
        "missing_id": "the id, or the number in it, is missing",
        "empty_id": "the id is an empty string",
        # the members of a call's object
        "name_key": "the name is under the key `name`, but the format uses another key",
        "tool_name_key": "the name is under the key `tool_name`",
        "function_key": "the name is under the key `function`",
        "arguments_key": "the arguments are under the key `arguments`, but the format uses another key",
        "parameters_key": "the arguments are under the key `parameters`, but the format uses another key",
        "other_arguments_key": "the arguments are under another key: `args`, `params` or `input`",
        "flattened_arguments": "the arguments are next to the name instead of in an object of their own",
        "missing_arguments": "the arguments are missing",
        "arguments_before_name": "the arguments come before the name",
        "arguments_as_string": "the arguments are a JSON string that contains an object",
        "function_wrapper": "name and arguments are in an object under the key `function`, `tool_call` or similar",
        "tool_calls_key": "the calls are in a list under the key `tool_calls`",
        "nested_call": "the arguments contain the whole object of the call",
        "extra_key": "the object has a key that is not part of a call",
        "other_type": "a member or a value has a type that the format or the schema does not allow",
        # arguments
        "positional_arguments": "arguments are given without keys",
        "positional_object": "a single object takes the place of the arguments",
        "duplicate_key": "a key appears twice with the same value",
        "unquoted_key": "a key is not in quotes",
        "quoted_key": "a key is in quotes inside its tag",
        "missing_value_closer": "the end marker of a value is missing, but what follows shows where the value ends",
        "unclosed_tag": "a value contains a tag that is not closed",
        # values
        "single_quotes": "a string is in single quotes where the format uses double quotes",
        "plain_quotes": "a string is in plain quotes where the format uses markers of its own",
        "unescaped_quote": "a quote inside a string is not escaped",
        "unquoted_string": "a string is not in quotes",
        "quoted_value": "a value that is not a string is in quotes",
        "joined_strings": "several adjacent strings are joined into one",
        "invalid_escape": "a backslash does not start a valid escape sequence",
        "raw_newline": "a string contains an unescaped line break or another control character",
        "trailing_comma": "a comma precedes a closing bracket",
        "python_literal": "a value uses Python syntax: `True`, `None`, `1_000`, `.5`",
        "leading_zeros": "an integer has leading zeros",
        "other_case": "a literal has unusual capitalization: `FALSE`",
        "tuple": "a tuple is read as a list",
        "set": "a set is read as a list",
    }
)
"""Every tolerance that `ToolCallEnd.tolerated` can contain, with its meaning. Strict parsing rejects such calls."""

EXPECTED: Mapping[str, str] = MappingProxyType(
    {
        "missing_opener": "the start marker",
        "repeated_opener": "only one start marker",
        "missing_closer": "the end marker",
        "repeated_closer": "only one end marker",
        "missing_header": "the header of the message",
        "missing_prefix": "the keyword before the name",
        "missing_brackets": "the brackets around the list of calls",
        "missing_separator": "the separator of the format",
        "other_separator": "the separator of the format",
        "missing_fence": "the code fence of the format",
        "markdown_fence": "the call without a code fence",
        "list_of_calls": "a single call",
        "text_behind_closer": "nothing after the end marker",
        "text_in_frame": "only the call in the frame",
        "repeated_call": "nothing after the frame",
        "residue": "nothing after the call",
        "repaired_markers": "the markers of the format",
        "other_notation": "the syntax of the format",
        "foreign_format": "the syntax of the format",
        "other_blanks": "a regular space",
        "other_attributes": "a tag without other attributes",
        "damaged_attribute": "a well-formed name or key",
        "repaired_name": "the exact name of a declared tool",
        "quoted_name": "the name without quotes",
        "other_recipient": "a call to the tool that the message is addressed to",
        "missing_id": "the id of the call",
        "empty_id": "an id that is not empty",
        "name_key": "the format's key for the name",
        "tool_name_key": "the format's key for the name",
        "function_key": "the format's key for the name",
        "arguments_key": "the format's key for the arguments",
        "parameters_key": "the format's key for the arguments",
        "other_arguments_key": "the format's key for the arguments",
        "flattened_arguments": "the arguments in an object of their own",
        "missing_arguments": "the arguments",
        "arguments_before_name": "the name before the arguments",
        "arguments_as_string": "the arguments as an object",
        "function_wrapper": "the name and the arguments without an object around them",
        "tool_calls_key": "the calls without the key 'tool_calls'",
        "nested_call": "only the arguments",
        "extra_key": "only the keys of a call",
        "other_type": "a value of the right type",
        "positional_arguments": "a key before the value",
        "positional_object": "arguments with keys",
        "duplicate_key": "each key only once",
        "unquoted_key": "a key in quotes",
        "quoted_key": "a key without quotes",
        "missing_value_closer": "the end marker of the value",
        "unclosed_tag": "an end tag for the tag in the value",
        "single_quotes": "a string in double quotes",
        "plain_quotes": "the string markers of the format",
        "unescaped_quote": "an escaped quote",
        "unquoted_string": "a string in quotes",
        "quoted_value": "a value without quotes",
        "joined_strings": "a single string",
        "invalid_escape": "a valid escape sequence",
        "raw_newline": "an escaped control character",
        "trailing_comma": "no comma before the closing bracket",
        "python_literal": "a JSON value",
        "leading_zeros": "an integer without leading zeros",
        "other_case": "a literal in lowercase",
        "tuple": "a list",
        "set": "a list",
    }
)
"""For every tolerance, what strict parsing expects instead (`ToolCallRejected.expected`)."""


def kind_of(name: str) -> str:
    """Return the name in `TOLERANCES` of a tolerance that names another format after a colon, or the name itself."""
    return name.partition(":")[0]


def problem_of(name: str) -> str:
    """Return what is wrong with a call that needs a tolerance, with the name of the tolerance."""
    return f"{TOLERANCES.get(kind_of(name), 'the call needs a tolerance')} ({name})"


def allowed_tolerances(tolerate: Tolerate, strict: bool) -> frozenset[str] | None:
    """Return the names of the tolerances that may be applied; None for all.

    Args:
        tolerate: All, none, or a collection of names.
        strict: The same as `"none"`.

    Raises:
        TypeError: It is not a collection of names.
        ValueError: A name is unknown, or `strict` contradicts `tolerate`.
    """
    if isinstance(tolerate, str):
        if tolerate not in ("all", "none"):
            hint = f"; pass [{tolerate!r}]" if tolerate in TOLERANCES else ""
            raise ValueError(f'tolerate must be "all", "none" or a collection of names, not {tolerate!r}{hint}')
        names = frozenset(TOLERANCES if tolerate == "all" and not strict else ())
    elif isinstance(tolerate, Collection):
        known = isinstance(tolerate, Set) and tolerate <= TOLERANCES.keys()
        names = frozenset(tolerate if known else map(_known, tolerate))
        if strict and names:
            raise ValueError("strict=True allows no tolerance; leave out strict or tolerate")
    else:
        raise TypeError(f"tolerate must be a collection of names, not {type(tolerate).__name__}")
    return None if names == TOLERANCES.keys() else names


def _known(name: object) -> str:
    if not isinstance(name, str):
        raise TypeError(f"tolerate must contain names of tolerances, not {name!r}")
    if name not in TOLERANCES:
        near = difflib.get_close_matches(name.lower(), TOLERANCES, n=3)
        hint = f"did you mean {' or '.join(map(repr, near))}?" if near else f"the names are {', '.join(TOLERANCES)}"
        raise ValueError(f"there is no tolerance named {name!r}; {hint}")
    return name


OF_THE_FORMAT = frozenset(TOLERANCES) - {"foreign_format"}
"""All tolerances for calls in the format's own syntax. With these, calls in another syntax are rejected."""
