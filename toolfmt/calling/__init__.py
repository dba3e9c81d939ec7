"""The application's side: tools that a model's calls reach.

`ToolRegistry` holds the tools and carries calls out.
"""

from toolfmt.calling.execution import Execution
from toolfmt.calling.registry import ToolRegistry
from toolfmt.calling.validation import invalid_arguments, invalid_schema

__all__ = ["Execution", "ToolRegistry", "invalid_arguments", "invalid_schema"]
