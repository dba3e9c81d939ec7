"""The names that other programs use are in `public_names.txt`, one per line.

`python tests/repository/test_public_names.py --update` rewrites the file; its diff is reviewed: docs/stability.md
defines what may change, and how. Modules of runtimes that are not installed here are read as text.
"""

from __future__ import annotations

import ast
import inspect
import json
import re
import sys
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cached_property
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, Literal, get_args, get_origin

import click
import pytest

import toolfmt
from toolfmt.cli.commands import main
from toolfmt.cli.rules.configuration import KEYS as CONFIGURATION_KEYS
from toolfmt.cli.rules.configuration import MODELS as MODELS_KEY
from toolfmt.formats import TOLERANCES
from toolfmt.formats.known import KNOWN
from toolfmt.inspect.checks import CHECKS, code, name, outcomes
from toolfmt.inspect.report import report, verdicts
from toolfmt.messages import events
from toolfmt.messages.message import Message
from toolfmt.model.batch import InspectionOutcome

ROOT = Path(__file__).parents[2]
FILE = Path(__file__).parent / "public_names.txt"
MODULES = (
    "toolfmt",
    "toolfmt.messages.events",
    "toolfmt.errors",
    "toolfmt.formats",
    "toolfmt.integrations.protocols",
    "toolfmt.agent",
    "toolfmt.training",
    "toolfmt.cli.measure",
    "toolfmt.testing",
)
RUNTIMES = ("langchain", "llama_cpp", "mlx", "sglang", "smolagents", "transformers", "vllm")
CHANGED = """\
The public names are not those of tests/repository/public_names.txt:
{difference}
What is new or another goes into CHANGELOG.md. What is gone or is called in another way breaks programs: keep the old
name for one minor version, with a DeprecationWarning that names the new one (docs/stability.md). Then
`python tests/repository/test_public_names.py --update`, and read the diff."""


def lines() -> list[str]:
    """Every public name with its signature, in the order of the file."""
    return [*_of_python(), *_of_runtimes(), *_of_commands(), *_of_json(), *_of_words()]


# --- Python


def _of_python() -> Iterator[str]:
    names: dict[int, str] = {}
    for where in MODULES:
        module = import_module(where)
        for public in sorted(module.__all__):
            full, value = f"{where}.{public}", getattr(module, public)
            if isinstance(value, type) or inspect.isfunction(value):
                if id(value) in names:
                    yield f"{full} is {names[id(value)]}"
                    continue
                names[id(value)] = full
            yield from _entries(full, value)


def _entries(full: str, value: Any) -> Iterator[str]:
    if isinstance(value, type):
        yield from _class(full, value)
    elif inspect.isfunction(value):
        yield full + _signature(value)
    elif get_origin(value) is not None or "Union" in type(value).__name__:
        yield f"{full} = {_type(value)}"
    elif not isinstance(value, ModuleType):
        yield f"{full}: {type(value).__name__}"


def _class(full: str, kind: type) -> Iterator[str]:
    bases = ", ".join(base.__name__ for base in kind.__bases__ if base is not object)
    if issubclass(kind, BaseException):
        own = "__init__" in vars(kind)
        yield f"class {full}({bases})" + (f", made by {_signature(kind)}" if own else "")
    else:
        yield f"class {full}{_signature(kind)}" + (f", a {bases}" if bases else "")
    in_signature = {one.name for one in fields(kind) if one.init} if is_dataclass(kind) else set[str]()
    for member in sorted(_members(kind) - in_signature):
        yield f"{full}.{_member(member, inspect.getattr_static(kind, member, None))}"


def _members(kind: type) -> set[str]:
    """The public members that the class and those of toolfmt's that it is made of have."""
    found = set[str]()
    for one in kind.__mro__:
        if one.__module__.partition(".")[0] == "toolfmt":
            slots = vars(one).get("__slots__", ())
            found |= {*vars(one), *vars(one).get("__annotations__", {}), *slots, *_given_in_init(one)}
    return {member for member in found if not member.startswith("_")}


def _given_in_init(kind: type) -> set[str]:
    """The attributes that the class gives itself when it is made."""
    own = vars(kind).get("__init__")
    if own is None or not hasattr(own, "__code__") or own.__code__.co_filename == "<string>":
        return set()
    tree = ast.parse(textwrap.dedent(inspect.getsource(own)))
    places = (node for node in ast.walk(tree) if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store))
    return {node.attr for node in places if isinstance(node.value, ast.Name) and node.value.id == "self"}


def _member(member: str, value: Any) -> str:
    if isinstance(value, (staticmethod, classmethod)):
        return member + _signature(value.__func__, first=isinstance(value, staticmethod))
    if isinstance(value, (property, cached_property)):
        getter = value.fget if isinstance(value, property) else value.func
        return f"{member} -> {_annotation(getter.__annotations__.get('return'))}"
    return member + _signature(value, first=False) if inspect.isfunction(value) else member


def _signature(value: Any, *, first: bool = True) -> str:
    """The signature as it is written; `first` includes the first parameter of a method."""
    signature = inspect.signature(value)
    parameters = list(signature.parameters.values())[0 if first else 1 :]
    written, starred = [], False
    for one in parameters:
        if one.kind is one.KEYWORD_ONLY and not starred:
            written.append("*")
        starred = starred or one.kind in (one.KEYWORD_ONLY, one.VAR_POSITIONAL)
        mark = "*" if one.kind is one.VAR_POSITIONAL else "**" if one.kind is one.VAR_KEYWORD else ""
        parameter = mark + one.name
        if one.annotation is not one.empty:
            parameter += f": {_annotation(one.annotation)}"
        written.append(parameter + ("" if one.default is one.empty else f" = {_default(one.default)}"))
    returned = signature.return_annotation
    return_type = "" if isinstance(value, type) or returned is signature.empty else f" -> {_annotation(returned)}"
    return f"({', '.join(written)}){return_type}"


def _annotation(annotation: Any) -> str:
    return annotation if isinstance(annotation, str) else _type(annotation)


def _type(kind: Any) -> str:
    if get_origin(kind) is Literal:
        return f"Literal[{', '.join(map(repr, get_args(kind)))}]"
    if isinstance(kind, type) and get_origin(kind) is None:
        return kind.__name__
    if "Union" in type(kind).__name__:
        return " | ".join(map(_type, get_args(kind)))
    return re.sub(r"\b(?:typing|collections\.abc|toolfmt(?:\.\w+)+)\.(?=\w+\b)", "", str(kind))


def _default(value: Any) -> str:
    if "factory" in type(value).__name__.lower():
        return "…"
    if isinstance(value, Enum) or value is None or isinstance(value, (str, int, float, bool, tuple, frozenset)):
        return repr(value)
    return "…"


def _of_runtimes() -> Iterator[str]:
    """The names of the adaptors, read off their text: what they import is not installed everywhere."""
    for module in RUNTIMES:
        tree = ast.parse((ROOT / "toolfmt" / "integrations" / f"{module}.py").read_text("utf-8"))
        for node in tree.body:
            if isinstance(node, ast.Assign) and [ast.unparse(target) for target in node.targets] == ["__all__"]:
                defined = {one.name: one for one in tree.body if isinstance(one, (ast.FunctionDef, ast.ClassDef))}
                for public in ast.literal_eval(node.value):
                    yield from _written(f"toolfmt.integrations.{module}.{public}", defined.get(public))


def _written(full: str, node: ast.FunctionDef | ast.ClassDef | None) -> Iterator[str]:
    if isinstance(node, ast.FunctionDef):
        yield full + _written_signature(node)
    elif isinstance(node, ast.ClassDef):
        yield f"class {full}"
        for one in node.body:
            if isinstance(one, ast.FunctionDef) and (one.name == "__init__" or not one.name.startswith("_")):
                yield f"{full}.{one.name}{_written_signature(one)}"
    else:
        yield full  # imported there


def _written_signature(node: ast.FunctionDef) -> str:
    returns = "" if node.returns is None else f" -> {ast.unparse(node.returns)}"
    return re.sub(r"\((?:self(?:, )?)", "(", f"({ast.unparse(node.args)}){returns}", count=1)


# --- the command line


def _of_commands() -> Iterator[str]:
    yield from _command("toolfmt", main)


def _command(full: str, command: click.Command) -> Iterator[str]:
    exits = re.search(r"Exit status: (.+?)(?:\n\n|\Z)", command.help or "", re.DOTALL)
    codes = re.findall(r"\b(\d+) [a-z]", exits[1]) if exits else ["0", "2"]
    arguments = [one.make_metavar(click.Context(command)) for one in command.params if isinstance(one, click.Argument)]
    yield f"$ {' '.join([full, *arguments])} (exit {', '.join(codes)})"
    for option in command.params:
        if isinstance(option, click.Option):
            choices = f" {'|'.join(option.type.choices)}" if isinstance(option.type, click.Choice) else ""
            value = choices or ("" if option.is_flag else f" {option.metavar or option.type.name.upper()}")
            default = f" (default {option.default})" if option.show_default and option.default is not None else ""
            yield f"$ {full} {'/'.join(option.opts)}{value}{default}"
    if isinstance(command, click.Group):
        for name in sorted(command.commands):
            yield from _command(f"{full} {name}", command.commands[name])


# --- JSON


def _of_json() -> Iterator[str]:
    """The members of what is printed as JSON, by command. The corpus contains what --json of a report prints."""
    inspected = [json.loads(file.read_text("utf-8")) for file in sorted(ROOT.glob("corpus/models/*/report.json"))]
    cost, marker = report.ToolCost("", 0), report.MarkerTokens("", (), special=False)
    tokens = report.Tokens(markers=(marker,), tools=(cost,)).to_dict()  # of which the corpus has none
    other_engine = report.Portability("", 0, 0, (report.Difference("", None, ""),)).to_dict()
    yield from _keys(
        "inspect --json", [*inspected, {"tokens": tokens, "portability": other_engine, "engines": [other_engine]}]
    )
    for shape, value in _SHAPES.items():
        yield from _keys(f"inspect --json, {shape}", [value.to_dict()])
    yield f"json inspect --json .schema = {report.SCHEMA}"
    yield from _keys("inspect --json, of several places", [InspectionOutcome("p", None, "why").to_dict()])
    rendered = [json.loads(file.read_text("utf-8")) for file in sorted(ROOT.glob("corpus/models/*/prompt.json"))]
    yield from _keys("render --json", [*rendered, toolfmt.Prompt("", "prompt", None).to_dict()])
    text = "Hm.<tool_call>f<arg_key>a</arg_key><arg_value>1</arg_value></tool_call><tool_call>f<arg_key>"
    parser = toolfmt.Parser("glm4")
    parsed = [*parser.feed(text), *parser.finish(), events.Reasoning("")]
    for event in {type(event): event for event in parsed}.values():
        yield from _keys(f"parse {event.to_dict()['type']}", [event.to_dict()])
    yield from _keys("parse --output message", [Message.from_events(parsed).to_dict()])
    from toolfmt.cli.printing.format_record import described

    yield from _keys("formats --json", [described(one) for one in KNOWN])


_OPEN = {"format.derived.format", "runtimes", "runtime_parsers", "variables.formats"}
"""Members whose own members are names of a third party."""


_SHAPES: dict[str, report.Answer | report.TemplateFailure] = {
    "an answer": report.Answer("yes", error=report.TemplateFailure("other", "")),
    "an error": report.TemplateFailure("other", ""),
}
"""What appears in many parts of a report, and is listed once."""


def _keys(by: str, values: list[Any]) -> Iterator[str]:
    for path in sorted({path for value in values for path in _paths(value, "")}):
        yield f"json {by} .{path}"


def _shape(value: Any) -> str:
    """The value, if it is listed once; an empty string for others."""
    shapes = (name for name, one in _SHAPES.items() if isinstance(value, dict) and value.keys() == one.to_dict().keys())
    return next(shapes, "")


def _paths(value: Any, above: str) -> Iterator[str]:
    if isinstance(value, list):
        for one in value:
            yield from _paths(one, above)
    elif isinstance(value, Mapping) and above not in _OPEN:
        for key, inside in value.items():
            path = f"{above}.{key}" if above else key
            if shape := _shape(inside):
                yield f"{path} is {shape}"
            elif inside is not None or key != "error":  # which is an error elsewhere
                yield path
                yield from _paths(inside, path)


# --- vocabulary


def _of_words() -> Iterator[str]:
    yield from (f"reason {word}" for word in get_args(events.RejectionReason))
    yield from (f"tolerance {word}" for word in sorted(TOLERANCES))
    yield from (
        f"format {' = '.join([known.name, *known.aliases])}" for known in sorted(KNOWN, key=lambda one: one.name)
    )
    for check in sorted(CHECKS, key=code):
        yield f"finding {code(check)} {name(check)}"
        if len(outcomes(check)) > 1:
            yield from (f"finding {code(check)} {outcome}" for outcome in sorted(outcomes(check)))
    yield from (f"configuration {key}" for key in (*CONFIGURATION_KEYS, f"{MODELS_KEY}.PATTERN"))
    words = {
        "verdict": verdicts.ToolsWord,
        "runtime status": verdicts.RuntimeStatus,
        "answer": report.AnswerWord,
        "confidence": report.Confidence,
    }
    words |= {"severity": report.Severity, "fixed_by": report.FixedBy, "outcome": report.Outcome}
    for kind, values in words.items():
        yield f"{kind} is {', '.join(word or '(empty)' for word in get_args(values))}"


# --- invariants


def test_the_public_names_are_those_of_the_file() -> None:
    expected, actual = FILE.read_text("utf-8").splitlines(), lines()
    gone = [f"- {line}" for line in expected if line not in set(actual)]
    new = [f"+ {line}" for line in actual if line not in set(expected)]
    assert not gone and not new, CHANGED.format(difference="\n".join([*gone, *new]))
    assert expected == actual


def test_no_name_is_listed_twice() -> None:
    assert sorted(set(lines())) == sorted(lines())


def test_what_a_type_that_is_private_names_is_in_no_signature() -> None:
    signatures = [line for line in lines() if "(" in line and line.startswith(("toolfmt", "class"))]
    assert [line for line in signatures if re.search(r"(?<![\w.'])_[A-Za-z]\w*", line.partition("(")[2])] == []


@pytest.mark.parametrize("where", MODULES)
def test_every_public_class_and_function_has_a_docstring(where: str) -> None:
    module = import_module(where)
    assert module.__doc__
    mute = []
    for public in module.__all__:
        value = getattr(module, public)
        if inspect.isfunction(value) or inspect.isclass(value):
            written = value.__doc__ or ""
            if not written or written.startswith(f"{value.__name__}("):  # written by dataclasses
                mute.append(public)
    assert mute == []


def test_a_removed_name_is_reported_with_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[__name__], "lines", lambda: FILE.read_text("utf-8").splitlines()[1:])
    with pytest.raises(AssertionError) as failed:
        test_the_public_names_are_those_of_the_file()
    assert "- class toolfmt.BadFormat(ToolfmtError, ValueError)\n" in str(failed.value)
    assert "python tests/repository/test_public_names.py --update" in str(failed.value)


if __name__ == "__main__":
    if sys.argv[1:] == ["--update"]:
        FILE.write_text("\n".join(lines()) + "\n", encoding="utf-8")
    else:
        print("\n".join(lines()))
