"""Tool-call rates of a model, measured: questions with known answers, asked of an endpoint or of a model in this
process, and what came back counted with intervals.

`toolfmt measure` is made of it. A `Plan` says what is asked, a `Subject` answers, `outcomes` asks, a `Measurement`
counts. It stands above `toolfmt.model` and `toolfmt.runtimes`, and prints nothing.
"""

from toolfmt.measuring.judging import Judgement, check_judge, judge
from toolfmt.measuring.measurement import Measurement, Outcome, outcomes
from toolfmt.measuring.plan import Cell, Plan, Question
from toolfmt.measuring.rates import Rate, wilson
from toolfmt.measuring.scenarios import Scenario, named, scenarios, tools
from toolfmt.measuring.subject import Answer, NotAnswered, NotReached, Subject

__all__ = [
    "Answer",
    "Cell",
    "Judgement",
    "Measurement",
    "NotAnswered",
    "NotReached",
    "Outcome",
    "Plan",
    "Question",
    "Rate",
    "Scenario",
    "Subject",
    "check_judge",
    "judge",
    "named",
    "outcomes",
    "scenarios",
    "tools",
    "wilson",
]
