"""The pages of the public names, a page a room: directives that mkdocstrings fills from the source, without importing
it. Which names are public is what the rooms list.
"""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TypeGuard

from documentation.markdown import literal, prose, span, table

_ROOT = Path(__file__).parents[1]
_ROOMS = {
    "toolfmt": "Everything that a program needs first.",
    "toolfmt.formats": "Formats, their parser and their writer: standard library only.",
    "toolfmt.integrations.protocols": "Events as the streams that clients read.",
    "toolfmt.agent": "Tools that calls reach, and the turns between a model and them.",
    "toolfmt.testing": "The fuzz kit, for anyone's parser.",
}
_INTEGRATIONS = "toolfmt/integrations/*.py"
_SHARED = ("__init__", "deltas", "streaming", "verified_templates")
"""Modules that the integrations share."""


def pages() -> dict[str, str]:
    """A page for every room, one for the adaptors to runtimes, and the list of them, by their paths in the site."""
    rooms = {f"reference/api/{room.replace('.', '_')}.md": _room(room, summary) for room, summary in _ROOMS.items()}
    return {"reference/api/index.md": _overview(), **rooms, "reference/api/toolfmt_runtimes.md": _runtimes()}


def public(room: str) -> list[str]:
    """The names that a room lists in `__all__`; what is raised stands last."""
    tree = _tree(room)
    errors = {alias.name for node in ast.walk(tree) if _is_of_errors(node) for alias in node.names}
    return sorted(_listed(tree), key=lambda name: (name in errors, name.lower(), name))


def _is_of_errors(node: ast.AST) -> TypeGuard[ast.ImportFrom]:
    return isinstance(node, ast.ImportFrom) and node.module == "toolfmt.errors"


def _listed(tree: ast.Module) -> list[str]:
    for node in tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id="__all__")], value=ast.List() | ast.Tuple() as names):
                return [str(ast.literal_eval(name)) for name in names.elts]
    return []


def adaptors() -> dict[str, list[str]]:
    """The public functions and classes of every adaptor, by its module."""
    found = {}
    for file in sorted(file for file in _ROOT.glob(_INTEGRATIONS) if file.stem not in _SHARED):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        defined = [node.name for node in tree.body if isinstance(node, (ast.ClassDef, ast.FunctionDef))]
        found[f"toolfmt.integrations.{file.stem}"] = _listed(tree) or [
            name for name in defined if not name.startswith("_")
        ]
    return found


def _tree(module: str) -> ast.Module:
    path = _ROOT.joinpath(*module.split("."))
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return ast.parse(file.read_text(encoding="utf-8"))


def _overview() -> str:
    rows = [
        (f"[{span(room)}]({room.replace('.', '_')}.md)", summary, ", ".join(_link(room, name) for name in public(room)))
        for room, summary in _ROOMS.items()
    ]
    runtimes = ", ".join(map(span, adaptors()))
    rows.append((f"[{span('toolfmt.integrations')}](toolfmt_runtimes.md)", "toolfmt in other runtimes.", runtimes))
    return (
        "# API\n\nThe public names: what the packages list, and nothing else. Names are imported when they are first "
        "used, so that `import toolfmt` costs nothing.\n\n"
    ) + table(("module", "what is in it", "names"), rows)


def _link(room: str, name: str) -> str:
    return span(name) if name.startswith("__") else f"[{span(name)}]({room.replace('.', '_')}.md#{room}.{name})"


def _room(room: str, summary: str) -> str:
    docstring = prose(ast.get_docstring(_tree(room)) or "")
    names = [name for name in public(room) if not name.startswith("__")]
    return f"---\ntitle: API of {room}\n---\n\n# {literal(room)}\n\n{docstring}\n\n" + "".join(
        _filled(f"{room}.{name}", 2) for name in names
    )


def _runtimes() -> str:
    parts = []
    for module, names in adaptors().items():
        docstring = prose(ast.get_docstring(_tree(module)) or "")
        parts.append(f"## {literal(module)}\n\n{docstring}\n\n")
        parts += [_filled(f"{module}.{name}", 3) for name in names]
    head = "---\ntitle: API of toolfmt.integrations\n---\n\n# toolfmt.integrations\n\n"
    return head + prose(ast.get_docstring(_tree("toolfmt.integrations")) or "") + "\n\n" + "".join(parts)


def _filled(name: str, level: int) -> str:
    return f"::: {name}\n    options:\n      heading_level: {level}\n\n"
