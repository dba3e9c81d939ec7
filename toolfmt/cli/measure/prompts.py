"""Questions as prompts for a model whose directory is known, and as messages for one whose directory is not."""

from __future__ import annotations

import json
from typing import Any

from toolfmt.cli.measure.plan import Cell, Question
from toolfmt.cli.measure.scenarios import tools
from toolfmt.cli.measure.subject import NotAnswered, Sampling
from toolfmt.errors import ToolfmtError, WorkerUnavailable
from toolfmt.formats import prose, write
from toolfmt.formats.format import ToolCallFormat
from toolfmt.formats.prompting.tool_descriptions import result_heading
from toolfmt.model.model import Model
from toolfmt.render.prompt import Prompt


class Prompts:
    """The prompts of a model for questions, each rendered once."""

    def __init__(self, model: Model, sampling: Sampling) -> None:
        self._model, self._sampling = model, sampling
        self._made: dict[tuple[Cell, str, bool], Prompt] = {}

    def of(self, question: Question) -> Prompt:
        """Return the prompt. Raises `NotAnswered` if the template raises, or does not support the tools in this way."""
        key = question.cell, question.scenario.name, question.returned
        if key not in self._made:
            strategy, variables = question.cell.strategy, self._sampling.variables
            try:
                self._made[key] = self._model.render(question.messages, tools(), strategy, **variables)
            except WorkerUnavailable:
                raise
            except ToolfmtError as error:
                raise NotAnswered(str(error)) from None
        return self._made[key]


def messages_in_words(format: ToolCallFormat, question: Question) -> list[dict[str, Any]]:
    """Return the conversation with tools, calls and results as text, for an endpoint whose template is unknown.

    The instructions are a system message. All results of a turn are one user message, each under its heading.
    """
    messages = [
        {"role": "system", "content": prose(format, tools())},
        *question.scenario.question_messages(question.cell.wording),
    ]
    if not question.returned:
        return messages
    calls = question.scenario.calls
    made = write(format, [(call["name"], call["arguments"]) for call in calls], tools())
    results = "\n\n".join(
        f"{result_heading(call['name'])}\n{json.dumps(result, ensure_ascii=False)}"
        for call, result in zip(calls, question.scenario.results, strict=True)
    )
    return [*messages, {"role": "assistant", "content": made}, {"role": "user", "content": results}]
