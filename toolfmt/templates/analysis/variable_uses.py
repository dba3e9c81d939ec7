"""Find how a template uses the variables of its caller: defaults, comparisons, and other uses.

`ChatTemplate.variable_uses` calls it. Nothing is evaluated or folded, so template code never runs here, and a default
is reported as written. A variable's value is followed through plain assignments and namespaces (`set thinking =
enable_thinking | default(true)`), but not through macros.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from jinja2 import nodes

from toolfmt.templates.analysis.expressions import (
    bare,
    conditions,
    is_bool,
    is_name,
    key_of,
    leaves,
    required_value,
    source_of,
    subjects,
    tests_defined,
    tests_given,
)
from toolfmt.templates.analysis.variables import descendants

Plain: TypeAlias = str | int | float | bool
Manner: TypeAlias = Literal["asked", "printed", "iterated", "keyed"]
"""How a value is used: tested for truth, joined to text, iterated as a list, or indexed by a key."""

# A limit for templates that are written to slow down the analysis: a test is walked once for each of its variables.
_MOST_TESTED = 8
_DEFAULT_FILTERS = frozenset({"default", "d"})
_LIST_FILTERS = frozenset({"length", "count", "join", "first", "last", "map", "selectattr", "rejectattr", "list"})
_OPERATORS = {"eq", "ne", "in", "notin", "lt", "lteq", "gt", "gteq"}
_COMPARING_TESTS = {"sameas", "eq", "equalto", "==", "ne", "in"}


@dataclass(frozen=True)
class VariableUse:
    """The uses of one variable.

    It has the first line with the variable, the source of its default (None if there is none), the literals it is
    compared with, how it is used, and the keys looked up in it. `own` means that the template also assigns the name
    without testing whether the caller passed it: probably an internal variable rather than a parameter.
    """

    name: str
    line: int
    default: str | None = None
    literals: tuple[Plain, ...] = ()
    manners: frozenset[Manner] = frozenset()
    keys: tuple[str, ...] = ()
    own: bool = False


def variable_uses(tree: nodes.Template, names: Iterable[str]) -> tuple[VariableUse, ...]:
    """Return the uses of these names, in the order of their first lines."""
    reader = _Uses(set(names))
    reader.read(tree)
    return tuple(sorted(map(reader.use, sorted(reader.lines)), key=lambda use: use.line))


class _Uses:
    """Collects uses by name in one walk over the tree."""

    def __init__(self, names: set[str]) -> None:
        self._names = names
        self._aliases: dict[str, set[str]] = {name: {name} for name in names}
        self.lines: dict[str, int] = {}
        self._defaults: dict[str, list[tuple[int, str]]] = defaultdict(list)
        self._implied: dict[str, list[tuple[int, str]]] = defaultdict(list)
        self._literals: dict[str, dict[tuple[type, Plain], Plain]] = defaultdict(dict)
        self._manners: dict[str, set[Manner]] = defaultdict(set)
        self._keys: dict[str, set[str]] = defaultdict(set)
        self._items: dict[str, set[str]] = defaultdict(set)
        self._tested_first: set[tuple[str, int]] = set()
        self._assigned: list[tuple[str, nodes.Node]] = []

    def read(self, tree: nodes.Template) -> None:
        everything = list(descendants(tree))
        self._follow(sorted((n for n in everything if isinstance(n, nodes.Assign)), key=lambda node: node.lineno))
        for node in everything:
            if isinstance(node, nodes.For) and isinstance(node.target, nodes.Name):
                # What an item is compared with is a possible item of the list.
                for leaf in leaves(node.iter):
                    self._items[node.target.name] |= self._variables_of(leaf)
        for node in everything:
            self._node(node)

    def use(self, name: str) -> VariableUse:
        defaults = sorted(set(self._defaults[name]))
        if not defaults and not self._manners[name] & {"printed", "iterated", "keyed"}:
            implied = sorted(set(self._implied[name]))
            # If one test treats a missing value as true and another as false, it is a third state.
            defaults = implied[:1] if len({text for _, text in implied}) == 1 else []
        default = " or ".join(dict.fromkeys(text for _, text in defaults)) or None
        own = any(target == name and (name, id(node)) not in self._tested_first for target, node in self._assigned)
        literals = sorted(self._literals[name].values(), key=lambda value: (str(type(value)), str(value)))
        manners = frozenset(self._manners[name])
        return VariableUse(
            name, self.lines[name], default, tuple(literals), manners, tuple(sorted(self._keys[name])), own
        )

    # --- aliases

    def _follow(self, assignments: list[nodes.Assign]) -> None:
        for assignment in assignments:
            target, value = assignment.target, assignment.node
            if isinstance(value, nodes.Call) and isinstance(value.node, nodes.Name) and value.node.name == "namespace":
                if isinstance(target, nodes.Name):
                    for keyword in value.kwargs:
                        self._becomes(f"{target.name}.{keyword.key}", keyword.value)
            elif isinstance(target, nodes.NSRef):
                self._becomes(f"{target.name}.{target.attr}", value)
            elif isinstance(target, nodes.Name):
                self._becomes(target.name, value)

    def _becomes(self, key: str, value: nodes.Node) -> None:
        variables = {name for leaf in leaves(value) for name in self._aliases.get(key_of(leaf), ())}
        if variables:
            self._aliases.setdefault(key, set()).update(variables)

    def _variables_of(self, node: nodes.Node) -> set[str]:
        return self._aliases.get(key_of(bare(node)), set())

    # --- one node

    def _node(self, node: nodes.Node) -> None:
        match node:
            case nodes.Name() if node.name in self._names:
                if node.ctx == "load":
                    self.lines[node.name] = min(node.lineno, self.lines.get(node.name, node.lineno))
            case nodes.Assign():
                self._assignment(node)
            case nodes.AssignBlock() if isinstance(node.target, nodes.Name):
                self._assigned.append((node.target.name, node))
            case nodes.If():
                self._if(node)
            case nodes.CondExpr():
                self._conditional(node)
            case nodes.And() | nodes.Or() | nodes.Not():
                self._truth(node)
            case nodes.Compare():
                self._comparison(node)
            case nodes.Test():
                self._test(node)
            case nodes.Filter():
                self._filter(node)
            case nodes.For():
                self._mark_leaves(node.iter, "iterated")
            case nodes.Getattr() | nodes.Getitem():
                self._look_up(node)
            case nodes.Output() | nodes.Concat():
                for part in node.nodes:
                    self._mark_leaves(part, "printed")
            case nodes.Add():
                self._mark(node.left, "printed")
                self._mark(node.right, "printed")

    def _mark(self, node: nodes.Node, manner: Manner) -> None:
        for name in self._variables_of(node):
            self._manners[name].add(manner)

    def _mark_leaves(self, node: nodes.Node, manner: Manner) -> None:
        for leaf in leaves(node):
            self._mark(leaf, manner)

    def _assignment(self, node: nodes.Assign) -> None:
        if isinstance(node.target, nodes.Name):
            name = node.target.name
            self._assigned.append((name, node))
            if any(is_name(leaf, name) for leaf in leaves(node.node)):
                self._tested_first.add((name, id(node)))
        value = node.node
        if isinstance(value, nodes.Or) and isinstance(value.left, nodes.Name):
            self._add_default(value.left.name, value.right)

    def _if(self, node: nodes.If) -> None:
        """Handle `if x is not defined` … `set x = …`, and the branch after `if x is defined`."""
        self._mark_tested(node.test)
        for name in self._tested_names(node.test):
            given = tests_given(node.test, name)
            if given is not None:
                self._branch(name, node.body, default=not given)
                self._branch(name, node.else_, default=given)

    def _branch(self, name: str, body: list[nodes.Node], *, default: bool) -> None:
        """Mark what a branch assigns to the variable that it tested. With `default`, that is the variable's default."""
        for below in (below for inner in body for below in descendants(inner)):
            if isinstance(below, (nodes.Assign, nodes.AssignBlock)) and is_name(below.target, name):
                self._tested_first.add((name, id(below)))
                if default and isinstance(below, nodes.Assign):
                    self._add_default(name, below.node)

    def _conditional(self, node: nodes.CondExpr) -> None:
        """Handle `x if x is defined else …`."""
        self._mark_tested(node.test)
        for name in self._tested_names(node.test):
            given = tests_given(node.test, name)
            mine, other = (node.expr1, node.expr2) if given else (node.expr2, node.expr1)
            if given is not None and other is not None and mine is not None:
                if any(is_name(leaf, name) for leaf in leaves(mine)):
                    self._add_default(name, other)
                elif is_bool(mine) and is_bool(other):
                    self._implies(name, other)

    def _truth(self, node: nodes.And | nodes.Or | nodes.Not) -> None:
        """Handle `x is defined and x`: a variable that was not passed counts as the other operand."""
        for operand in (node.node,) if isinstance(node, nodes.Not) else (node.left, node.right):
            if isinstance(operand, (nodes.Name, nodes.Getattr)):
                self._mark(operand, "asked")
        if isinstance(node, nodes.Not) or not tests_defined(node.left):
            return
        for name in self._tested_names(node.left):
            given = tests_given(node.left, name)
            required = required_value(node.right, name)
            if required is not None and given is not None and given == isinstance(node, nodes.And):
                # `is defined and x`: missing counts as not x. `is not defined or x`: missing counts as x.
                self._implied[name].append((node.lineno, str(required != given).lower()))

    def _mark_tested(self, test: nodes.Node) -> None:
        for leaf in conditions(test):
            self._mark(leaf, "asked")

    def _tested_names(self, test: nodes.Node) -> set[str]:
        """Return the variables a test is about. Empty if there are very many, as in no real template."""
        names = {node.name for node in subjects(test) if isinstance(node, nodes.Name) and node.name in self._names}
        return names if len(names) <= _MOST_TESTED else set()

    def _comparison(self, node: nodes.Compare) -> None:
        for operand in node.ops:
            if operand.op in ("in", "notin") and not isinstance(node.expr, nodes.Const):
                self._mark(operand.expr, "iterated")
            if operand.op in _OPERATORS:
                for one, other in ((node.expr, operand.expr), (operand.expr, node.expr)):
                    self._compared(self._variables_of(one) | self._items.get(key_of(one), set()), other)

    def _test(self, node: nodes.Test) -> None:
        variables = self._variables_of(node.node)
        if node.name in _COMPARING_TESTS and node.args:
            self._compared(variables, node.args[0])
        elif node.name in ("true", "false", "boolean"):
            for name in variables:
                self._manners[name].add("asked")

    def _compared(self, variables: set[str], other: nodes.Node) -> None:
        constants = other.items if isinstance(other, (nodes.List, nodes.Tuple)) else [other]
        for constant in constants:
            if isinstance(constant, nodes.Const) and isinstance(constant.value, (str, int, float, bool)):
                for name in variables:
                    if isinstance(constant.value, bool):
                        self._manners[name].add("asked")
                    else:
                        self._literals[name][type(constant.value), constant.value] = constant.value

    def _filter(self, node: nodes.Filter) -> None:
        if node.node is None:
            return
        if node.name in _DEFAULT_FILTERS and isinstance(node.node, nodes.Name) and node.node.name in self._names:
            self._add_default(node.node.name, node.args[0] if node.args else nodes.Const(""))
        if node.name in _LIST_FILTERS:
            self._mark(node.node, "iterated")

    def _look_up(self, node: nodes.Getattr | nodes.Getitem) -> None:
        if not isinstance(node.node, nodes.Name):
            return
        for name in self._aliases.get(node.node.name, ()):
            if isinstance(node, nodes.Getattr):
                key = node.attr
            elif isinstance(node.arg, nodes.Const) and isinstance(node.arg.value, str):
                key = node.arg.value
            else:
                self._manners[name].add("iterated")
                continue
            if not hasattr(str, key) and not hasattr(dict, key):
                self._manners[name].add("keyed")
                self._keys[name].add(key)

    def _add_default(self, name: str, default: nodes.Node) -> None:
        text = source_of(default)
        if name in self._names and text is not None and not is_name(default, name):
            self._defaults[name].append((default.lineno or 0, text))

    def _implies(self, name: str, default: nodes.Node) -> None:
        text = source_of(default)
        if text is not None:
            self._implied[name].append((default.lineno or 0, text))
