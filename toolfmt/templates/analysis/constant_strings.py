"""Evaluate constant string expressions of a template, small ones only, without running any code."""

from __future__ import annotations

from collections.abc import Sequence

from jinja2 import nodes

from toolfmt.templates.analysis.aliases import Meanings
from toolfmt.templates.analysis.expressions import key_of

_LONGEST, _DEEPEST = 400, 100
_MOST_STEPS = 200_000
"""Limits for templates that are written to slow down the analysis."""


class ConstantStrings:
    """Evaluates constant expressions; `meanings` are what the variables of the template are set to."""

    def __init__(self, meanings: Meanings) -> None:
        self._meanings = meanings
        self._known: dict[int, str | None] = {}
        self._left = _MOST_STEPS

    def of(self, node: nodes.Node | None, depth: int = 0) -> str | None:
        """Return the string that an expression is: `'a' ~ 'b'`, `['a', 'b'] | join`, `'_' * 2`, `'ba'[::-1]`.

        None if it is not constant, or longer than 400 characters.
        """
        if node is None or depth > _DEEPEST:
            return None
        if id(node) not in self._known:
            self._left -= 1
            self._known[id(node)] = None  # a variable that contains itself has no constant value
            found = self._evaluated(node, depth + 1) if self._left >= 0 else None
            self._known[id(node)] = found if found is not None and len(found) <= _LONGEST else None
        return self._known[id(node)]

    def _evaluated(self, node: nodes.Node, depth: int) -> str | None:
        match node:
            case nodes.Name() | nodes.Getattr() if len(values := self._meanings.get(key_of(node), [])) == 1:
                return self.of(values[0], depth)
            case nodes.Const(value=str(text)):
                return text
            case nodes.Concat(nodes=parts):
                return self._joined(parts, "", depth)
            case nodes.Add(left=left, right=right):
                return self._joined([left, right], "", depth)
            case nodes.Mul(left=part, right=nodes.Const(value=int(times))) if 0 <= times <= _LONGEST:
                repeated = self.of(part, depth)
                return None if repeated is None or len(repeated) * times > _LONGEST else repeated * times
            case nodes.Mod(left=nodes.Const(value=str(form)), right=value) if form.count("%") == form.count("%s"):
                return self._inserted(form.split("%s"), value, depth)
            case nodes.Call(node=nodes.Getattr(attr="format", node=nodes.Const(value=str(form))), args=args):
                return self._inserted(form.split("{}"), nodes.Tuple(args, "load"), depth)
            case nodes.Call(
                node=nodes.Getattr(attr="join", node=separator), args=[nodes.List() | nodes.Tuple() as items]
            ):
                between = self.of(separator, depth)
                return None if between is None else self._joined(items.items, between, depth)
            case nodes.Filter(name="join", node=nodes.List() | nodes.Tuple() as items, args=args):
                between = self.of(args[0], depth) if args else ""
                return None if between is None else self._joined(items.items, between, depth)
            case nodes.Filter(name="lower" | "upper" | "trim" | "string" | "reverse" | "replace" as name, node=inner):
                return _filtered(name, self.of(inner, depth), [self.of(one, depth) for one in node.args])
            case nodes.Call(node=nodes.Getattr(attr="lower" | "upper" | "strip" | "replace" as name, node=inner)):
                return _filtered(name, self.of(inner, depth), [self.of(one, depth) for one in node.args])
            case nodes.Getitem(
                node=inner, arg=nodes.Slice(start=None, stop=None, step=nodes.Neg(node=nodes.Const(value=1)))
            ):
                return _filtered("reverse", self.of(inner, depth), [])
            case _:
                return None

    def _joined(self, parts: Sequence[nodes.Node], between: str, depth: int) -> str | None:
        texts = [self.of(part, depth) for part in parts]
        constant = [text for text in texts if text is not None]
        return between.join(constant) if len(constant) == len(texts) else None

    def _inserted(self, around: list[str], value: nodes.Node, depth: int) -> str | None:
        """Return the pieces of a format string with the values between them."""
        values = value.items if isinstance(value, nodes.Tuple) else [value]
        texts = [self.of(one, depth) for one in values]
        if None in texts or len(around) != len(texts) + 1:
            return None
        return around[0] + "".join(f"{text}{after}" for text, after in zip(texts, around[1:], strict=True))


def _filtered(name: str, text: str | None, arguments: list[str | None]) -> str | None:
    if text is None or None in arguments:
        return None
    given = [argument for argument in arguments if argument is not None]
    match name, given:
        case "replace", [old, new]:
            return text.replace(old, new) if len(text) * (len(new) + 1) <= _LONGEST**2 else None
        case "reverse", []:
            return text[::-1]
        case "lower" | "upper", []:
            return text.lower() if name == "lower" else text.upper()
        case "trim" | "strip", _:
            return text.strip(*given)
        case "string", []:
            return text
        case _:
            return None
