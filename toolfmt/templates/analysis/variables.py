"""Find the names that a template reads from its caller, its clock calls, and its filters, without running anything.

`ChatTemplate` passes the result of `Environment.parse`. jinja2's own `meta.find_undeclared_variables` is not suitable.
It runs the code generator, which folds constants, so that `9**(9**9)` in a dead branch hangs it. It also reports every
name that an `if` assigns, even if all branches assign it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar
from weakref import WeakKeyDictionary

from jinja2 import nodes

NodeType = TypeVar("NodeType", bound=nodes.Node)
_MACRO_NAMES = frozenset({"caller", "kwargs", "varargs"})


def caller_names(tree: nodes.Template) -> set[str]:
    """Return the names that some path through the template reads before the template assigns them.

    Macro names belong to the template on every path.
    """
    reader = _Reader()
    reader.scope(tree.body, set())
    return reader.read - {node.name for node in descendants(tree) if isinstance(node, nodes.Macro)}


def calls(tree: nodes.Template, name: str) -> bool:
    """Return whether the template calls the function of this name anywhere, including dead branches."""
    return any(_is_call(node, name) for node in descendants(tree))


def tree_size(tree: nodes.Template) -> int:
    """Return the number of nodes in the tree."""
    return sum(1 for _ in descendants(tree))


def filters(tree: nodes.Template) -> dict[str, int]:
    """Return the filters in the template, each with its first line, in the order of their lines."""
    used: dict[str, int] = {}
    for node in descendants(tree):
        if isinstance(node, nodes.Filter):
            used[node.name] = min(node.lineno, used.get(node.name, node.lineno))
    return dict(sorted(used.items(), key=lambda item: (item[1], item[0])))


def keys(tree: nodes.Template) -> dict[str, int]:
    """Return the keys that the template looks up in objects of its caller, each with its first line.

    `m.x`, `m['x']`, `m.get('x')` and `'x' in m` are lookups. The template's own namespaces do not count.
    """
    everything = list(descendants(tree))
    assigned = [node for node in everything if isinstance(node, nodes.Assign) and _is_call(node.node, "namespace")]
    own = {node.target.name for node in assigned if isinstance(node.target, nodes.Name)}
    methods = {id(node.node) for node in everything if isinstance(node, nodes.Call)}
    lines: dict[str, int] = {}
    for node in everything:
        key = None if id(node) in methods else _key(node)
        if key is not None and getattr(getattr(node, "node", None), "name", "") not in own:
            lines[key] = min(node.lineno, lines.get(key, node.lineno))
    return lines


def _key(node: nodes.Node) -> str | None:
    """Return the key that this expression looks up in an object."""
    match node:
        case nodes.Getattr():
            return node.attr
        case nodes.Getitem(arg=nodes.Const(value=str(key))):
            return key
        case nodes.Call(node=nodes.Getattr(attr="get"), args=[nodes.Const(value=str(key)), *_]):
            return key
        case nodes.Compare(expr=nodes.Const(value=str(key)), ops=[nodes.Operand(op="in", expr=expr)]):
            return key if isinstance(expr, nodes.Name) else None
    return None


class _Reader:
    """Walks statements in execution order. `known` are the names assigned on every path so far."""

    def __init__(self) -> None:
        self.read: set[str] = set()

    def scope(self, body: Sequence[nodes.Node], known: set[str]) -> None:
        """Read statements whose assignments are local to them."""
        known = set(known)
        macros: list[nodes.Macro] = []
        self._statements(body, known, macros)
        # A macro runs when it is called, usually after the assignments that follow it in the source.
        for macro in macros:
            self.scope(macro.body, known | _names(macro.args) | _MACRO_NAMES)

    def _statements(self, body: Sequence[nodes.Node], known: set[str], macros: list[nodes.Macro]) -> bool:
        """Add to `known` what the statements assign. Return True if they never run to their end."""
        ended = False
        for node in body:
            ended = self._statement(node, known, macros) or ended
        return ended

    def _statement(self, node: nodes.Node, known: set[str], macros: list[nodes.Macro]) -> bool:
        match node:
            case nodes.If():
                return self._if(node, known, macros)
            case nodes.Continue() | nodes.Break():
                return True
            case nodes.Output():
                self._expressions(node.nodes, known)
                return any(_is_call(part, "raise_exception") for part in node.nodes)
            case nodes.Assign():
                self._expressions([node.node], known)
                self._assign(node.target, known)
            case nodes.AssignBlock():
                self._expressions([node.filter] if node.filter else [], known)
                self.scope(node.body, known)
                self._assign(node.target, known)
            case nodes.For():
                self._for(node, known)
            case nodes.With():
                self._expressions(node.values, known)
                self.scope(node.body, known | _names(node.targets))
            case nodes.Macro():
                self._expressions(node.defaults, known | _names(node.args))
                known.add(node.name)
                macros.append(node)
            case nodes.CallBlock():
                self._expressions([node.call, *node.defaults], known)
                self.scope(node.body, known | _names(node.args) | _MACRO_NAMES)
            case nodes.FilterBlock():
                self._expressions([node.filter], known)
                self.scope(node.body, known)
            case nodes.ScopedEvalContextModifier():
                self._expressions(node.options, known)
                self.scope(node.body, known)
            case nodes.Scope() | nodes.Block():
                self.scope(node.body, known)
            case _:
                self._expressions([node], known)
                known |= _imported(node)
        return False

    def _if(self, node: nodes.If, known: set[str], macros: list[nodes.Macro]) -> bool:
        """A name is known after the `if` if every branch that runs to its end assigns it."""
        self._expressions([node.test, *(branch.test for branch in node.elif_)], known)
        outcomes = []
        for body in (node.body, *(branch.body for branch in node.elif_), node.else_):
            outcome = set(known)
            if not self._statements(body, outcome, macros):
                outcomes.append(outcome)
        if outcomes:
            known |= set.intersection(*outcomes)
        return not outcomes

    def _for(self, node: nodes.For, known: set[str]) -> None:
        self._expressions([node.iter], known)
        inner = known | _names([node.target])
        self._expressions([node.test] if node.test else [], inner)
        self.scope(node.body, inner | {"loop"})
        self.scope(node.else_, known)

    def _expressions(self, expressions: Iterable[nodes.Node], known: set[str]) -> None:
        for expression in expressions:
            for node in descendants(expression):
                if isinstance(node, nodes.Name) and node.name not in known:
                    self.read.add(node.name)

    def _assign(self, target: nodes.Node, known: set[str]) -> None:
        for node in descendants(target):
            if isinstance(node, nodes.NSRef) and node.name not in known:
                self.read.add(node.name)
        known |= _names([target])


_cached_descendants: WeakKeyDictionary[nodes.Template, tuple[nodes.Node, ...]] = WeakKeyDictionary()


def cache_nodes(tree: nodes.Template) -> None:
    """Cache the nodes of a tree that is no longer modified: many functions call `descendants` on it."""
    _cached_descendants[tree] = tuple(_walk(tree))


def descendants(node: nodes.Node) -> Iterator[nodes.Node]:
    """Yield the node and all nodes below it, without recursion: `a + a + …` nests as deep as it is long."""
    kept = _cached_descendants.get(node) if isinstance(node, nodes.Template) else None
    return _walk(node) if kept is None else iter(kept)


def _walk(node: nodes.Node) -> Iterator[nodes.Node]:
    waiting = [node]
    while waiting:
        yield (node := waiting.pop())
        waiting.extend(node.iter_child_nodes())


def in_text_order(node: nodes.Node) -> Iterator[nodes.Node]:
    """Yield the node and all nodes below it, in the order of the source."""
    waiting = [node]
    while waiting:
        yield (node := waiting.pop())
        waiting.extend(reversed([*node.iter_child_nodes()]))


def copied(tree: NodeType) -> NodeType:
    """Return a deep copy of the tree, to modify or compile it (compiling modifies it).

    Parsing the source again takes twenty times as long.
    """
    copy = _alone(tree)
    waiting: list[nodes.Node] = [copy]
    while waiting:
        node = waiting.pop()
        for name, value in node.iter_fields():
            if isinstance(value, nodes.Node):
                setattr(node, name, one := _alone(value))
                waiting.append(one)
            elif isinstance(value, list):
                several = [_alone(item) if isinstance(item, nodes.Node) else item for item in value]
                setattr(node, name, several)
                waiting += [item for item in several if isinstance(item, nodes.Node)]
    return copy


def _alone(node: NodeType) -> NodeType:
    """Return a shallow copy of the node."""
    copy = object.__new__(type(node))
    vars(copy).update(vars(node))
    return copy


def _names(targets: Iterable[nodes.Node]) -> set[str]:
    return {node.name for target in targets for node in descendants(target) if isinstance(node, nodes.Name)}


def _imported(node: nodes.Node) -> set[str]:
    if isinstance(node, nodes.Import):
        return {node.target}
    if isinstance(node, nodes.FromImport):
        return {name if isinstance(name, str) else name[1] for name in node.names}
    return set()


def _is_call(node: nodes.Node, name: str) -> bool:
    return isinstance(node, nodes.Call) and isinstance(node.node, nodes.Name) and node.node.name == name
