"""What may stand in a format that is stored as data: by the annotation of a field its kinds, and constants by name.

A kind is a frozen dataclass under the name that files call it by: an engine, or what takes the place of a function. A
new engine, or a new stand-in, is added here; a file can name nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from toolfmt.formats.call_expression import CallExpression
from toolfmt.formats.channels import Channels
from toolfmt.formats.choice import Choice
from toolfmt.formats.elsewhere import Elsewhere
from toolfmt.formats.flags import Flags
from toolfmt.formats.format import Engine
from toolfmt.formats.json_object import JsonObject, KeyedObject
from toolfmt.formats.named_json import NamedJson
from toolfmt.formats.nested_tags import NestedTags
from toolfmt.formats.raw_values import Header
from toolfmt.formats.runtime_parsers import RuntimeParser
from toolfmt.formats.tagged import PLAIN, QUOTED, Tagged
from toolfmt.formats.values import CODE, CODE_CALL, JSON, LITERAL, Notation
from toolfmt.formats.written_objects import JsonStyle, WrittenObject


@dataclass(frozen=True)
class Role:
    """What may stand in fields of one annotation: how a person calls it, and classes and constants by their names."""

    called: str
    kinds: Mapping[str, type] = field(default_factory=dict)
    constants: Mapping[str, object] = field(default_factory=dict)


ROLES: Mapping[Any, Role] = {
    Engine: Role(
        "an engine",
        {
            "call_expression": CallExpression,
            "channels": Channels,
            "choice": Choice,
            "elsewhere": Elsewhere,
            "flags": Flags,
            "json_object": JsonObject,
            "keyed_object": KeyedObject,
            "named_json": NamedJson,
            "nested_tags": NestedTags,
            "tagged": Tagged,
        },
    ),
    Notation: Role("a notation", {}, {"json": JSON, "literal": LITERAL, "code": CODE, "code_call": CODE_CALL}),
    Header: Role("a header", {}, {"plain": PLAIN, "quoted": QUOTED}),
    RuntimeParser: Role("a runtime's parser", {"": RuntimeParser}),
    WrittenObject: Role("the pieces of an object", {"": WrittenObject}),
    JsonStyle: Role("a style of JSON", {"": JsonStyle}),
}
"""By annotation; a role whose only kind has no name is read without one."""

CONSTANTS: Mapping[str, object] = {name: value for role in ROLES.values() for name, value in role.constants.items()}
KIND_OF: Mapping[type, str] = {kind: name for role in ROLES.values() for name, kind in role.kinds.items()}
MADE_OF_A_ROW = {Choice: "engines"}
"""Kinds whose constructor takes one of their members as a row of arguments."""
