"""A griffe extension: modules in folders that have no `__init__.py` are found too, as Python finds them.

griffe skips such folders of a package; `toolfmt/inspect` is one, and two public names are there.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import griffe


class PlainFolders(griffe.Extension):  # type: ignore[misc]  # griffe is not installed where types are checked
    """Adds the folders of a package that are not packages, with the modules in them."""

    def on_package(self, *, pkg: griffe.Module, loader: griffe.GriffeLoader, **kwargs: Any) -> None:
        """Look below the package's folder."""
        if isinstance(pkg.filepath, Path):
            for folder in _plain(pkg.filepath.parent):
                pkg.set_member(folder.name, _module(folder, pkg, loader))


def _plain(folder: Path) -> list[Path]:
    inner = sorted(path for path in folder.iterdir() if path.is_dir() and path.name != "__pycache__")
    return [path for path in inner if not (path / "__init__.py").exists() and any(path.glob("**/*.py"))]


def _module(path: Path, parent: griffe.Module, loader: griffe.GriffeLoader) -> griffe.Module:
    """A file or a folder as a module, with all that is below it."""
    own = path if path.is_file() else path / "__init__.py"
    if own.is_file():
        module = griffe.visit(
            path.stem, own, own.read_text(encoding="utf-8"), parent=parent, extensions=loader.extensions
        )
    else:
        module = griffe.Module(path.stem, filepath=[path], parent=parent)
    if path.is_dir():
        for inner in sorted(path.iterdir()):
            if inner.name not in ("__pycache__", "__init__.py") and (inner.is_dir() or inner.suffix == ".py"):
                module.set_member(inner.stem, _module(inner, module, loader))
    return module
