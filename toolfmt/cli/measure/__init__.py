"""Measure a model's tool-call rates: ask questions with known solutions, and count the results with intervals.

The questions go to an endpoint or to a model in this process. `toolfmt measure` uses this package. A `MeasurementPlan`
lists the questions, a `Subject` responds, `outcomes` runs the plan, and a `Measurement` counts. The package imports
`toolfmt.model.model` and `toolfmt.integrations`, and prints nothing.
"""

from toolfmt.cli.measure.measurement import Measurement, QuestionOutcome, outcomes
from toolfmt.cli.measure.plan import Cell, MeasurementPlan, Question
from toolfmt.cli.measure.rates import Rate, wilson
from toolfmt.cli.measure.scenarios import Scenario, named, scenarios, tools
from toolfmt.cli.measure.scoring import Judgement, check_judge, judge
from toolfmt.cli.measure.subject import NotAnswered, NotReached, Subject, SubjectResponse

__all__ = [
    "Cell",
    "Judgement",
    "Measurement",
    "MeasurementPlan",
    "NotAnswered",
    "NotReached",
    "Question",
    "QuestionOutcome",
    "Rate",
    "Scenario",
    "Subject",
    "SubjectResponse",
    "check_judge",
    "judge",
    "named",
    "outcomes",
    "scenarios",
    "tools",
    "wilson",
]
