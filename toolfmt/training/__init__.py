"""Training data: which characters and tokens of a rendered conversation the model writes.

`Model.render_training` renders a conversation and verifies which parts of it the model samples at generation time.
"""

from toolfmt.training.inspection import TrainingFinding, TrainingReport
from toolfmt.training.spans import Kind, Problem, ProblemKind, TrainingSpan
from toolfmt.training.tokens import TrainingTokens
from toolfmt.training.training_text import TrainingText

__all__ = [
    "Kind",
    "Problem",
    "ProblemKind",
    "TrainingFinding",
    "TrainingReport",
    "TrainingSpan",
    "TrainingText",
    "TrainingTokens",
]
