"""What is measured: the cells of the table, and the questions that fill them.

A cell is a wording of the question, a way the tools go in, and what the request says about calling. A question is asked
again with other seeds; where a scenario has results, it is also asked with the right calls made and returned, whatever
the model itself has called: so that how it reads results can be counted even of a model that never calls.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from toolfmt.cli.measure.scenarios import WORDINGS, Scenario, Wording
from toolfmt.inspect.report.template_profile import Strategy

ToolChoice: TypeAlias = Literal["left out", "auto", "required"]
TOOL_CHOICES: tuple[ToolChoice, ...] = ("left out", "auto", "required")
STRATEGIES: tuple[Strategy, ...] = ("template", "prompt")


@dataclass(frozen=True)
class Cell:
    """A row of the table."""

    strategy: Strategy
    tool_choice: ToolChoice
    wording: Wording


@dataclass(frozen=True)
class Question:
    """One request: the `run`th of a scenario in a cell, with the right calls made and `returned` or not."""

    cell: Cell
    scenario: Scenario
    run: int
    returned: bool = False

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The conversation so far, in the shape of chat endpoints."""
        conversation = self.scenario.answered if self.returned else self.scenario.asked
        return conversation(self.cell.wording)


@dataclass(frozen=True)
class MeasurementPlan:
    """Which cells are measured, with which scenarios, how often each is asked.

    Where tools go in as words a request has no tools and can say nothing about calling. A question that no tool helps
    with is not asked where a call is `required`, and neither is what results say: the model may not answer.
    """

    scenarios: tuple[Scenario, ...]
    runs: int
    wordings: Collection[Wording] = WORDINGS
    strategies: Collection[Strategy] = STRATEGIES
    tool_choices: Collection[ToolChoice] = TOOL_CHOICES

    def cells(self) -> list[Cell]:
        """The cells, in the order of the table; those that no scenario fills are none."""
        asked = {wording for scenario in self.scenarios for wording in scenario.questions}
        return [
            Cell(strategy, choice, wording)
            for strategy in STRATEGIES
            for choice in TOOL_CHOICES
            for wording in WORDINGS
            if strategy in self.strategies and choice in self._choices(strategy)
            if wording in self.wordings and wording in asked
            if (choice, wording) != ("required", "no-tool")
        ]

    def _choices(self, strategy: Strategy) -> Collection[ToolChoice]:
        return [choice for choice in self.tool_choices if strategy == "template" or choice == "left out"]

    def questions(self) -> Iterator[Question]:
        """Every question, run by run, so that all cells are known equally well wherever it is broken off."""
        cells = self.cells()
        for run in range(self.runs):
            for scenario in self.scenarios:
                for cell in cells:
                    if cell.wording in scenario.questions:
                        yield Question(cell, scenario, run)
                        if scenario.results and cell.tool_choice != "required":
                            yield Question(cell, scenario, run, returned=True)
