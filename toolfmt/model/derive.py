"""`toolfmt.derive`: the format that a chat template's own calls show, where nobody has written it down."""

from __future__ import annotations

from pathlib import Path

from toolfmt.errors import LimitHit
from toolfmt.formats.stored import from_text
from toolfmt.inspect.derive_model import DerivationResult, derivation_stopped, derive_files
from toolfmt.inspect.format.derive.derive import Derived
from toolfmt.inspect.format.derive.verification import Proof
from toolfmt.model.jobs import DERIVE, shared_worker
from toolfmt.templates import ModelFiles, load_files, template_alone

_TEXT = ("{{", "{%", "{#", "\n")
"""What stands in a template's text, and rarely in a path to one."""


def derive(source: str | Path, *, trusted: bool = False) -> Derived:
    """The format that a template's calls show.

    Takes a model's place (what `toolfmt.load` takes) or the text of a chat template. The template runs in a process
    with limits unless it is `trusted`. Raises `BadModelDirectory` where there is no model to be read; nothing that a
    template is or does raises.
    """
    if isinstance(source, str) and any(sign in source for sign in _TEXT) and not _is_place(source):
        files = template_alone(source, Path("template"))
    else:
        files = load_files(source)
    return _told(_derivation(files, trusted))


def _is_place(text: str) -> bool:
    """Whether something has this for its path."""
    try:
        return Path(text).exists()
    except (OSError, ValueError):  # longer than a path may be, or with a character that none has
        return False


def _derivation(files: ModelFiles, trusted: bool) -> DerivationResult:
    try:
        return derive_files(files) if trusted else shared_worker().run(DERIVE, files)
    except LimitHit as hit:
        return derivation_stopped(hit)


def _told(made: DerivationResult) -> Derived:
    """The same with the format and its proof as objects."""
    if made.derived is None:
        return Derived(None, why_not=made.why_not, known=made.known)
    one = made.derived
    proof = Proof(one.call_sets, one.answers, one.limits)
    return Derived(from_text(one.text, "a derived format"), one.kind, proof, known=made.known)
