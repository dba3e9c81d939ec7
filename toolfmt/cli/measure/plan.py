"""The plan of a measurement: the cells of the table, and their questions.

A cell is a wording of the question, a way to pass the tools, a `tool_choice`, and a grammar of the response. A question
is repeated with other seeds. If a scenario has results, it is also asked after the right calls with their results,
whatever the model itself called. So reading results is measured even for a model that never calls.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from toolfmt.cli.measure.scenarios import WORDINGS, Scenario, Wording
from toolfmt.inspect.report.template_profile import Strategy

ToolChoice: TypeAlias = Literal["left out", "auto", "required"]
TOOL_CHOICES: tuple[ToolChoice, ...] = ("left out", "auto", "required")
GrammarChoice: TypeAlias = Literal["none", "auto", "required", "named"]
GRAMMARS: tuple[GrammarChoice, ...] = ("none", "auto", "required", "named")
STRATEGIES: tuple[Strategy, ...] = ("template", "prompt")


@dataclass(frozen=True)
class Cell:
    """A row of the table."""

    strategy: Strategy
    tool_choice: ToolChoice
    wording: Wording
    grammar: GrammarChoice = "none"

    @property
    def must_call(self) -> bool:
        """Whether every response is a call."""
        return self.tool_choice == "required" or self.grammar in ("required", "named")


@dataclass(frozen=True)
class Question:
    """One request: run number `run` of a scenario in a cell, with or without the right calls and their results."""

    cell: Cell
    scenario: Scenario
    run: int
    returned: bool = False

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The conversation so far, in the format of chat endpoints."""
        conversation = self.scenario.answered if self.returned else self.scenario.question_messages
        return conversation(self.cell.wording)


@dataclass(frozen=True)
class MeasurementPlan:
    """Which cells are measured, with which scenarios, and how often each is asked.

    If the tools are described in the system prompt, a request has no tools and no `tool_choice`. If the model must
    call, questions without a matching tool and questions about results are left out. A grammar for a `named` tool is
    tested only with questions that one tool answers.
    """

    scenarios: tuple[Scenario, ...]
    runs: int
    wordings: Collection[Wording] = WORDINGS
    strategies: Collection[Strategy] = STRATEGIES
    tool_choices: Collection[ToolChoice] = TOOL_CHOICES
    grammars: Collection[GrammarChoice] = GRAMMARS[:1]

    def cells(self) -> list[Cell]:
        """The non-empty cells, in the order of the table."""
        available = {wording for scenario in self.scenarios for wording in scenario.questions}
        cells = [
            Cell(strategy, choice, wording, grammar)
            for strategy in STRATEGIES
            for choice in TOOL_CHOICES
            for grammar in GRAMMARS
            for wording in WORDINGS
            if strategy in self.strategies and choice in self._choices(strategy)
            if wording in self.wordings and wording in available
            if grammar in self.grammars
        ]
        return [cell for cell in cells if not (cell.must_call and cell.wording == "no-tool")]

    def _choices(self, strategy: Strategy) -> Collection[ToolChoice]:
        return [choice for choice in self.tool_choices if strategy == "template" or choice == "left out"]

    def questions(self) -> Iterator[Question]:
        """Yield every question, run by run, so that an interrupt leaves all cells equally complete."""
        cells = self.cells()
        for run in range(self.runs):
            for scenario in self.scenarios:
                for cell in cells:
                    if cell.wording in scenario.questions and (cell.grammar != "named" or len(scenario.tools) == 1):
                        yield Question(cell, scenario, run)
                        if scenario.results and not cell.must_call:
                            yield Question(cell, scenario, run, returned=True)
