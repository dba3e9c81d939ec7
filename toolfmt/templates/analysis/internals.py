"""Find names in a template that lead out of the sandbox, including those in branches that never run.

toolfmt renders in jinja2's sandbox, which rejects these attributes. A runtime that renders without it executes whatever
code they lead to (CVE-2024-34359 in llama-cpp-python before 0.2.72).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from jinja2 import nodes

from toolfmt.templates.analysis.aliases import Meanings, meanings_of
from toolfmt.templates.analysis.constant_strings import ConstantStrings
from toolfmt.templates.analysis.variables import descendants

_INTERNAL = re.compile(
    r"__(?:class|mro|bases?|subclasses|globals|builtins|import|init|new|call|dict|code|closure|func|self|module|wrapped"
    r"|getattr|getattribute|reduce|reduce_ex|loader|spec|defaults|kwdefaults|subclasshook|format|getitem)__"
    r"|\A(?:func_globals|func_code|gi_frame|gi_code|f_globals|f_builtins|f_back|tb_frame)\Z"
)
# Functions of jinja2 that chat templates do not need, and that give access to the globals of its module.
_FUNCTIONS = frozenset({"lipsum", "cycler", "joiner"})
# These run code or lead to it. Templates of models do not call them.
_CALLED = frozenset(
    {"eval", "exec", "compile", "getattr", "setattr", "globals", "locals", "vars", "open", "__import__"}
)
_METHODS = frozenset({"popen", "Popen", "system", "check_output", "import_module"})
_MODULES = frozenset({"popen", "Popen", "subprocess", "importlib", "os.system"})
_STATEMENTS: dict[type[nodes.Node], str] = {
    nodes.Include: "include",
    nodes.Import: "import",
    nodes.FromImport: "from",
    nodes.Extends: "extends",
}
_MOST = 50


def internals(tree: nodes.Template) -> tuple[tuple[str, int], ...]:
    """Return what leads out of the sandbox, each once with its first line, in the order of the lines.

    - an attribute or key such as `__class__`, or a string that contains such a name
    - the filter `attr`
    - a use of `lipsum`, `cycler` or `joiner` without a call
    - a call of a function that runs code (`eval`, `popen`)
    - a statement that loads another template
    """
    meanings = meanings_of(tree)
    strings = ConstantStrings(meanings)
    for node in descendants(tree):
        if isinstance(node, nodes.Macro):
            meanings.setdefault(node.name, [])  # a name that the template defines
    called = {id(node.node) for node in descendants(tree) if isinstance(node, nodes.Call)}
    found: dict[str, int] = {}
    for node in descendants(tree):
        for what in _leads(node, meanings, strings, called):
            found[what] = min(node.lineno, found.get(what, node.lineno))
    return tuple(sorted(found.items(), key=lambda one: (one[1], one[0]))[:_MOST])


def _leads(node: nodes.Node, meanings: Meanings, strings: ConstantStrings, called: set[int]) -> Iterator[str]:
    computed = "a name that is computed when the template runs"
    match node:
        case nodes.Getattr(attr=name) | nodes.NSRef(attr=name) if name.startswith("_") or _INTERNAL.search(name):
            yield name
        case nodes.Keyword(key=name) if name.startswith("_"):
            yield name
        case nodes.Getitem(arg=nodes.Expr() as key) if (strings.of(key) or "").startswith("_"):
            yield strings.of(key) or ""
        case nodes.Getitem(node=nodes.Call(node=nodes.Name(name=name))) if name in _FUNCTIONS - meanings.keys():
            yield name
        case nodes.Call(node=nodes.Name(name=name)) if name in _CALLED - meanings.keys():
            yield f"{name}()"
        case nodes.Call(node=nodes.Getattr(attr=name)) if name in _METHODS:
            yield f"{name}()"
        case nodes.Include() | nodes.Import() | nodes.FromImport() | nodes.Extends():
            yield f"{{% {_STATEMENTS[type(node)]} %}}"
        case nodes.Filter(name="attr", args=[name, *_]) if not _INTERNAL.search(strings.of(name) or ""):
            yield f"`attr` with {computed}" if strings.of(name) is None else "`attr`"
        case nodes.Filter(name="map", kwargs=[nodes.Keyword(key="attribute")]):
            if strings.of(node.kwargs[0].value) is None:
                yield f"`map` with {computed}"
        case nodes.Name(name=name, ctx="load") if (
            name in _FUNCTIONS and name not in meanings and id(node) not in called
        ):
            yield name
        case nodes.Expr() if (text := strings.of(node)) is not None:
            yield from [text] if text in _MODULES else _INTERNAL.findall(text)
