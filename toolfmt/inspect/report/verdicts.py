"""The verdict of a report: one on the model, and one for each runtime with what to set there."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from toolfmt.inspect.report.json_record import JsonRecord

ToolsWord: TypeAlias = Literal["native", "adapted", "prompt-only", "broken"]
RuntimeStatus: TypeAlias = Literal["works", "works with", "tools as text", "fails", "unknown"]
"""Whether a client that sends tools to the runtime gets tool calls.

`works`: with its defaults. `works with`: with the settings named. `tools as text`: the template does not render the
request's tools, so that the messages have to describe them, or calls arrive as text, which toolfmt's parser reads.
`fails`: not at all. `unknown`: not confirmed.
"""


@dataclass(frozen=True)
class Advice(JsonRecord):
    """How to call tools with one runtime: the flags, the setting or the line to type.

    `typed` is whether the text is to be typed; it is a reason or an instruction if not. `remark` is what else to do or
    to know, as a clause or empty.
    """

    runtime: str
    text: str
    status: RuntimeStatus = "works with"
    remark: str = ""
    typed: bool = True


@dataclass(frozen=True)
class RuntimeVerdict(JsonRecord):
    """The verdict on one runtime: `settings` as in the advice, `codes` of the errors and warnings that remain there."""

    status: RuntimeStatus
    settings: str = ""
    codes: tuple[str, ...] = ()


@dataclass(frozen=True)
class VerdictBasis:
    """What the verdict depends on besides the findings and the other parts of the report.

    `renders` is whether the template can be rendered at all, `takes_longer_requests` whether it rejects a plain
    question, but not one with tools, a system message or its variables. `rejects_tools` is whether it raises if tools
    are sent, but not on a plain question.
    """

    renders: bool = True
    takes_longer_requests: bool = False
    rejects_tools: bool = False


@dataclass(frozen=True)
class Verdict:
    """Whether a program can call tools with the model: `tools` as a keyword, `sentence` as an instruction.

    `native`: with the template as it is. `adapted`: with the adaptations of `render`. `prompt-only`: the template
    shows no tools, but they work if described in the system prompt. `broken`: they fail in every runtime.
    """

    tools: ToolsWord
    sentence: str
    runtimes: dict[str, RuntimeVerdict] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        return {
            "tools": self.tools,
            "sentence": self.sentence,
            "runtimes": {name: one.to_dict() for name, one in self.runtimes.items()},
        }
