"""A growing conversation: the turns that a program sends, one after the other. Only data.

Every text is a sentinel followed by some words. A prompt then shows the position of each text, and the shares, which
are counted in characters, are those of a realistic small conversation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from toolfmt.inspect.probe.conversations import PARAMETER, TOOL, Call, Message, answering, calling
from toolfmt.inspect.report.turn_shape import TurnShape

QUESTIONS = (
    "Uq11 I leave on Friday and need to know what the weather will be like where I am going.",
    "Uq12 And how does that compare with the two places that I have to travel through?",
    "Uq13 Thank you. Which of the days would you choose, then?",
    "Uq14 Good. Write that down for me in one sentence.",
)
REASONS = (
    "Tq21 The place is known, so the tool can be asked for it at once; nothing else has to be asked before that.",
    "Tq22 The tool says that it rains at noon and that the evening is dry. That is short enough to be told at once.",
    "Tq23 There are two places on the way, and the tool takes one place at a time, so it has to be asked twice.",
    "Tq24 Both are drier than the first. The difference is what was asked for, not the figures.",
)
RESULTS = (
    "Rq31 rain at noon, dry in the evening, eleven degrees, light wind from the west",
    "Rq32 dry all day, fourteen degrees, no wind",
    "Rq33 some clouds in the morning, thirteen degrees",
)
ANSWERS = (
    "Aq41 It rains at noon and is dry in the evening, at about eleven degrees.",
    "Aq42 Both are drier and a little warmer than where you are going.",
    "Aq43 The second one, since it is dry all day.",
)
PLACES = ("Vq51 Riverside", "Wq52 Hillside", "Wq53 Seaside")
SYSTEM_TEXT = "Sq61 You answer in short sentences."


@dataclass(frozen=True)
class ConversationStep:
    """One addition to the conversation: the model's turn, and what the program sends after it."""

    name: str
    answer: Message
    """What the model wrote."""
    written: str
    """The last text in it."""
    follows: tuple[Message, ...]


def opening(*, system: bool) -> list[Message]:
    """Return the messages of the first prompt."""
    first: list[Message] = [{"role": "system", "content": SYSTEM_TEXT}] if system else []
    return [*first, _question(0)]


def tool_steps(shape: TurnShape, *, parallel: bool, reasoning: bool) -> tuple[ConversationStep, ...]:
    """Return two questions that need a tool. The second one uses two calls if `parallel`."""
    without_reasoning = replace(shape, reasoning=False)
    several: tuple[int, ...] = (1, 2) if parallel else (1,)
    results = "the results of two calls follow" if parallel else "the result of another call follows"
    return (
        _called("the result of a call follows", without_reasoning, (0,), REASONS[0] if reasoning else ""),
        _answered("the second question follows", 0, 1, REASONS[1] if reasoning else ""),
        _called(results, without_reasoning, several, REASONS[2] if reasoning else ""),
        _answered("the third question follows", 1, 2, REASONS[3] if reasoning else ""),
    )


def plain_steps(*, reasoning: bool) -> tuple[ConversationStep, ...]:
    """Return three questions and their responses."""
    names = ("the second question follows", "the third question follows", "the fourth question follows")
    return tuple(
        _answered(name, number, number + 1, REASONS[number] if reasoning else "") for number, name in enumerate(names)
    )


def _called(name: str, shape: TurnShape, numbers: Sequence[int], reasoning: str) -> ConversationStep:
    calls: list[Call] = [(TOOL, {PARAMETER: PLACES[number]}) for number in numbers]
    answer = calling(shape, calls, first=numbers[0])
    results = answering(shape, calls, [RESULTS[number] for number in numbers], first=numbers[0])
    return ConversationStep(name, _thought(answer, reasoning), PLACES[numbers[-1]], tuple(results))


def _answered(name: str, answer: int, question: int, reasoning: str) -> ConversationStep:
    message: Message = {"role": "assistant", "content": ANSWERS[answer]}
    return ConversationStep(name, _thought(message, reasoning), ANSWERS[answer], (_question(question),))


def _thought(turn: Message, reasoning: str) -> Message:
    return turn | {"reasoning_content": reasoning} if reasoning else turn


def _question(number: int) -> Message:
    return {"role": "user", "content": QUESTIONS[number]}
