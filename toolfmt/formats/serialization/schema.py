"""What a format that is stored as data may contain: the kinds and named constants for the annotation of a field.

A kind is a frozen dataclass with its name in files: an engine, or an object in place of a function. Add a new one here.
A file cannot name anything else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from toolfmt.formats.engines.alternatives import Choice
from toolfmt.formats.engines.call_expression import CallExpression
from toolfmt.formats.engines.call_headers import NAME_ONLY, Identity, IdThenName, Indexed, NameThenId
from toolfmt.formats.engines.channels import Channels
from toolfmt.formats.engines.engine import Engine
from toolfmt.formats.engines.flags import Flags
from toolfmt.formats.engines.foreign import Elsewhere
from toolfmt.formats.engines.json_object import JsonObject, KeyedObject
from toolfmt.formats.engines.named_json import NamedJson
from toolfmt.formats.engines.nested_tags import NestedTags
from toolfmt.formats.engines.tag_attributes import (
    PLAIN,
    QUOTED,
    STRING_ATTRIBUTE,
    Attributes,
    EscapedAttributes,
    Header,
)
from toolfmt.formats.engines.tagged import Tagged
from toolfmt.formats.runtime_parsers import RuntimeParser
from toolfmt.formats.values.json_layout import WrittenObject
from toolfmt.formats.values.json_style import JsonStyle
from toolfmt.formats.values.syntaxes import NOTATIONS, BetweenMarks, Notation
from toolfmt.formats.values.value_writers import (
    TEXT_BY_TYPE,
    JsonValues,
    MarkedValues,
    PythonBesideJson,
    PythonValues,
    QuotedJsonValues,
    ReprValues,
    TextBesideType,
    TextInMarks,
    TextWriter,
    ValueWriter,
)


@dataclass(frozen=True)
class Role:
    """What fields of one annotation may contain: a label for errors, and classes and constants by name."""

    label: str
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
    Notation: Role("a syntax", {}, {name.replace(" ", "_"): notation for name, notation in NOTATIONS.items()}),
    BetweenMarks: Role("a syntax", {"between_marks": BetweenMarks}),
    Header: Role(
        "a header",
        {"attributes": Attributes, "escaped_attributes": EscapedAttributes},
        {"plain": PLAIN, "quoted": QUOTED, "string_attribute": STRING_ATTRIBUTE},
    ),
    Identity: Role(
        "an identity",
        {"name_then_id": NameThenId, "id_then_name": IdThenName, "indexed": Indexed},
        {"name_only": NAME_ONLY},
    ),
    ValueWriter: Role(
        "a value writer",
        {"marked_values": MarkedValues},
        {
            "json_values": JsonValues(),
            "python_beside_json": PythonBesideJson(),
            "python_values": PythonValues(),
            "quoted_json_values": QuotedJsonValues(),
            "repr_values": ReprValues(),
        },
    ),
    TextWriter: Role(
        "a text writer",
        {"text_in_marks": TextInMarks},
        {"text_beside_type": TextBesideType(), "text_by_type": TEXT_BY_TYPE},
    ),
    RuntimeParser: Role("a runtime's parser", {"": RuntimeParser}),
    WrittenObject: Role("the pieces of an object", {"": WrittenObject}),
    JsonStyle: Role("a JSON style", {"": JsonStyle}),
}
"""Roles by annotation. The only kind of some roles has no name: its object in a file has no `kind`."""

CONSTANTS = tuple((name, value) for role in ROLES.values() for name, value in role.constants.items())
KIND_OF: Mapping[type, str] = {kind: name for role in ROLES.values() for name, kind in role.kinds.items()}
VARIADIC_MEMBER = {Choice: "engines"}
"""Kinds whose constructor takes one of their members as positional arguments, with the name of that member."""
