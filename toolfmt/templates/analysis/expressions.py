"""Classify expressions in a template's syntax tree: what they are about, what a test checks, and their source.

`variable_uses` uses it. Nothing is evaluated. The code uses loops instead of recursion and has limits, because a
template may nest or chain expressions to any depth.
"""

from __future__ import annotations

from collections.abc import Iterator

from jinja2 import nodes

_LONGEST_DEFAULT = 120
_DEEPEST_DEFAULT = 8
# A limit for templates that are written to slow down the analysis: a chain is walked once for each of its parts.
_LONGEST_CHAIN = 20


def key_of(node: nodes.Node) -> str:
    """Return the key of an expression's value: a name, or a namespace's attribute."""
    if isinstance(node, nodes.Name):
        return node.name
    if isinstance(node, nodes.Getattr) and isinstance(node.node, nodes.Name):
        return f"{node.node.name}.{node.attr}"
    return ""


def is_name(node: nodes.Node, name: str) -> bool:
    """Return whether the expression is only this name."""
    return isinstance(node, nodes.Name) and node.name == name


def is_bool(node: nodes.Node) -> bool:
    """Return whether the expression is `true` or `false`."""
    return isinstance(node, nodes.Const) and isinstance(node.value, bool)


def bare(node: nodes.Node) -> nodes.Node:
    """Return the expression without filters and methods around it: `x | lower`, `x.strip()`."""
    for _ in range(_LONGEST_CHAIN):
        if isinstance(node, nodes.Filter) and node.node is not None:
            node = node.node
        elif isinstance(node, nodes.Call) and isinstance(node.node, nodes.Getattr) and hasattr(str, node.node.attr):
            node = node.node.node
        else:
            break
    return node


def leaves(node: nodes.Node) -> Iterator[nodes.Node]:
    """Yield the expressions that can be the value: both branches of a conditional, both sides of `or`."""
    waiting = [node]
    while waiting:
        node = bare(waiting.pop())
        match node:
            case nodes.CondExpr():
                waiting += [node.expr1, *([node.expr2] if node.expr2 is not None else [])]
            case nodes.Or() | nodes.And():
                waiting += [node.left, node.right]
            case _:
                yield node


def conditions(test: nodes.Node) -> Iterator[nodes.Node]:
    """Yield the expressions whose truth a test checks."""
    waiting = [test]
    while waiting:
        match node := waiting.pop():
            case nodes.And() | nodes.Or():
                waiting += [node.left, node.right]
            case nodes.Not():
                waiting.append(node.node)
            case nodes.Name() | nodes.Getattr():
                yield node


def subjects(test: nodes.Node) -> Iterator[nodes.Node]:
    """Yield the expressions that a test is about, without what they call or look up."""
    waiting = [test]
    while waiting:
        match node := waiting.pop():
            case nodes.And() | nodes.Or():
                waiting += [node.left, node.right]
            case nodes.Not() | nodes.Test():
                waiting.append(node.node)
            case nodes.Compare():
                waiting.append(node.expr)
            case _:
                yield node


def tests_defined(test: nodes.Node) -> bool:
    """Return whether the test checks if something is defined or undefined."""
    while isinstance(test, nodes.Not):
        test = test.node
    return isinstance(test, nodes.Test) and test.name in ("defined", "undefined")


def tests_given(test: nodes.Node, name: str) -> bool | None:
    """Return True if the test holds only if the caller passed the variable, False if only if not, None if neither."""
    positive = True
    while isinstance(test, nodes.Not):
        positive, test = not positive, test.node
    match test:
        case nodes.Test() if is_name(test.node, name) and test.name in ("defined", "string", "mapping", "sequence"):
            return positive
        case nodes.Test() if is_name(test.node, name) and test.name in ("undefined", "none"):
            return not positive
        case nodes.Name() if test.name == name:
            return positive
        case nodes.And() | nodes.Or():
            return _either(test, name, positive=positive)
        case _:
            return None


def _either(test: nodes.And | nodes.Or, name: str, *, positive: bool) -> bool | None:
    """Return the first decisive result in a chain of conditions. A loop, because chains may be long."""
    waiting: list[nodes.Node] = [test]
    while waiting:
        node = waiting.pop()
        if isinstance(node, (nodes.And, nodes.Or)):
            waiting += [node.right, node.left]
        elif (given := tests_given(node, name)) is not None:
            return given == positive
    return None


def required_value(test: nodes.Node, name: str) -> bool | None:
    """Return the value that the test requires of the variable, if it tests for true or false."""
    positive = True
    while isinstance(test, nodes.Not):
        positive, test = not positive, test.node
    match test:
        case nodes.Name() if test.name == name:
            return positive
        case nodes.Test() if is_name(test.node, name) and test.name in ("true", "false"):
            return (test.name == "true") == positive
        case nodes.Test() if is_name(test.node, name) and test.name == "sameas" and test.args and is_bool(test.args[0]):
            return _value(test.args[0]) == positive
        case nodes.Compare() if is_name(test.expr, name) and len(test.ops) == 1 and is_bool(test.ops[0].expr):
            same = {"eq": True, "ne": False}.get(test.ops[0].op)
            return None if same is None else (_value(test.ops[0].expr) == same) == positive
        case _:
            return None


def _value(node: nodes.Node) -> object:
    return node.value if isinstance(node, nodes.Const) else None


def source_of(node: nodes.Node, deep: int = 0) -> str | None:
    """Return the source of a short expression, or None if it is long or of another kind."""
    text = None if deep > _DEEPEST_DEFAULT else _written(node, deep + 1)
    return text if text is not None and len(text) <= _LONGEST_DEFAULT else None


def _written(node: nodes.Node, deep: int) -> str | None:
    match node:
        case nodes.Const():
            return _constant(node.value)
        case nodes.Name():
            return node.name
        case nodes.Neg():
            return _joined("-{}", [node.node], deep)
        case nodes.Getattr():
            return _joined("{}." + node.attr.replace("{", "").replace("}", ""), [node.node], deep)
        case nodes.Getitem():
            return _joined("{}[{}]", [node.node, node.arg], deep)
        case nodes.List() | nodes.Tuple():
            return _listed("[]" if isinstance(node, nodes.List) else "()", node.items, deep)
        case nodes.Dict():
            return "{}" if not node.items else None
        case nodes.Call() if not node.kwargs:
            name, arguments = source_of(node.node, deep), _listed("()", node.args, deep)
            return None if name is None or arguments is None else name + arguments
        case nodes.Or():
            return _joined("{} or {}", [node.left, node.right], deep)
        case _:
            return None


def _constant(value: object) -> str | None:
    if value is None or isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return None if len(value) > _LONGEST_DEFAULT else '"' + value.replace("\n", "\\n") + '"'
    # `str` of a huge integer is slow, and raises above some thousand digits.
    return str(value) if isinstance(value, float) or (isinstance(value, int) and value.bit_length() < 64) else None


def _joined(form: str, parts: list[nodes.Expr], deep: int) -> str | None:
    texts = [source_of(part, deep) for part in parts]
    return None if None in texts else form.format(*texts)


def _listed(brackets: str, items: list[nodes.Expr], deep: int) -> str | None:
    texts = [text for item in items[:10] if (text := source_of(item, deep)) is not None]
    return brackets[0] + ", ".join(texts) + brackets[1] if len(texts) == len(items) else None
