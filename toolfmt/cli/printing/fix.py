"""The result of `toolfmt inspect --fix` as text: every change as a diff under its finding, and what remains.

From data; `toolfmt.cli.commands` calls it. Diffs are not wrapped, so that they can be applied.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Group
from rich.text import Text

from toolfmt.cli.printing.control_characters import visible
from toolfmt.cli.printing.layout import UNWRAPPED, grid, printed, spaced
from toolfmt.inspect.checks import CHECKS, code, name
from toolfmt.inspect.fix.fix_model import Fixed, FixedModel

_STYLES = {"+": "green", "-": "red", "@": "cyan"}


def fixed_model_text(fixed_model: FixedModel, width: int, colour: bool) -> str:
    """Return the diffs, the remaining findings with reasons, and what the copy contains."""
    diffs = "".join(printed(_diff(fixed), UNWRAPPED, colour) for fixed in fixed_model.fixed)
    return diffs + printed(spaced(_summary(fixed_model)), width, colour)


def _diff(fixed: Fixed) -> Text:
    names = {code(check): name(check) for check in CHECKS}
    text = Text(f"{fixed.code} {names[fixed.code]}", "bold").append(f"  {visible(fixed.file)}\n", "not bold")
    return text.append_text(diff_text(fixed.diff))


def diff_text(diff: str) -> Text:
    """Return a diff with colors."""
    text = Text()
    for line in diff.splitlines():
        text.append(visible(line) + "\n", _STYLES.get(line[:1], ""))
    return text


def _summary(fixed_model: FixedModel) -> Iterator[Text | Group]:
    yield Text(_fixed_sentence(fixed_model), "bold green" if fixed_model.fixed else "bold")
    now = fixed_model.report.verdict.tools
    yield Text(
        f"Verdict of the copy: {now}{'' if now == fixed_model.before else f' (original: {fixed_model.before})'}."
    )
    notes = {note.key for note in fixed_model.report.notes}
    remaining = [one for one in fixed_model.not_fixed if one.key not in notes]
    if remaining:
        rows = grid()
        for one in remaining:
            rows.add_row(Text(f"  {one.code} {one.name}"), Text(visible(one.why)))
        yield Group(Text("What remains"), rows)
    left = [one.code for one in fixed_model.not_fixed if one.key in notes]
    if left:
        yield Text(f"Notes that remain: {', '.join(left)}.")
    yield Text(copied_files(fixed_model.files, fixed_model.kind))


def _fixed_sentence(fixed_model: FixedModel) -> str:
    """Return how many findings are fixed. If none is, state that the copy is the same."""
    output = visible(str(fixed_model.output))
    if not fixed_model.fixed:
        selected = " of what is selected" if fixed_model.report.left_out else ""
        what = f"No finding{selected} could be fixed" if fixed_model.not_fixed else f"Nothing{selected} needs a fix"
        return f"{what}: the copy in {output} is the same as the original."
    number = len({(fixed.code, fixed.outcome) for fixed in fixed_model.fixed})
    count = "One finding is" if number == 1 else f"{number} findings are"
    return f"{count} fixed in {output}, verified by inspecting the copy."


def copied_files(names: Sequence[str], kind: str) -> str:
    """Return which files a copy of a model of this kind has, and what to do with them."""
    files = f"The copy holds {', '.join(map(visible, names))}." if names else "The copy holds no file."
    if kind == "directory":
        return f"{files} Weights and other files are not copied: copy these files into the directory of the weights."
    if kind == "gguf":
        return f"{files} The GGUF file is not rewritten: give llama.cpp the template with --chat-template-file."
    return files
