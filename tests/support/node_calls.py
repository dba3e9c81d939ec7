"""Calls and tools for tests of grammars as nodes."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st


def _tool(name: str, properties: dict[str, Any], *required: str, **more: Any) -> dict[str, Any]:
    parameters = {"type": "object", "properties": properties, "required": list(required), **more}
    return {"type": "function", "function": {"name": name, "parameters": parameters}}


TOOLS = [
    _tool(
        "get_weather",
        {
            "city": {"type": "string"},
            "days": {"type": "integer"},
            "units": {"type": "string", "enum": ["c", "f"]},
            "tags": {"type": "array", "items": {"type": "string"}},
            "detail": {"type": "boolean"},
        },
        "city",
    ),
    _tool("now", {}),
    _tool(
        "book",
        {
            "who": {
                "type": "object",
                "properties": {"name": {"type": "string"}, "age": {"type": "number"}},
                "required": ["name"],
                "additionalProperties": False,
            },
            "note": {"type": ["string", "null"]},
            "price": {"type": "number", "minimum": 0},
            "rooms": {"type": "array", "items": {"type": "integer"}, "minItems": 1},
        },
        "who",
        "price",
    ),
]

_TEXTS = st.sampled_from(["Oslo", "a b", "3", "null", "", "Zürich 🙂", 'say "hi"', "it's", "back\\slash", "a\nb", "{}"])

CALLS: st.SearchStrategy[tuple[str, dict[str, Any]]] = st.one_of(
    st.fixed_dictionaries(
        {"city": _TEXTS},
        optional={
            "days": st.integers(-9, 99),
            "units": st.sampled_from("cf"),
            "tags": st.lists(_TEXTS, max_size=2),
            "detail": st.booleans(),
        },
    ).map(lambda arguments: ("get_weather", arguments)),
    st.just(("now", {})),
    st.fixed_dictionaries(
        {
            "who": st.fixed_dictionaries({"name": _TEXTS}, optional={"age": st.sampled_from([1, 2.5])}),
            "price": st.sampled_from([0, 1.5, 20]),
        },
        optional={"note": st.none() | _TEXTS, "rooms": st.lists(st.integers(0, 9), min_size=1, max_size=3)},
    ).map(lambda arguments: ("book", arguments)),
)
