"""What each problem means, and how to fix it, by what is known of the server and of the model directory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from toolfmt.errors import UnknownFormat
from toolfmt.formats import get
from toolfmt.formats.format import DERIVED
from toolfmt.formats.runtime_parsers import parser_name
from toolfmt.inspect.report.report import Report
from toolfmt.inspect.report.verdicts import Advice
from toolfmt.inspect.runtimes.advice import EVERY_RUNTIME, FLAGS, setting
from toolfmt.inspect.runtimes.template_choice import LLAMA_CPP, MLX_LM, SGLANG, TRANSFORMERS, VLLM

_OWN_PARSERS = {
    **{runtime: f"{flags} toolfmt_FORMAT (with toolfmt in its environment)" for runtime, flags in FLAGS.items()},
    MLX_LM: "start it with python -m toolfmt.integrations.mlx_server",
    "llama-cpp-python": "load the model with the chat handler of toolfmt.integrations.llama_cpp",
}
"""How a server uses toolfmt's parser (docs/runtimes.md)."""
_SERVERS = (VLLM, SGLANG, LLAMA_CPP, MLX_LM)
_CLIENTS = "Clients join the fragments of a call."


@dataclass(frozen=True)
class Explanation:
    """What a problem means for clients, and its fix.

    With `settings`, those of the server's parser follow; with `own_parser`, how to use toolfmt's parser in the server.
    """

    means: str
    fix: str = ""
    settings: bool = False
    own_parser: bool = False


_SERVER = "Update the server, or report this to its developers."
_PARSER = "Set the parser that fits the model:"
_ARGUMENTS = "The parser of the server does not fit the model, or has a bug."

EXPLANATIONS: dict[str, Explanation] = {
    "call-left-in-content": Explanation(
        "The model writes calls, and the server did not parse them: its parser is off, or is for another format.",
        _PARSER,
        settings=True,
    ),
    "call-lost": Explanation(
        "The server noticed a call, but its parser failed, and the response has no call.",
        _PARSER,
        settings=True,
    ),
    "call-in-reasoning": Explanation(
        "The server took the whole output for reasoning, so that the call in it was lost.",
        "Set a reasoning parser that fits the model, or none if the model does not reason:",
        settings=True,
    ),
    "marker-in-content": Explanation(
        "A marker is control text of the model's format. Users see it, and it is repeated in later prompts.",
        _PARSER,
        settings=True,
    ),
    "reasoning-in-content": Explanation(
        "The server did not separate the reasoning from the content. Users see it, and later prompts repeat it.",
        "Set the reasoning parser of the model: `--reasoning-parser` in vLLM and SGLang, `--reasoning-format` in "
        "llama.cpp.",
        settings=True,
    ),
    "value-cut": Explanation(
        "The server ends a call at a marker or a brace inside a string. A tool gets a part of the value, or the call "
        "is lost.",
        "Use a parser that reads strings, such as toolfmt's:",
        own_parser=True,
    ),
    "arguments-repeated": Explanation(
        f"{_CLIENTS} The joined arguments are not one JSON object, and the call fails.", _SERVER
    ),
    "arguments-missing": Explanation(
        "Clients parse the arguments as JSON, which an empty string is not. A call without arguments has `{}`.",
        f"{_ARGUMENTS} {_PARSER}",
        settings=True,
    ),
    "arguments-invalid": Explanation(
        "Clients parse the arguments as one JSON object. This fails here.", f"{_ARGUMENTS} {_PARSER}", settings=True
    ),
    "arguments-double-encoded": Explanation(
        "The arguments are a JSON string that contains the JSON of the arguments. Clients get a string.", _SERVER
    ),
    "arguments-not-string": Explanation(
        "`arguments` must be a string with JSON text. Clients fail, or join the wrong text.", _SERVER
    ),
    "arguments-not-object": Explanation("The arguments must be a JSON object in this protocol.", _SERVER),
    "id-missing": Explanation("Clients send the id back with the result. Without it, the next request fails.", _SERVER),
    "id-repeated": Explanation(
        f"{_CLIENTS} Many of them join the ids too, and get a wrong one. Only the first chunk may have it.", _SERVER
    ),
    "id-not-unique": Explanation("It is not clear which call a result belongs to.", _SERVER),
    "index-missing": Explanation("Clients join the fragments of a call by `index`. Some fail without it.", _SERVER),
    "index-wrong": Explanation(
        "Clients join the fragments of a call by `index`, which counts from 0. Several calls become one, or get lost.",
        _SERVER,
    ),
    "name-repeated": Explanation(f"{_CLIENTS} The joined name is not that of a tool.", _SERVER),
    "name-missing": Explanation("A client cannot execute a call without a name.", _SERVER),
    "name-wrong": Explanation(
        "The name contains that of a tool and other text, which the parser should have removed.",
        _PARSER,
        settings=True,
    ),
    "type-missing": Explanation('`type` must be "function" in the first chunk. Some clients skip the call.', _SERVER),
    "finish-reason": Explanation(
        'Agents execute the calls only if the finish reason is "tool_calls" (in Anthropic\'s protocol "tool_use").',
        _SERVER,
    ),
    "stream-differs": Explanation(
        "The same request gives another result when it is streamed. Repeated responses that are not streamed are "
        "identical.",
        "Send requests with `stream: false`, or update the server.",
    ),
    "stream-broken": Explanation("Clients cannot distinguish a complete response from one that broke off.", _SERVER),
    "done-missing": Explanation("Some clients wait for the end of the stream, or report an error.", _SERVER),
    "content-not-string": Explanation("`content` must be a string or null.", _SERVER),
    "unreadable-response": Explanation(
        "The response does not follow the protocol, and no client can read it.", _SERVER
    ),
    "request-fails": Explanation(
        "The server rejects or fails at a valid request. The log of the server may show why.",
        "If the message is about the chat template, inspect the model directory:",
        settings=True,
    ),
    "null-content-rejected": Explanation(
        "The server rejects `content: null` of a message with calls, which OpenAI's clients send. With an empty string "
        "it accepts the same request.",
        "Send an empty string, or update the server.",
    ),
    "tools-off": Explanation(
        "The server was started without tool calling.",
        "Start it with these settings:",
        settings=True,
    ),
    "tool-choice-ignored": Explanation(
        "The request required a call. Agents that depend on it get text, or a call of another tool.",
        "Do not depend on `tool_choice` with this server, or use one that constrains the output.",
    ),
    "cut-call-reported": Explanation(
        "The token limit cut a call, and the response presents it as complete. Clients execute half a call.", _SERVER
    ),
    "tools-dropped": Explanation(
        "The prompt has the same number of tokens with and without tools: the template or the server dropped them.",
        "The template must render the tools, and the server must pass them to it:",
        settings=True,
    ),
    "result-dropped": Explanation(
        "The prompt has the same number of tokens with a short and with a long result: the model never sees results.",
        "The template must render results. `toolfmt inspect` shows whether it does:",
        settings=True,
    ),
    "other-type": Explanation(
        "A value has another type than its schema. The model wrote it so, or the server does not convert it.",
        "Check arguments before you use them (`toolfmt.validator`).",
    ),
    "unknown-tool": Explanation(
        "The request has no such tool. The model invented it, or the server took a part of the text for the name.",
        "Reject calls of unknown tools.",
    ),
}


@dataclass(frozen=True)
class Context:
    """What is known: the server, and the report of the model directory with its path."""

    runtime: str = ""
    report: Report | None = None
    directory: str = ""

    def fix(self, name: str, format: str) -> list[str]:
        """Return the lines of the fix for a problem. `format` is that of the calls in it, if there are any."""
        explanation = EXPLANATIONS[name]
        lines = [explanation.fix]
        if explanation.own_parser:
            known = _OWN_PARSERS if self.runtime not in _OWN_PARSERS else {self.runtime: _OWN_PARSERS[self.runtime]}
            name = next(filter(None, (self._format, format)), "FORMAT")
            return [*lines, *(f"{runtime}: {text.replace('FORMAT', name)}" for runtime, text in known.items())]
        if not explanation.settings:
            return lines
        settings = self._settings(format)
        if not settings:
            return [*(line.removesuffix(":") + "." for line in lines), "Give --directory MODEL to see the settings."]
        return [*lines, *settings, *self._findings(name), *self._other_format(format)]

    @property
    def _format(self) -> str:
        """The name of the format of the model directory, if it is a known one."""
        report = self.report
        name = "" if report is None else report.format.name or ""
        return "" if name == DERIVED else name

    def _settings(self, format: str) -> list[str]:
        """Return the settings of the server, or of all servers if it is unknown, one per line."""
        rows: Sequence[Advice] = self._advice() if self.report is not None else _of_format(format)
        own = [row for row in rows if row.runtime == self.runtime]
        general = [row for row in rows if row.runtime == EVERY_RUNTIME]
        chosen = [*general, *(own or [row for row in rows if row.runtime in _SERVERS])]
        return [f"{row.runtime}: {row.text}" + (f" ({row.remark})" if row.remark else "") for row in chosen]

    def _other_format(self, format: str) -> list[str]:
        """Return a line if the calls are in another format than that of the directory."""
        if not (format and self._format) or format == self._format:
            return []
        why = "check that the server runs the model of this directory, with its template"
        return [f"These calls are in the format {format}, and the directory has {self._format}: {why}."]

    def _advice(self) -> Sequence[Advice]:
        assert self.report is not None
        return [row for row in self.report.sections.advice if row.runtime != TRANSFORMERS]

    def _findings(self, name: str) -> list[str]:
        """Return the findings about the template, for a problem that the template may cause."""
        if self.report is None or name not in ("request-fails", "tools-dropped", "result-dropped"):
            return []
        own = self.report.verdict.runtimes.get(self.runtime)
        codes = [finding.code for finding in self.report.findings] if own is None else own.codes
        return [f"Findings of the template: {', '.join(codes)} (toolfmt inspect {self.directory})"] if codes else []


def _of_format(name: str) -> list[Advice]:
    """Return the settings for a format that was recognized in a response."""
    try:
        format = get(name)
    except UnknownFormat:
        return []
    rows = []
    for runtime in _SERVERS:
        if (parser := parser_name(format, runtime)) is not None:
            text = f"{FLAGS[runtime]} {parser}" if runtime in FLAGS else setting(parser)
            rows.append(Advice(runtime, "--jinja" if runtime == LLAMA_CPP else text))
    return [*rows, Advice(EVERY_RUNTIME, f'toolfmt.Parser("{format.name}", tools=tools)', remark="parses the output")]
