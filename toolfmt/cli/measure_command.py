"""`toolfmt measure`: check the options, create a subject, ask it, return the exit status.

`toolfmt.cli.commands` creates a `Measuring` from the options. Options that exclude each other are a usage error,
reported before anything is asked.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from toolfmt.cli.input import name_models_below
from toolfmt.cli.measure import Measurement, MeasurementPlan, NotReached, Subject, check_judge, named, outcomes
from toolfmt.cli.measure.plan import GRAMMARS, STRATEGIES, TOOL_CHOICES
from toolfmt.cli.measure.scenarios import WORDINGS, Scenario
from toolfmt.cli.measure.subject import Sampling
from toolfmt.cli.output import check_printable, complain, print_json, print_text, terminal
from toolfmt.cli.printing.measure import MeasurementProgress, measured_text
from toolfmt.cli.request import variables
from toolfmt.errors import ToolfmtError

if TYPE_CHECKING:
    from toolfmt.model.model import Model

_INTERRUPTED = 130
_LONGEST = 86_400
_URL = re.compile(r"https?://\S+")
ALL_CHOICES = tuple(choice.replace(" ", "-") for choice in TOOL_CHOICES)
"""The values of --tool-choice."""


@dataclass(frozen=True)
class Measuring:
    """The options, one field each. None, or empty, if not given."""

    place: str | None
    endpoint: str | None
    model_name: str | None
    completions: bool
    format_name: str | None
    runtime: str | None
    runs: int
    wordings: tuple[str, ...]
    strategies: tuple[str, ...]
    choices: tuple[str, ...]
    grammars: tuple[str, ...]
    scenarios: tuple[str, ...]
    temperature: float | None
    seed: int
    max_tokens: int
    typed: tuple[str, ...]
    parallel: int
    timeout: float
    api_key: str | None
    as_json: bool
    trusted: bool

    def status(self) -> int:
        """Ask, print what was measured, and return the exit status.

        Raises `click.UsageError` for options that exclude each other, and `ToolfmtError`.
        """
        self._check()
        check_printable()  # else hours of measuring would be lost
        check_judge()
        sampling = Sampling(self.temperature, self.max_tokens, variables(self.typed))
        chosen = named(self.scenarios)
        subject = self._subject(sampling)
        measurement = Measurement(subject.name, self._plan(chosen, subject), self._settings(sampling))
        if not measurement.questions:
            raise ToolfmtError("nothing is left to be asked: no scenario has a question in what was chosen")
        interrupted = self._ask(subject, measurement)
        if measurement.answers == 0 and not interrupted:
            raise ToolfmtError(self._nothing(measurement))
        self._print(measurement)
        return _INTERRUPTED if interrupted else int(measurement.failed)

    def _ask(self, subject: Subject, measurement: Measurement) -> bool:
        """Ask everything. Return whether it was interrupted."""
        watched = sys.stderr is not None and sys.stderr.isatty()
        try:
            with MeasurementProgress(len(measurement.questions), watched) as bar:
                bar.update(measurement)
                for outcome in outcomes(subject, measurement.questions, seed=self.seed, parallel=self.parallel):
                    measurement.add(outcome)
                    bar.update(measurement)
        except NotReached as error:
            raise ToolfmtError(f"{self.endpoint}: {error}; check --endpoint, and that the server is running") from None
        except KeyboardInterrupt:
            return True
        return False

    def _check(self) -> None:
        if not self.timeout <= _LONGEST:  # also catches nan
            raise click.UsageError(f"--timeout takes at most {_LONGEST} seconds, a day")
        endpoint_options = {
            "--model": self.model_name,
            "--completions": self.completions,
            "--parallel": self.parallel > 1,
            "--format": self.format_name,
        }
        if self.endpoint is None:
            if given := [name for name, value in endpoint_options.items() if value]:
                raise click.UsageError(f"{given[0]} goes with --endpoint URL")
            if self.place is None:
                raise click.UsageError("give a MODEL directory, or --endpoint URL --model NAME")
        elif not (_URL.fullmatch(self.endpoint) and self.endpoint.isprintable()):
            raise click.UsageError("--endpoint takes a URL such as http://127.0.0.1:8000/v1")
        elif self.model_name is None:
            raise click.UsageError("--endpoint needs --model NAME, the model's name at the endpoint")
        elif self.runtime is not None:
            raise click.UsageError("--runtime is for a model in this process; leave it or --endpoint out")
        elif self.completions and self.place is None:
            raise click.UsageError("--completions renders the prompts here: give the MODEL directory, too")

    def _subject(self, sampling: Sampling) -> Subject:
        model = self._loaded()
        if self.endpoint is None:
            from toolfmt.cli.measure.in_process import InProcessSubject

            assert model is not None
            return InProcessSubject(model, sampling, self.runtime)  # type: ignore[arg-type]  # click checked it
        from toolfmt.cli.measure.endpoints import Address, ChatEndpoint, CompletionEndpoint

        address = Address(self.endpoint, self.model_name or "", self.api_key or "none", self.timeout)
        if self.completions:
            assert model is not None
            return CompletionEndpoint(address, sampling, model, self.format_name)
        return ChatEndpoint(address, sampling, model, self.format_name)

    def _loaded(self) -> Model | None:
        if self.place is None:
            return None
        from toolfmt.model.model import load

        model = load(self.place, trusted=self.trusted)
        name_models_below(self.place, complain)
        return model

    def _plan(self, chosen: tuple[Scenario, ...], subject: Subject) -> MeasurementPlan:
        choices = [choice for choice in TOOL_CHOICES if choice.replace(" ", "-") in (self.choices or ALL_CHOICES)]
        known = [choice for choice in choices if choice in subject.tool_choices]
        if not known:
            raise ToolfmtError(f"tool_choice {choices[0]}: only a chat endpoint supports this; leave out --tool-choice")
        grammars = [grammar for grammar in GRAMMARS if grammar in (self.grammars or GRAMMARS[:1])]
        if missing := [grammar for grammar in grammars if grammar not in subject.grammars]:
            raise ToolfmtError(
                f"--grammar {missing[0]}: only a model that runs here supports this; leave out --endpoint"
            )
        wordings = [wording for wording in WORDINGS if wording in (self.wordings or WORDINGS)]
        strategies = [strategy for strategy in STRATEGIES if strategy in (self.strategies or STRATEGIES)]
        return MeasurementPlan(chosen, self.runs, wordings, strategies, known, grammars)

    def _settings(self, sampling: Sampling) -> dict[str, Any]:
        """Return the settings of the requests, for display."""
        heat = "unset" if sampling.temperature is None else sampling.temperature
        last = self.seed + self.runs - 1
        seeds = str(self.seed) if last == self.seed else f"{self.seed}–{last}"
        return {"temperature": heat, "seeds": seeds, "max_tokens": sampling.max_tokens, **sampling.variables}

    def _print(self, measurement: Measurement) -> None:
        if self.as_json:
            print_json(measurement.to_dict())
        else:
            print_text(measured_text(measurement, *terminal()))

    def _nothing(self, measurement: Measurement) -> str:
        ((why, _),) = measurement.failures.most_common(1)
        url = "" if self.endpoint is None else f"{self.endpoint}: "
        hint = "" if self.endpoint is None else "; look at --endpoint (most end in /v1) and --model"
        return f"{url}no request was answered: {why}{hint}"
