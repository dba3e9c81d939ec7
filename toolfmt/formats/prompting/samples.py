"""Create a realistic value for a parameter from its schema, for an example call in a prompt.

A small model copies the example, so no value looks like a placeholder. The values of the schema itself come first
(`const`, `examples`, `example`, `default`, `enum`), if they have the declared type. For a string, the next sources are
its `format`, an example in its description, a format in its description, and its name. For a number, they are an
example in its description and its name. The same schema always gives the same value.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

from toolfmt.formats.values.schema_types import resolve_reference, type_of

_DEEPEST = 8
"""Maximum nesting of objects and lists. Deeper ones are left empty."""
_MOST_PARTS = 200
"""Maximum number of parts of one value. A schema that refers to itself twice per level would never end."""
_LONGEST = 60
"""Maximum length of an example in a description. Longer text is not an example of a value."""

_FORMATS = {
    "date-time": "2025-06-02T09:30:00Z", "date": "2025-06-02", "time": "09:30:00", "duration": "PT45M",
    "email": "anna@example.com", "uri": "https://example.com/page", "url": "https://example.com/page",
    "uri-reference": "/page", "hostname": "example.com", "ipv4": "192.0.2.7", "ipv6": "2001:db8::7",
    "uuid": "7d9f3c52-1b64-4e0a-9c3e-5f2a8b6d4e10",
}  # fmt: skip


def _by_word(words: Mapping[Any, str]) -> dict[str, Any]:
    """Return the inverse of a mapping from values to space-separated words: the value of each word."""
    return {word: value for value, listed in words.items() for word in listed.split()}


_NAMES = _by_word(
    {
        "Paris": "city town place origin departure", "Paris, France": "location", "Rome": "destination arrival",
        "France": "country", "Europe": "region", "California": "state", "12 Mill Lane, Oxford": "address",
        "12 Mill Lane": "street", "75001": "zip postcode", "FR": "countrycode", "fr": "languagecode lang",
        "CDG": "airportcode", "print(6 * 7)": "code script", "SELECT name FROM customers": "sql",
        "https://example.com/page": "url uri link", "https://example.com": "website", "example.com": "domain host",
        "anna@example.com": "email mail to recipient attendee participant", "ben@example.com": "cc sender from",
        "Anna Miller": "name author person contact customer", "Anna": "firstname", "Miller": "lastname",
        "anna": "user username owner", "notes/monday.txt": "path filepath", "monday.txt": "file filename",
        "notes": "directory folder dir", "garden-planner": "repo repository", "main": "branch",
        "opening hours of the Louvre": "query search", "When does the Louvre open?": "question",
        "A lighthouse at sunset": "prompt", "museum": "keyword term", "museums in Paris": "topic",
        "Lunch on Friday": "title subject summary event", "Book a table for Friday": "task reminder what",
        "The meeting is at ten.": "note body content contents text message comment", "The office is closed.": "reason",
        "Three of us, at noon.": "description", "French": "language", "fr-FR": "locale", "EUR": "currency",
        "AAPL": "symbol ticker stock", "Airbus": "company", "2025-06-02": "date day deadline", "09:30": "time",
        "2025-06-02T09:30:00": "datetime start begin when", "2025-06-02T10:15:00": "end",
        "2025-06-02T09:30:00Z": "timestamp", "Europe/Paris": "timezone", "June": "month", "Monday": "weekday",
        "48213": "id number", "+33 1 42 68 53 00": "phone", "blue": "color colour value", "km": "unit",
        "12 * 7": "expression formula", "x + 2 = 5": "equation", "ls notes": "command cmd", "*.txt": "pattern",
        "[0-9]+": "regex", "travel": "tag label category", "jazz": "genre", "Clair de lune": "song",
        "Debussy": "artist", "desk lamp": "product item", "rice": "ingredient food", "Italian": "cuisine",
        "Chez Paul": "restaurant", "Hotel du Nord": "hotel", "Metropolis": "movie", "Middlemarch": "book",
        "colour": "key", "customers": "table", "name": "column", "A4": "model", "1.4.2": "version", "open": "status",
        "high": "priority",
    }
)  # fmt: skip
_NUMBERS = _by_word(
    {
        48.86: "latitude lat", 2.35: "longitude lon lng", 2025: "year", 6: "month", 2: "day quantity guests people",
        9: "hour", 45: "minute minutes", 30: "seconds timeout", 3: "days", 34: "age", 25: "price", 250: "amount",
        5: "limit count max", 1: "page start index", 10: "offset end", 48213: "id", 8080: "port", 640: "width",
        480: "height", 20: "temperature", 70: "weight", 15: "percent percentage", 4.5: "rate", 7: "score", 4: "rating",
        12: "line",
    }
)  # fmt: skip
_GENERAL = ("name", "code", "text", "value", "number", "key")
"""Words that are less specific than the word before them: a `city_name` is a city."""
_SMALLEST_STEP = 1e-6
_DEFAULT = "blue"
_LONG = "The meeting is at ten on Friday, in the room beside the library. "

_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_EXAMPLE = re.compile(r"(?:\be\. ?g\.|\bfor (?:example|instance)\b|\bsuch as\b|\bexamples?:)[,:]?\s*", re.IGNORECASE)
_QUOTED = re.compile(r"""(["'`“‘])(.+?)["'`”’](?!\w)""")
_ENDS = re.compile(r"[;)\]\n]|\.(?:\s|$)|,? (?:or|and) |, etc|…|\.\.\.")
_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?")
_BEFORE_FOR = re.compile(r"(\S+) for ")
_TWO_PARTS = re.compile(r",| and |/|&")
_FORMATS_IN_TEXT = (
    (re.compile(r"YYYY-MM-DD[T ]HH|^(?=.*time).*ISO.?8601|RFC ?3339|date.?time", re.IGNORECASE), _FORMATS["date-time"]),
    (re.compile(r"YYYY-MM-DD|ISO.?8601", re.IGNORECASE), _FORMATS["date"]),
    (re.compile(r"DD/MM/YYYY", re.IGNORECASE), "02/06/2025"),
    (re.compile(r"MM/DD/YYYY", re.IGNORECASE), "06/02/2025"),
    (re.compile(r"\bHH:MM\b", re.IGNORECASE), "09:30"),
    (re.compile(r"\bISO 4217\b|\bcurrency code\b", re.IGNORECASE), "EUR"),
    (re.compile(r"\bISO 639\b|\blanguage code\b", re.IGNORECASE), "fr"),
    (re.compile(r"\bISO 3166\b|\bcountry code\b", re.IGNORECASE), "FR"),
    (re.compile(r"\be-?mail address", re.IGNORECASE), "anna@example.com"),
    (re.compile(r"\bURL\b"), _FORMATS["url"]),
    (re.compile(r"\bSQL\b"), _NAMES["sql"]),
)


def sample(root: Mapping[str, Any], name: str) -> Any:
    """Return a value for a parameter.

    Args:
        root: The schema of a tool's parameters.
        name: The name of a parameter in it.
    """
    return _Sampler(root).value(root["properties"][name], name, 0)


class _Sampler:
    """Creates one value. Depth and number of parts are limited, because a schema may refer to itself."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root
        self._left = _MOST_PARTS

    def value(self, declared: Any, name: str, depth: int) -> Any:
        schema = self._plain(declared)
        types = _types(schema)
        for value in _own_values(schema):
            if types is None or _is(value, types):
                return value
        self._left -= 1
        kind = next((kind for kind in _PREFERRED if types is not None and kind in types), None)
        if kind is None:
            kind = "object" if "properties" in schema else "array" if "items" in schema else "string"
        if kind in ("object", "array") and (depth == _DEEPEST or self._left < 0):
            return {} if kind == "object" else []
        if kind == "object":
            return self._object(schema, depth)
        if kind == "array":
            return self._list(schema, name, depth)
        if kind in ("integer", "number"):
            return _number(schema, name, kind == "integer")
        return {"boolean": True, "null": None}[kind] if kind != "string" else _text(schema, name)

    def _plain(self, schema: Any) -> dict[str, Any]:
        """Return a schema with references and unions merged into it.

        All parts of an `allOf` are merged, and the first part of an `anyOf` or `oneOf` that is not null.
        """
        found = dict(schema) if isinstance(schema, Mapping) else {}
        for _ in range(_DEEPEST):
            if isinstance(found.get("$ref"), str):
                more = resolve_reference(self._root, found.pop("$ref"))
            else:
                union = next((key for key in ("anyOf", "oneOf", "allOf") if isinstance(found.get(key), list)), None)
                if union is None:
                    break
                parts = [part for part in found.pop(union) if isinstance(part, Mapping)]
                merged = {key: value for part in reversed(parts) for key, value in part.items()}
                more = merged if union == "allOf" else next((part for part in parts if part.get("type") != "null"), {})
            if isinstance(more, Mapping):
                found = {**more, **found}
        return found

    def _object(self, schema: Mapping[str, Any], depth: int) -> dict[str, Any]:
        return {name: self.value(schema["properties"][name], name, depth + 1) for name in sampled_properties(schema)}

    def _list(self, schema: Mapping[str, Any], name: str, depth: int) -> list[Any]:
        items = schema.get("items")
        if items is None and isinstance(schema.get("prefixItems"), list):
            return [self.value(part, name, depth + 1) for part in schema["prefixItems"]]
        least, most = schema.get("minItems"), schema.get("maxItems")
        if most == 0:
            return []
        inner = self._plain(items)
        first = self.value({"description": schema.get("description"), **inner}, name, depth + 1)
        choices = inner.get("enum")
        others = [choice for choice in choices if choice != first] if isinstance(choices, list) else []
        many = least if isinstance(least, int) and 1 < least <= _MOST_PARTS else 1
        return [first, *others, *[first] * many][:many]


_PREFERRED = ("string", "integer", "number", "boolean", "array", "object", "null")


def sampled_properties(schema: Mapping[str, Any]) -> list[str]:
    """Return the properties in an example of an object: the required ones, or the first if none is required."""
    properties, required = schema.get("properties"), schema.get("required")
    names = list(properties) if isinstance(properties, Mapping) else []
    return [name for name in names if isinstance(required, list) and name in required] or names[:1]


def _types(schema: Mapping[str, Any]) -> list[str] | None:
    declared = schema.get("type")
    names = [declared] if isinstance(declared, str) else declared if isinstance(declared, list) else []
    return [str(name) for name in names] or None


def _is(value: Any, types: list[str]) -> bool:
    kind = type_of(value)
    whole = kind == "number" and (isinstance(value, int) or (isinstance(value, float) and value.is_integer()))
    return kind in types or (whole and "integer" in types)


def _own_values(schema: Mapping[str, Any]) -> Iterator[Any]:
    """Yield the values that the schema itself contains, the best first. Null only counts as `const`."""
    if "const" in schema:
        yield schema["const"]
    listed = [schema.get("examples"), [schema.get("example")], [schema.get("default")], schema.get("enum")]
    for values in listed:
        if isinstance(values, list):
            yield from (value for value in values if value is not None and value != "")


def _text(schema: Mapping[str, Any], name: str) -> str:
    """Return a string with a length that the schema allows."""
    found = _likely_text(schema, name)
    least, most = schema.get("minLength"), schema.get("maxLength")
    if isinstance(least, int) and len(found) < least <= 1000:
        found = (_LONG * least)[:least].rstrip().ljust(least, ".")
    return found[:most] if isinstance(most, int) and most >= 0 else found


def _likely_text(schema: Mapping[str, Any], name: str) -> str:
    described = schema.get("description")
    description = described if isinstance(described, str) else ""
    if (named := _FORMATS.get(str(schema.get("format")))) is not None:
        return named
    if example := _described_example(description):
        return example
    formatted = next((value for form, value in _FORMATS_IN_TEXT if form.search(f"{description} {name}")), None)
    return formatted or _by_name(name, _NAMES) or _DEFAULT


def _described_example(description: str) -> str:
    """Return the example value in a description. Empty if there is none that is short and plain."""
    found = _EXAMPLE.search(description)
    if found is None:
        return ""
    before, rest = description[: found.start()], description[found.end() :]
    quoted = _QUOTED.match(rest)
    example = quoted[2] if quoted else _ENDS.split(rest, maxsplit=1)[0].strip(" .,:")
    if not quoted and (value := _BEFORE_FOR.match(example)):
        example = value[1]
    parts = example.split(", ")
    # "City and country, e.g. Oslo, Norway" contains one value, "e.g. EUR, USD" contains two.
    if not quoted and len(parts) > 1 and (len(parts) > 2 or not _TWO_PARTS.search(before.rstrip(" ,("))):
        example = parts[0]
    return example if len(example) <= _LONGEST and not set(example) & set("<>{}") else ""


def _number(schema: Mapping[str, Any], name: str, whole: bool) -> float:
    described = schema.get("description")
    example = _described_example(described) if isinstance(described, str) else ""
    value: float = float(example) if _NUMBER.fullmatch(example) else _by_name(name, _NUMBERS) or 3
    low, high = _bound(schema, "minimum"), _bound(schema, "maximum")
    above, below = _bound(schema, "exclusiveMinimum"), _bound(schema, "exclusiveMaximum")
    step = _bound(schema, "multipleOf") or 0
    if step < _SMALLEST_STEP or (whole and step != int(step)):
        step = 1 if whole else 0.5
    if above is not None:
        low = max(above + step, above + step if low is None else low)
    if below is not None:
        high = min(below - step, below - step if high is None else high)
    value = value if high is None else min(value, high)
    value = value if low is None else max(value, low)
    if whole or "multipleOf" in schema:
        up = math.ceil(value / step) * step
        value = up if high is None or up <= high else math.floor(value / step) * step
    return int(value) if value == int(value) else value


def _bound(schema: Mapping[str, Any], key: str) -> float | None:
    """Return a number in the schema, or None if there is none or if it is too large for an example."""
    value = schema.get(key)
    plain = isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e15
    return value if plain else None


def _by_name(name: str, known: Mapping[str, Any]) -> Any:
    """Return the known value for a parameter's name or one of its words, or None.

    The last words of a name are the most specific.
    """
    words = [word.lower() for word in _WORDS.findall(name)]
    specific = [word for word in reversed(words) if word not in _GENERAL]
    for word in ["".join(words), *specific, *reversed(words)]:
        for ending, stem in (("", ""), ("ies", "y"), ("es", ""), ("s", "")):
            singular = f"{word.removesuffix(ending)}{stem}"
            if word.endswith(ending) and singular in known:
                return known[singular]
    return None
