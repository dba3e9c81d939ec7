"""The application side: tools that a model can call, and the turns between model and tools.

    registry = ToolRegistry([get_weather])
    outcome = run(from_openai(client, "my-model"), messages, registry)

`ToolRegistry` contains the tools and executes calls. `run` calls a model and returns results to it until it is done.
`from_openai`, `from_completions`, `from_stream` and `from_text` create a model; it can also be any callable
(`protocol.py`).
"""

from toolfmt.agent.completions import from_completions, from_openai
from toolfmt.agent.execution import Execution
from toolfmt.agent.loop import Outcome, run
from toolfmt.agent.models import from_stream, from_text
from toolfmt.agent.protocol import AskModel, ModelResponse
from toolfmt.agent.registry import ToolRegistry
from toolfmt.agent.validation import invalid_arguments, invalid_schema, validator

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
    "validator",
]
