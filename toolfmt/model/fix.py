"""`toolfmt inspect --fix`: write a fixed copy of a model.

If a model is not trusted, its template is rendered in the worker process with limits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from toolfmt.inspect.checks.editing.template_fix import Variant
from toolfmt.inspect.fix.fix_model import FixedModel, fix_copy
from toolfmt.inspect.fix.small_files import CannotCopy, check_output
from toolfmt.inspect.fix.verification import FixCheck, judged
from toolfmt.inspect.report.report import FindingKey, Report
from toolfmt.inspect.report.turn_shape import TurnShape
from toolfmt.model.batch import Inspector
from toolfmt.model.jobs import JUDGE
from toolfmt.model.model import Model
from toolfmt.templates import ModelFiles, load_files


def fixed_copy(
    place: str, output: str, inspector: Inspector, keys_for: Callable[[Report], frozenset[FindingKey]]
) -> FixedModel:
    """Copy the model to `output` with fixes for the findings that `keys_for` returns for its report.

    Raises `CannotCopy` if `output` is not empty, is inside the original, or is not a valid name. Raises what
    `Inspector.report` raises.
    """
    if not output:  # an empty path would be the current directory
        raise CannotCopy("--output: the name is empty; name a directory that does not exist yet or is empty")
    files = load_files(place)
    check_output(Path(output), files)
    options = inspector.options

    def inspect(files: ModelFiles) -> Report:
        model = Model(files, trusted=inspector.trusted, worker=inspector.worker)
        return model.inspect(tools=options.tools, context=options.context, probe_seed=options.probe_seed)

    def prove(
        before: str, after: str, tokens: Mapping[str, str], shape: TurnShape, variants: Sequence[Variant], typed: bool
    ) -> FixCheck:
        arguments = (before, after, dict(tokens), shape, tuple(variants), typed)
        return judged(*arguments) if inspector.trusted else inspector.worker.run(JUDGE, *arguments)

    report = inspector.report(place)
    return fix_copy(files, report, keys_for(report), Path(output), inspect, prove)
