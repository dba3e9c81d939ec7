"""Read what the conditions of a template test, from its syntax tree, without running anything.

A condition is the smallest part of a test: `a and not b` has two, `a` and `b`. The code uses loops instead of
recursion, because a template may be nested to any depth.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import Literal

from jinja2 import nodes

from toolfmt.templates.analysis.aliases import ITEM, Meanings, constants_of, resolved_nodes
from toolfmt.templates.analysis.expressions import bare, key_of, leaves
from toolfmt.templates.analysis.nondeterminism import RANDOM
from toolfmt.templates.analysis.variables import descendants

_LONGEST_TEXT = 200
_MOST_RESOLVED = 1_000
"""A limit for templates that are written to slow down the analysis."""
COUNTING = frozenset({"length", "count", "index", "index0", "revindex", "revindex0", "range", "truncate"})
"""Filters, and attributes of a loop, that count."""
_EXACTLY = frozenset({"eq", "ne", "in", "notin", "==", "!=", "equalto", "sameas", "divisibleby"})
_KINDS = frozenset({"role", "type", "recipient", "from"})
_TEXTS = frozenset(
    {"content", "text", "arguments", "description", "reasoning", "reasoning_content", "thinking", "name"}
)


@dataclass(frozen=True)
class Condition:
    """A condition, or a loop (whether it runs): its line and what it tests.

    `about` is what it compares, empty if it only tests whether something exists or is of some type. `texts` and
    `numbers` are the constants in its comparisons and calls, including those in variables. `names` are the variables
    and keys that it reads. `calls` are the functions, filters and methods, including those that its variables were set
    from.
    """

    number: int
    line: int
    about: Literal["", "text", "number", "sum", "clock", "chance"]
    texts: tuple[str, ...]
    numbers: tuple[int, ...]
    names: frozenset[str]
    calls: frozenset[str]
    holds: bool = True
    """The value of the condition if its test holds: False after a `not`."""
    raising_test: int | None = None
    """The number of the test that it is a part of, if the template raises when that test holds. Else None."""
    whole: int | None = None
    """The number of the `if` (a tag or an expression) that contains it. None unless that has several conditions or its
    body raises.
    """
    exact: bool = False
    """Whether it tests for exactly one number, or for every multiple of one."""
    loop: bool = False
    """Whether it is a loop, which is true each time it runs."""


def condition_of(number: int, node: nodes.Node, meanings: Meanings, *, loop: bool = False) -> Condition:
    """Return what an expression tests, as a condition with this number. For a `loop`, it is the iterated value."""
    constants = list(constants_of(node, meanings))
    texts = [value for value in constants if isinstance(value, str) and value.strip() and len(value) <= _LONGEST_TEXT]
    numbers = [value for value in constants if type(value) is int]
    numbers += filter(None, map(_sum, islice(descendants(node), _MOST_RESOLVED)))
    names, calls = set[str](), set[str]()
    for inner in islice(resolved_nodes(node, meanings), _MOST_RESOLVED):
        match inner:
            case nodes.Name(name=name) | nodes.Getattr(attr=name):
                names.add(name)
            case nodes.Getitem(arg=nodes.Const(value=str(name))):
                names.add(name)
            case nodes.Filter(name=name) | nodes.Call(node=nodes.Getattr(attr=name) | nodes.Name(name=name)):
                calls.add(name)
    about = "" if loop else _about(node, meanings, texts, numbers, calls | names)
    return Condition(
        number,
        node.lineno,
        about,
        tuple(dict.fromkeys(texts)),
        tuple(dict.fromkeys(numbers)),
        frozenset(names),
        frozenset(calls),
        exact=about == "sum" or (about == "number" and _is_exact(node)),
        loop=loop,
    )


def _sum(node: nodes.Node) -> int | None:
    """Return the value of a sum or difference of two constant integers."""
    match node:
        case nodes.Add(left=nodes.Const(value=int(left)), right=nodes.Const(value=int(right))):
            return left + right
        case nodes.Sub(left=nodes.Const(value=int(left)), right=nodes.Const(value=int(right))):
            return left - right
        case _:
            return None


def _is_exact(node: nodes.Node) -> bool:
    """Return whether a comparison tests for a number, for one of several numbers, or for a multiple of one."""
    match node:
        case nodes.Compare():
            return any(operand.op in _EXACTLY for operand in node.ops)
        case nodes.Test():
            return node.name in _EXACTLY
        case _:
            return False


def _about(
    node: nodes.Node, meanings: Meanings, texts: list[str], numbers: list[int], known: set[str]
) -> Literal["", "text", "number", "sum", "clock", "chance"]:
    """Return what a comparison looks at. Empty if it only tests whether something exists or is of some type."""
    match node:
        case nodes.Compare() | nodes.Test(args=[_, *_]) | nodes.Test(name="odd" | "even"):
            pass
        case nodes.Call(node=nodes.Getattr(attr="startswith" | "endswith" | "count" | "find")):
            pass
        case _:
            return ""
    if "strftime_now" in known:
        return "clock"
    if known & RANDOM:
        return "chance"
    if any(isinstance(inner, (nodes.Mod, nodes.FloorDiv)) for inner in descendants(node)):
        return "sum" if any(abs(number) > 2 for number in numbers) else ""  # whose turn it is
    if any(abs(number) > 1 for number in numbers):
        return "number"  # a length, a counter of the template, or a number in the arguments of a call
    return "text" if texts and not _tests_for_kind(node, meanings) else ""


def _tests_for_kind(node: nodes.Node, meanings: Meanings) -> bool:
    """Return whether a comparison tests for a role, for the type of a part, or for a key of an object."""
    if not isinstance(node, nodes.Compare):
        return False
    sides: list[nodes.Node] = [node.expr, *(operand.expr for operand in node.ops)]
    if isinstance(node.expr, nodes.Const) and node.ops[0].op in ("in", "notin"):
        # Key tests use a loop variable or a path; texts are usually in a variable.
        held = sides[1]
        loops = isinstance(held, nodes.Name) and any(isinstance(of, ITEM) for of in meanings.get(held.name, ()))
        texts = isinstance(held, nodes.Getattr | nodes.Getitem) and _last_key(held) in _TEXTS
        return (loops or not isinstance(held, nodes.Name)) and not texts and _last_key(bare(held)) not in _TEXTS
    if all(_constant(side, meanings) for side in sides):
        return True
    for side in sides:
        keys = [_last_key(inner) for of in (side, *meanings.get(key_of(side), ())) for inner in leaves(of)]
        if any(key in _KINDS for key in keys):
            return True
    return False


def _constant(node: nodes.Node, meanings: Meanings) -> bool:
    """Return whether an expression is a constant, or a variable with only one value (a state of the template)."""
    values = meanings.get(key_of(node), [node])
    return all(isinstance(value, nodes.Const) for value in values)


def _last_key(node: nodes.Node) -> str:
    """Return the key that an expression looks up last: `type` in `part.type`, `part['type']` and `part.get('type')`."""
    match node:
        case nodes.Getattr(attr=key) | nodes.Getitem(arg=nodes.Const(value=str(key))):
            return key
        case nodes.Call(node=nodes.Getattr(attr="get"), args=[nodes.Const(value=str(key)), *_]):
            return key
        case nodes.Name(name=key):
            return key
        case _:
            return ""
