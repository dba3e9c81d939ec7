"""The versions of toolfmt, Python, the system and packages, without names of the machine or its user."""

from __future__ import annotations

import platform
import re
import sys
from importlib.metadata import PackageNotFoundError, version

from toolfmt import __version__

PACKAGES = (
    "jinja2 tokenizers click rich minijinja ggufdoctor wasmtime gguf huggingface_hub transformers mlx-lm vllm "
    "sglang llama-cpp-python llguidance xgrammar langchain-core smolagents pydantic jsonschema openai hypothesis"
)
"""Packages that toolfmt works with. Others are not listed."""
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+){0,3}(?:(?:a|b|rc|\.?post|\.?dev)[0-9]+)?")


def versions() -> dict[str, str]:
    """Return the versions by name, those of packages if they are installed."""
    python = f"{platform.python_implementation()} {platform.python_version()}"
    known = {"toolfmt": __version__, "Python": python, "system": _system()}
    return {**known, **{name: found for name in PACKAGES.split() if (found := _installed(name))}}


def _system() -> str:
    """Return the system, its version number and the processor type.

    The full name of a kernel or distribution is left out, because it can contain the name of a company or a machine.
    """
    number = platform.mac_ver()[0] if sys.platform == "darwin" else platform.release()
    match = _NUMBER.match(number)
    machine = platform.machine()
    return " ".join([platform.system(), *([match[0]] if match else []), *([machine] if machine.isidentifier() else [])])


def _installed(name: str) -> str:
    """Return the version of a package without a builder's suffix. Empty if it is not installed."""
    try:
        match = _NUMBER.match(version(name) or "")
    except (PackageNotFoundError, OSError, ValueError):
        return ""
    return match[0] if match else "installed"
