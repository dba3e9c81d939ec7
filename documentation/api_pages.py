"""The pages of the public names, one page per package: directives that mkdocstrings fills from the source, without
importing it. A package's `__all__` lists its public names.
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
    "toolfmt.training": "What the model writes in a rendered conversation, as spans, masks and labels.",
    "toolfmt.testing": "The fuzz kit, for anyone's parser.",
}
_BY_USE = {
    "toolfmt": (
        *("load", "Model", "Prompt", "Parser", "parse", "parse_many", "Message", "ToolCall"),
        *("Event", "Content", "Reasoning", "ToolCallStart", "ToolCallArguments", "ToolCallEnd", "ToolCallRejected"),
        *("merge", "WholeCalls", "Conversation", "ToolRegistry", "run", "grammar", "Grammar", "write"),
        *("get", "register", "ToolCallFormat", "format_from_file", "format_to_dict", "infer", "derive", "Derived"),
        *("read_request", "ClientRequest", "taken_ids", "CallIds", "ToolfmtError"),
    ),
    "toolfmt.formats": (
        *("Parser", "WholeCalls", "write", "read_back", "prose", "get", "formats", "FORMATS", "names"),
        *("for_model_type", "default_format", "register", "ToolCallFormat", "RuntimeParser", "Call", "TOLERANCES"),
    ),
    "toolfmt.integrations.protocols": (
        *("Chat", "Responses", "Messages", "Ollama", "StreamEncoder"),
        *("Usage", "FinishReason", "RejectedCalls", "Payload"),
    ),
    "toolfmt.agent": (
        *("ToolRegistry", "run", "Outcome", "from_openai", "from_completions", "from_stream", "from_text"),
        *("AskModel", "ModelResponse", "Execution", "invalid_arguments", "invalid_schema"),
    ),
    "toolfmt.testing": (
        *("check_round_trip", "check_chunking", "check_never_raises", "check_shape", "check_arguments_json"),
        *("check_nothing_lost", "check_prose", "check_cut", "check_not_joined", "INVARIANTS", "read", "ParserOutcome"),
        *("tools", "calls", "schemas", "written", "outputs", "prose", "damaged", "pieces", "GeneratedOutput"),
        *("cases", "Case", "target", "Fuzz", "Defect", "InvariantViolation"),
    ),
    "toolfmt.integrations": ("transformers", "vllm", "sglang", "sglang_plugin", "llama_cpp", "mlx", "mlx_server"),
    "toolfmt.integrations.transformers": ("stream", "response_template", "from_response_template", "limits", "LIMITS"),
    "toolfmt.integrations.mlx": ("stream", "register", "GrammarProcessor"),
    "toolfmt.integrations.mlx_server": ("main", "run", "ServerOptions", "model_at", "Generator", "Handler"),
}
"""The names of a module in the order in which a program needs them. Names that are missing here follow."""
_LONG_VALUES = ("toolfmt.formats.TOLERANCES",)
"""Constants whose value another page shows."""
_INTEGRATIONS = "toolfmt/integrations/*.py"
_SHARED = ("__init__", "deltas", "streaming", "verified_templates")
"""Modules that the integrations share."""


def pages() -> dict[str, str]:
    """A page for every package, one for the runtime adapters, and the list of them, by their paths in the site."""
    rooms = {f"reference/api/{room.replace('.', '_')}.md": _room(room, summary) for room, summary in _ROOMS.items()}
    return {"reference/api/index.md": _overview(), **rooms, "reference/api/toolfmt_runtimes.md": _runtimes()}


def public(room: str) -> list[str]:
    """Return the names that a package lists in `__all__`, in the order of use, errors last.

    Raises `ValueError` if the order contains a name that is not public.
    """
    tree = _tree(room)
    names = sorted(_listed(tree), key=lambda name: (name.lower(), name))
    errors = {alias.name for node in ast.walk(tree) if _is_of_errors(node) for alias in node.names}
    return sorted(_by_use(room, names), key=lambda name: name in errors)


def _by_use(module: str, names: list[str]) -> list[str]:
    """Return the names with those of `_BY_USE` first. Raises `ValueError` if one of these is not public."""
    first = _BY_USE.get(module, ())
    if unknown := sorted(set(first) - set(names)):
        raise ValueError(f"documentation/api_pages.py: not public in {module}: {', '.join(unknown)}")
    return [*first, *(name for name in names if name not in first)]


def _is_of_errors(node: ast.AST) -> TypeGuard[ast.ImportFrom]:
    return isinstance(node, ast.ImportFrom) and node.module == "toolfmt.errors"


def _listed(tree: ast.Module) -> list[str]:
    for node in tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id="__all__")], value=ast.List() | ast.Tuple() as names):
                return [str(ast.literal_eval(name)) for name in names.elts]
    return []


def adaptors() -> dict[str, list[str]]:
    """Return the public functions and classes of every adapter, by its module, in the order of use."""
    files = {file.stem: file for file in sorted(_ROOT.glob(_INTEGRATIONS)) if file.stem not in _SHARED}
    found = {}
    for stem in _by_use("toolfmt.integrations", list(files)):
        module = f"toolfmt.integrations.{stem}"
        tree = ast.parse(files[stem].read_text(encoding="utf-8"))
        defined = [node.name for node in tree.body if isinstance(node, (ast.ClassDef, ast.FunctionDef))]
        names = _listed(tree) or [name for name in defined if not name.startswith("_")]
        found[module] = _by_use(module, names)
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
    shown = "" if name not in _LONG_VALUES else "      show_attribute_values: false\n"
    return f"::: {name}\n    options:\n      heading_level: {level}\n{shown}\n"
