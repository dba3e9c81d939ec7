"""What is read generously, by the names that `ToolCallEnd.tolerated` holds; strict reading refuses a call for each."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

TOLERANCES: Mapping[str, str] = MappingProxyType(
    {
        # the frame around calls
        "missing_opener": "the frame's opener is missing; the call stands where one may begin",
        "repeated_opener": "an opener, of the frame or of a value, is written twice",
        "missing_closer": "the closer of the call, of its list or of its frame is missing",
        "repeated_closer": "a value's closer is written twice",
        "missing_header": "the header of the call's message is missing",
        "missing_prefix": "the word before the name is missing",
        "missing_brackets": "the brackets around the list of calls are missing",
        "missing_separator": "the sign between two calls, or between name and arguments, is missing",
        "other_separator": "another sign stands between two calls than the format writes",
        "missing_fence": "the markdown fence of the format is missing or not closed",
        "markdown_fence": "a markdown fence stands around the call, which the format does not write",
        "list_of_calls": "several calls stand together where the format writes one",
        "text_behind_closer": "text follows where nothing does: behind a value's closer, or right behind the list",
        "repeated_call": "the text of the frame stands once more right behind it",
        "residue": "something is left behind the call's object: a brace too many, an empty frame or fence",
        "repaired_markers": "the markers are those of another spelling or runtime",
        "other_notation": "the call stands in a notation that belongs to another format",
        "other_blanks": "blanks that keep words together stand where plain ones belong",
        "other_attributes": "a tag has attributes that the family does not write",
        "damaged_attribute": "a tag's name or key is damaged, but names what is declared",
        # name and id
        "repaired_name": "the name is no tool's, and means one that is declared",
        "quoted_name": "the name stands in quotes",
        "other_recipient": "the message is addressed to another than the tool that is called in it",
        "missing_id": "the id lacks its number",
        "empty_id": "the id is an empty string",
        # the members of a call's object
        "name_key": "the name stands under `name`, where the format uses another key",
        "tool_name_key": "the name stands under `tool_name`",
        "arguments_key": "the arguments stand under `arguments`, where the format uses another key",
        "parameters_key": "the arguments stand under `parameters`, where the format uses another key",
        "other_arguments_key": "the arguments stand under another key: `args`, `params`, `input`",
        "flattened_arguments": "the arguments stand beside the name",
        "missing_arguments": "there are no arguments",
        "arguments_before_name": "the arguments stand before the name",
        "arguments_as_string": "the arguments are a JSON string that holds an object",
        "function_wrapper": "name and arguments stand under `function`",
        "tool_calls_key": "the calls stand in a list under `tool_calls`",
        "nested_call": "the arguments hold the call's whole object",
        "extra_key": "the object has a member that no call has",
        "other_type": "a member or a value is of another type than the format or the schema says",
        # arguments
        "positional_arguments": "arguments stand without keys",
        "positional_object": "a single object stands in place of the arguments",
        "duplicate_key": "a key stands twice",
        "unquoted_key": "a key stands without quotes",
        "quoted_key": "a key stands in quotes inside its tag",
        "missing_value_closer": "a value lacks its closer, and what follows shows where it ended",
        "unclosed_tag": "a value holds a tag that is not closed",
        # values
        "single_quotes": "single quotes stand where the notation has double ones",
        "plain_quotes": "plain quotes stand where the notation has marks of its own",
        "unescaped_quote": "a quote inside a string is not escaped",
        "unquoted_string": "a string stands without quotes",
        "quoted_value": "a value that is no string stands in quotes",
        "joined_strings": "several strings stand side by side, and are one",
        "invalid_escape": "a backslash escapes nothing",
        "raw_newline": "a line's end or another control character stands in a string unescaped",
        "trailing_comma": "a comma stands before a closing bracket",
        "python_literal": "a value is written as Python does: `True`, `None`, `1_000`, `.5`",
        "leading_zeros": "an integer has zeros in front",
        "other_case": "a literal is written in other letters: `FALSE`",
        "tuple": "a tuple, read as a list",
        "set": "a set, read as a list",
    }
)
"""Every tolerance that `ToolCallEnd.tolerated` can contain, with what was met. Strict parsing rejects the call instead.
"""
