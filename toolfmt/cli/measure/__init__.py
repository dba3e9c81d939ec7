"""Tool-call rates of a model, measured: questions with known answers, asked of an endpoint or of a model in this
process, and what came back counted with intervals.

`toolfmt measure` is made of it. A `Plan` says what is asked, a `Subject` answers, `outcomes` asks, a `Measurement`
counts. It imports `toolfmt.model.model` and `toolfmt.integrations`, and prints nothing.
"""

from toolfmt.cli.measure.measurement import Measurement, Outcome, outcomes
from toolfmt.cli.measure.plan import Cell, Plan, Question
from toolfmt.cli.measure.rates import Rate, wilson
from toolfmt.cli.measure.scenarios import Scenario, named, scenarios, tools
from toolfmt.cli.measure.scoring import Judgement, check_judge, judge
from toolfmt.cli.measure.subject import Answer, NotAnswered, NotReached, Subject

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
