"""`toolfmt derive`: the derived format as JSON, or the sentence why there is none."""

from __future__ import annotations

from toolfmt.cli.input import name_models_below
from toolfmt.cli.output import complain, is_terminal, print_text
from toolfmt.cli.printing.control_characters import visible
from toolfmt.formats.stored import to_text
from toolfmt.model.derive import derive


def derive_at(place: str, trusted: bool) -> int:
    """Print what is derived from the template at this place; the exit status."""
    made = derive(place, trusted=trusted)
    name_models_below(place, complain)
    if made.format is None or made.proof is None:
        sentence = f"no format can be derived: {made.why_not}"
        print_text(visible(f"{place}: {sentence}") + "\n")
        if not is_terminal():  # whoever sends this into a file sees only the other stream
            complain(f"{place}: {sentence}")
        return 1
    print_text(to_text(made.format))
    answers = f"{made.proof.answers} kind{'' if made.proof.answers == 1 else 's'} of answer"
    limits = "".join(f"; {limit}" for limit in made.proof.limits)
    complain(f"derived ({made.kind}), proven on {made.proof.call_sets} call sets and {answers}{limits}")
    if made.known:
        complain(f"{made.known} reads these calls too, and what its models write otherwise: prefer it")
    return 0
