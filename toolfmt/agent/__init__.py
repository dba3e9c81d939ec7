"""The application's side: tools that a model's calls reach, and the turns between the two.

    registry = ToolRegistry([get_weather])
    outcome = run(from_openai(client, "my-model"), messages, registry)

`ToolRegistry` holds the tools and carries calls out; `run` asks a model, and answers its calls until it is done. A
model is made by `from_openai`, `from_completions`, `from_stream` or `from_text`, or is a callable (`protocol.py`).
"""

from toolfmt.agent.completions import from_completions, from_openai
from toolfmt.agent.execution import Execution
from toolfmt.agent.loop import Outcome, run
from toolfmt.agent.models import from_stream, from_text
from toolfmt.agent.protocol import AskModel, ModelResponse
from toolfmt.agent.registry import ToolRegistry
from toolfmt.agent.validation import invalid_arguments, invalid_schema

__all__ = [
    "AskModel",
    "Execution",
    "ModelResponse",
    "Outcome",
    "ToolRegistry",
    "from_completions",
    "from_openai",
    "from_stream",
    "from_text",
    "invalid_arguments",
    "invalid_schema",
    "run",
]
