"""What `toolfmt inspect --fix` did, as text: every change as a diff under the finding that it heals, and what remains.

Data in, text out; `toolfmt.cli.commands` calls it. Diffs are not wrapped, so that they can be applied.
"""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group
from rich.text import Text

from toolfmt.inspect.checks import CHECKS, code, name
from toolfmt.mending.model import Fixed, MendedModel
from toolfmt.printing.layout import UNWRAPPED, grid, printed, spaced, visible

_STYLES = {"+": "green", "-": "red", "@": "cyan"}
_HOW_MANY = {1: "One finding is", 0: "No finding is"}


def mended_text(mended: MendedModel, width: int, colour: bool) -> str:
    """The diffs, what remains and why, what the copy holds."""
    diffs = "".join(printed(_diff(fixed), UNWRAPPED, colour) for fixed in mended.fixed)
    return diffs + printed(spaced(_summary(mended)), width, colour)


def _diff(fixed: Fixed) -> Text:
    names = {code(check): name(check) for check in CHECKS}
    text = Text(f"{fixed.code} {names[fixed.code]}", "bold").append(f"  {visible(fixed.file)}\n", "not bold")
    for line in fixed.diff.splitlines():
        text.append(visible(line) + "\n", _STYLES.get(line[:1], ""))
    return text


def _summary(mended: MendedModel) -> Iterator[Text | Group]:
    healed = len({fixed.code for fixed in mended.fixed})
    count = _HOW_MANY.get(healed, f"{healed} findings are")
    how = ", proven by inspecting the copy" if healed else ""
    yield Text(f"{count} healed in {visible(str(mended.output))}{how}.", "bold green" if healed else "bold")
    notes = {note.code for note in mended.report.notes}
    remaining = [one for one in mended.not_fixed if one.code not in notes]
    if remaining:
        rows = grid()
        for one in remaining:
            rows.add_row(Text(f"  {one.code} {one.name}"), Text(visible(one.why)))
        yield Group(Text("What remains"), rows)
    left = [one.code for one in mended.not_fixed if one.code in notes]
    if left:
        yield Text(f"Notes that remain: {', '.join(left)}.")
    yield Text(_copied(mended))


def _copied(mended: MendedModel) -> str:
    files = f"The copy holds {', '.join(map(visible, mended.files))}." if mended.files else "The copy holds no file."
    if mended.kind == "directory":
        return f"{files} Weights and other files are not copied: put these files beside them."
    if mended.kind == "gguf":
        return f"{files} The GGUF file is not rewritten: give llama.cpp the template with --chat-template-file."
    return files
