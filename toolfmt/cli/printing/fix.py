"""The result of `toolfmt inspect --fix` as text: every change as a diff under its finding, and what remains.

From data; `toolfmt.cli.commands` calls it. Diffs are not wrapped, so that they can be applied.
"""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group
from rich.text import Text

from toolfmt.cli.printing.control_characters import visible
from toolfmt.cli.printing.layout import UNWRAPPED, grid, printed, spaced
from toolfmt.inspect.checks import CHECKS, code, name
from toolfmt.inspect.fix.fix_model import Fixed, MendedModel

_STYLES = {"+": "green", "-": "red", "@": "cyan"}


def mended_text(mended: MendedModel, width: int, colour: bool) -> str:
    """Return the diffs, the remaining findings with reasons, and what the copy contains."""
    diffs = "".join(printed(_diff(fixed), UNWRAPPED, colour) for fixed in mended.fixed)
    return diffs + printed(spaced(_summary(mended)), width, colour)


def _diff(fixed: Fixed) -> Text:
    names = {code(check): name(check) for check in CHECKS}
    text = Text(f"{fixed.code} {names[fixed.code]}", "bold").append(f"  {visible(fixed.file)}\n", "not bold")
    for line in fixed.diff.splitlines():
        text.append(visible(line) + "\n", _STYLES.get(line[:1], ""))
    return text


def _summary(mended: MendedModel) -> Iterator[Text | Group]:
    yield Text(_healed(mended), "bold green" if mended.fixed else "bold")
    now = mended.report.verdict.tools
    yield Text(f"Its verdict is {now}{'' if now == mended.before else f', before it was {mended.before}'}.")
    notes = {note.key for note in mended.report.notes}
    remaining = [one for one in mended.not_fixed if one.key not in notes]
    if remaining:
        rows = grid()
        for one in remaining:
            rows.add_row(Text(f"  {one.code} {one.name}"), Text(visible(one.why)))
        yield Group(Text("What remains"), rows)
    left = [one.code for one in mended.not_fixed if one.key in notes]
    if left:
        yield Text(f"Notes that remain: {', '.join(left)}.")
    yield Text(_copied(mended))


def _healed(mended: MendedModel) -> str:
    """Return how many findings are fixed. If none is, state that the copy is the same."""
    output = visible(str(mended.output))
    if not mended.fixed:
        selected = " of what is selected" if mended.report.left_out else ""
        what = f"No finding{selected} could be fixed" if mended.not_fixed else f"Nothing{selected} needs a fix"
        return f"{what}: the copy in {output} is the same as the original."
    healed = len({(fixed.code, fixed.outcome) for fixed in mended.fixed})
    count = "One finding is" if healed == 1 else f"{healed} findings are"
    return f"{count} fixed in {output}, verified by inspecting the copy."


def _copied(mended: MendedModel) -> str:
    files = f"The copy holds {', '.join(map(visible, mended.files))}." if mended.files else "The copy holds no file."
    if mended.kind == "directory":
        return f"{files} Weights and other files are not copied: put these files next to them."
    if mended.kind == "gguf":
        return f"{files} The GGUF file is not rewritten: give llama.cpp the template with --chat-template-file."
    return files
