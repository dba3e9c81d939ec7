"""`toolfmt.derive`: derive the format of a chat template's calls if it is not a known format."""

from __future__ import annotations

from pathlib import Path

from toolfmt.errors import LimitHit
from toolfmt.formats.serialization.format_data import from_text
from toolfmt.inspect.derive_model import DerivationResult, derivation_stopped, derive_files
from toolfmt.inspect.format.derive.derive import Derived
from toolfmt.inspect.format.derive.verification import Proof
from toolfmt.model.jobs import DERIVE, shared_worker
from toolfmt.templates import ModelFiles, load_files, template_alone

_TEXT = ("{{", "{%", "{#", "\n")
"""Occurs in the text of a template, but rarely in a path to one."""


def derive(source: str | Path, *, trusted: bool = False) -> Derived:
    """Return the format of a template's calls.

    No template raises, whatever it contains or does.

    Args:
        source: The text of a chat template, or a path (anything that `toolfmt.load` takes).
        trusted: Run the template in this process. The default is a worker process with limits.

    Raises:
        BadModelDirectory: No model can be read.
    """
    if isinstance(source, str) and any(delimiter in source for delimiter in _TEXT) and not _is_place(source):
        files = template_alone(source, Path("template"))
    else:
        files = load_files(source)
    return _with_objects(_derivation(files, trusted))


def _is_place(text: str) -> bool:
    """Return whether a file or directory has this path."""
    try:
        return Path(text).exists()
    except (OSError, ValueError):  # longer than a path can be, or an invalid character
        return False


def _derivation(files: ModelFiles, trusted: bool) -> DerivationResult:
    try:
        return derive_files(files) if trusted else shared_worker().run(DERIVE, files)
    except LimitHit as hit:
        return derivation_stopped(hit)


def _with_objects(made: DerivationResult) -> Derived:
    """Return the same result with the format and its verification as objects."""
    if made.derived is None:
        return Derived(None, why_not=made.why_not, known=made.known)
    one = made.derived
    proof = Proof(one.call_sets, one.outputs, one.limits)
    return Derived(from_text(one.text, "a derived format"), one.kind, proof, known=made.known)
