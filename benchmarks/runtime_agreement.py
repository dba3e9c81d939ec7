"""Compare the verdict on each runtime with what the runtime's own code does with the requests of an OpenAI client.

    python -m benchmarks.runtime_agreement FOLDER … [--runtime NAME]… [--template TEXT] [--json FILE] [--prompts]

FOLDER contains templates (`*.jinja`, searched recursively). Those that `TEMPLATES` lists are used, with the models of
corpus/models that it lists. A runtime is used if it can be imported; `runtime_parsers.py` lists what vLLM and SGLang
need. `--json FILE` writes one line per conversation. `--prompts` prints the prompts of the conversations that fail.

Every conversation is sent through the runtime's own preparation of requests and rendered (`runtime_requests.py`), as
sent and as `toolfmt render --output messages` adapts it. It arrives if `missing` returns nothing. The calls that the
template renders are read by the parser that the report's advice names, streamed and whole. Nothing else of the report
is used for the outcome.
"""

from __future__ import annotations

import argparse
import copy
import hashlib
import importlib
import json
import logging
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any, Literal, TypeAlias

from benchmarks import mlx_lm_reading, peer_reading
from benchmarks.real_templates import probes
from benchmarks.runtime_reading import (
    Output,
    sglang_streamed,
    sglang_whole,
    tokenizer_for,
    tokens_of,
    vllm_streamed,
    vllm_whole,
)
from benchmarks.runtime_requests import RENDERERS, absence
from benchmarks.template_models import TOKENS
from toolfmt.errors import TemplateError
from toolfmt.formats import write
from toolfmt.inspect.format.decision import decide
from toolfmt.inspect.format.read_back import render_calls
from toolfmt.inspect.report.report import Report
from toolfmt.inspect.report.wording import quote
from toolfmt.inspect.runtimes.request_handling import REQUEST_HANDLING
from toolfmt.inspect.runtimes.template_choice import MLX_LM, SGLANG, TRANSFORMERS, VLLM
from toolfmt.model.model import Model
from toolfmt.templates import ModelFiles, TemplateSource
from toolfmt.testing.peers.claims import NOT_READ_ALONE
from toolfmt.testing.peers.event_dicts import calls_of

Word: TypeAlias = Literal["works", "tools as text", "fails", "own encoder"]
Message: TypeAlias = dict[str, Any]
Call: TypeAlias = tuple[str, dict[str, Any]]

ROOT = Path(__file__).parents[1]
TEMPLATES: Mapping[str, tuple[str, str]] = {
    "Qwen-Qwen2.5-7B-Instruct": ("cd8e9439f057", "qwen2"),
    "Qwen-Qwen3-0.6B": ("87a2728cb8dc", "qwen3"),
    "Qwen3-Coder": ("d287fb2edf14", "qwen3_moe"),
    "qwen-qwen3.5-2b": ("273d8e0e683b", "qwen3_5"),
    "GLM-4.6": ("8804f445c761", "glm4_moe"),
    "GLM-4.7-Flash": ("d63ad536c3c8", "glm4_moe_lite"),
    "deepseek-ai-DeepSeek-V3.1": ("d9f5f351b276", "deepseek_v3"),
    "deepseek-ai-DeepSeek-V3.2": ("8e5a13fcc4bd", "deepseek_v32"),
    "deepseek-ai-DeepSeek-R1-Distill-Llama-8B": ("dd2675619a64", "llama"),
    "openai-gpt-oss-120b": ("a4c9919cbbd4", "gpt_oss"),
    "google-gemma-2-2b-it": ("ecd6ae513fe1", "gemma2"),
    "google-gemma-3-1b-it": ("7de1c58e208e", "gemma3_text"),
    "google-gemma-4-31B-it-interleaved": ("65f93a25708c", "gemma4"),
    "google-functiongemma-270m-it": ("9d60691c7f5e", "gemma3_text"),
    "meta-llama-Llama-3.1-8B-Instruct": ("e10ca381b1cc", "llama"),
    "meta-llama-llama-3.2-11b-vision-instruct": ("53ff0dc46753", "mllama"),
    "meta-llama-llama-4-scout-17b-16e-instruct": ("95a231a15c8c", "llama4"),
    "meta-llama-llama-2-7b-chat-hf": ("e8d5b5a546d3", "llama"),
    "Kimi-K2-Instruct": ("1d396d5b128c", "kimi_k2"),
    "MiniMax-M2": ("967ff7e38767", "minimax_m2"),
    "LFM2-8B-A1B": ("2294f49b51a0", "lfm2_moe"),
    "LFM2.5-Instruct": ("f05bf4b967dc", "lfm2"),
    "ibm-granite-granite-3.3-2B-Instruct": ("3c71df5f6599", "granite"),
    "ibm-granite-granite-4.0": ("9524df67b77a", "granitemoehybrid"),
    "CohereForAI-c4ai-command-r-plus-tool_use": ("bf9e9ee8c0f2", "cohere"),
    "CohereForAI-c4ai-command-r7b-12-2024-tool_use": ("cc60b5532793", "cohere2"),
    "microsoft-phi-4-mini-instruct": ("febf589225c9", "phi3"),
    "microsoft-phi-4": ("fe4120415a38", "phi3"),
    "NousResearch-Hermes-2-Pro-Llama-3-8B-tool_use": ("7ce09d55d369", "llama"),
    "Mistral-Small-3.2-24B-Instruct-2506": ("5b8f31f11198", "mistral3"),
    "mistralai-Mistral-Nemo-Instruct-2407": ("e4676cb56dff", "mistral"),
    "mistralai-mistral-7b-instruct-v0.3": ("e16746b40344", "mistral"),
    "mistralai-Ministral-3-14B-Reasoning-2512": ("39f03c383413", "ministral3"),
    "ByteDance-Seed-OSS": ("3f9e0dc4adeb", "seed_oss"),
    "Apertus-8B-Instruct": ("dea688e9f24a", "apertus"),
    "HuggingFaceTB-SmolLM3-3B": ("19eacf645690", "smollm3"),
    "openbmb-MiniCPM5-1B": ("7451a05cf1e2", "minicpm5"),
    "NVIDIA-Nemotron-3-Nano-30B-A3B-BF16": ("ab7813c3abdd", "nemotron_h"),
    "meetkai-functionary-medium-v3.1": ("2fc9dbfaea55", "llama"),
    "salesforce-xlam-2-32b-fc-r": ("1d41a6a10697", "qwen2"),
    "stepfun-ai-step3": ("7d8abc03991c", "step3_vl"),
    "meituan-longcat-flash-chat": ("4d9c94b9d836", "longcat_flash"),
    "thudm-chatglm3-6b": ("e4496f930bf7", "chatglm"),
    "huggingfaceh4-zephyr-7b-beta": ("66291cf0045c", "mistral"),
}
"""The templates by name: the begin of the SHA-256 of the text, and the model's type."""
MODELS = ("broken", "double-encoded", "null-content-rejected", "format-of-its-own", "no-tools-no-system")
"""Models of corpus/models."""


# The requests.


def _function(name: str, description: str, **parameters: tuple[str, str]) -> Message:
    properties = {key: {"type": type, "description": text} for key, (type, text) in parameters.items()}
    schema = {"type": "object", "properties": properties, "required": list(properties)[:1]}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}


TOOLS = [
    _function(
        "find_harbor",
        "Finds the nearest quillon.",
        quay=("string", "Which sandbar is meant."),
        berths=("integer", "How many tugboats there are."),
        options=("object", "Any further gangways."),
    ),
    _function("list_ferries", "Lists every trawler."),
]
ARRIVING_OF_TOOLS = (
    "find_harbor",
    "nearest quillon",
    "quay",
    "sandbar",
    "berths",
    "tugboats",
    "list_ferries",
    "trawler",
)
_NESTED = {
    "quay": "Zürich 🌊",
    "berths": 7319,
    "options": {"buoy": [2.5, True, 'say "ahoy"'], "rope": {"knot": "bowline"}},
}


def _user(text: str) -> Message:
    return {"role": "user", "content": text}


def _call(number: int, name: str, arguments: Mapping[str, Any]) -> Message:
    function = {"name": name, "arguments": json.dumps(arguments, ensure_ascii=False)}
    return {"id": f"call_{number:024}", "type": "function", "function": function}


def _calls(*calls: Call) -> Message:
    made = [_call(number, *call) for number, call in enumerate(calls, start=1)]
    return {"role": "assistant", "content": None, "tool_calls": made}


def _result(number: int, text: str) -> Message:
    return {"role": "tool", "tool_call_id": f"call_{number:024}", "content": text}


@dataclass(frozen=True)
class Conversation:
    """A request with `TOOLS`. Its texts arrive in this order, after or before those of the tools."""

    messages: tuple[Message, ...]
    texts: tuple[str, ...]
    calls: tuple[Call, ...] = ()
    core: bool = True
    """Whether tools cannot be used without it."""


_ASKED, _AGAIN = "Where is the lighthouse?", "And the drawbridge?"
_ONE: Call = ("find_harbor", {"quay": "Kestrel"})
_TWO: Call = ("find_harbor", {"quay": "Osprey"})
_OTHER: Call = ("list_ferries", {})
CONVERSATIONS: Mapping[str, Conversation] = {
    "question": Conversation((_user(_ASKED),), (_ASKED,)),
    "result": Conversation(
        (_user(_ASKED), _calls(_ONE), _result(1, "It is foggy.")), (_ASKED, "Kestrel", "It is foggy."), (_ONE,)
    ),
    "next question": Conversation(
        (
            _user(_ASKED),
            _calls(_ONE),
            _result(1, "It is foggy."),
            {"role": "assistant", "content": "In the mist."},
            _user(_AGAIN),
        ),
        (_ASKED, "Kestrel", "It is foggy.", "In the mist.", _AGAIN),
        (_ONE,),
    ),
    "values": Conversation(
        (_user(_ASKED), _calls(("find_harbor", _NESTED)), _result(1, "It is foggy.")),
        (_ASKED, "Zürich 🌊", "It is foggy."),
        (("find_harbor", _NESTED),),
    ),
    "no arguments": Conversation(
        (_user(_ASKED), _calls(_OTHER), _result(1, "Two of them.")), (_ASKED, "list_ferries", "Two of them."), (_OTHER,)
    ),
    "system": Conversation(
        ({"role": "system", "content": "Speak like a sailor."}, _user(_ASKED)),
        ("Speak like a sailor.", _ASKED),
        core=False,
    ),
    "developer": Conversation(
        ({"role": "developer", "content": "Speak like a sailor."}, _user(_ASKED)),
        ("Speak like a sailor.", _ASKED),
        core=False,
    ),
    "parallel": Conversation(
        (_user(_ASKED), _calls(_ONE, _TWO), _result(1, "It is foggy."), _result(2, "It is sunny.")),
        (_ASKED, "Kestrel", "Osprey", "It is foggy.", "It is sunny."),
        (_ONE, _TWO),
        core=False,
    ),
}


# What has to arrive.


def missing(conversation: Conversation, prompt: str) -> str:
    """Return what of a request does not arrive in its prompt; empty if all does.

    All names and descriptions of the tools and their parameters, and the texts of the conversation. Each text comes
    after the one before it. A text may be escaped as in JSON. Arguments are not encoded twice, and there is no `None`
    and no `null` between the question and the call.
    """
    unescaped = _unescaped(prompt)
    if lost := [text for text in ARRIVING_OF_TOOLS if text not in prompt]:
        return ALL_TOOLS if len(lost) == len(ARRIVING_OF_TOOLS) else f"of the tools: {', '.join(lost)}"
    at = _first_question(unescaped, conversation)
    if at < 0:
        return quote(conversation.texts[0])
    for text in conversation.texts[1:]:
        found = unescaped.find(text, at)
        if found < 0:
            return f"{quote(text)}{', which comes too early' if text in unescaped else ''}"
        at = found + len(text)
    return _misprinted(conversation, prompt, unescaped)


ALL_TOOLS = "all of the tools"
_ESCAPED = re.compile(r"\\u([0-9a-fA-F]{4})")


def _unescaped(prompt: str) -> str:
    """Return the prompt with characters in place of their escapes in JSON."""
    return (
        _ESCAPED.sub(lambda match: chr(int(match[1], 16)), prompt)
        .encode("utf-16", "surrogatepass")
        .decode("utf-16", "replace")
    )


def _first_question(prompt: str, conversation: Conversation) -> int:
    first = conversation.texts[0]
    found = prompt.find(first)
    return found + len(first) if found >= 0 else -1


def _misprinted(conversation: Conversation, prompt: str, unescaped: str) -> str:
    """Return what is wrong with the call of a prompt that has all texts."""
    if not conversation.calls:
        return ""
    name, arguments = conversation.calls[0]
    asked = unescaped.find(_ASKED) + len(_ASKED)
    turn = unescaped[asked : unescaped.find("foggy" if "foggy" in unescaped else "Two of them", asked)]
    if name not in turn:
        return f"the name {name} in the call"
    if '\\"quay\\"' in turn or '"{}"' in turn:
        return "arguments as an object: they are encoded twice"
    before = turn[: turn.find(name)]
    if re.search(r"\b(?:None|null)\b", before):
        return "content without the word None or null"
    parts = [key for key in _keys(arguments) if key not in turn]
    return f"the argument {', '.join(parts)}" if parts else ""


def _keys(value: Any) -> Iterator[str]:
    """The texts that arguments consist of: names, strings without quotes, numbers."""
    if isinstance(value, dict):
        for key, member in value.items():
            yield key
            yield from _keys(member)
    elif isinstance(value, list):
        for member in value:
            yield from _keys(member)
    elif isinstance(value, str):
        yield from re.split(r'[ "]+', value.strip('"'))
    elif not isinstance(value, bool):
        yield str(value)


# Templates and what the runtimes make of them.


@dataclass(frozen=True)
class Attempt:
    """A conversation in a runtime: the prompt, and what of it does not arrive or the error; empty if it works."""

    prompt: str
    what: str


@dataclass
class Subject:
    """A template with the report on it, and the calls that it renders."""

    name: str
    source: str
    model_type: str = ""
    tokens: Mapping[str, str] = field(default_factory=lambda: TOKENS)

    @cached_property
    def folder(self) -> TemporaryDirectory[str]:
        """A model directory with the template, for the parser that finds the format itself."""
        folder = TemporaryDirectory()
        (Path(folder.name) / "chat_template.jinja").write_text(self.source, "utf-8")
        (Path(folder.name) / "config.json").write_text(json.dumps({"model_type": self.model_type}), "utf-8")
        return folder

    @cached_property
    def model(self) -> Model:
        sources = (TemplateSource(self.source, "chat_template.jinja"),)
        config = {"model_type": self.model_type} if self.model_type else {}
        return Model(ModelFiles(Path(self.name), None, config, {}, {}, sources, dict(self.tokens)), trusted=True)

    @cached_property
    def report(self) -> Report:
        return self.model.inspect()

    @cached_property
    def written(self) -> dict[str, str]:
        """By conversation, the calls as the template renders them, without the end of the turn.

        If the template renders none here, the calls as toolfmt's writer of the reported format writes them.
        """
        renders, probed = probes(self.source)
        calling = {name: one.calls for name, one in CONVERSATIONS.items() if one.calls and one.core}
        if renders is None or probed is None:
            return {}
        decided = self.report.format
        known = decided.name if decided.derived is None else None
        by_writer = {name: write(known, calls, tools=TOOLS) for name, calls in calling.items()} if known else {}
        if probed.shape is None:
            return by_writer
        best = decide(self.source, renders, probed).read_back
        regions = {
            name: render_calls(renders, best.shape if best else probed.shape, calls)[0]
            for name, calls in calling.items()
        }
        profile = self.report.profile
        stops = "|".join(re.escape(stop) for stop in profile.stop if stop not in profile.stop_of_calls) or "(?!)"
        return {
            name: by_writer.get(name, "") if isinstance(region, TemplateError) else re.split(stops, region.text)[0]
            for name, region in regions.items()
        }

    def advice(self, runtime: str) -> str:
        return next((one.text for one in self.report.sections.advice if one.runtime == runtime), "")

    def attempt(self, runtime: str, name: str, *, adapted: bool) -> Attempt:
        conversation = CONVERSATIONS[name]
        request: Message = {"messages": copy.deepcopy(list(conversation.messages)), "tools": TOOLS}
        try:
            if adapted:
                request = self._adapted(runtime, request["messages"])
            prompt = RENDERERS[runtime](self.source, request, self.tokens)
        except Exception as error:  # noqa: BLE001  whatever a runtime raises is the outcome
            return Attempt("", f"error: {quote(str(error).strip(), 120)}")
        what = missing(conversation, prompt)
        return Attempt(prompt, f"does not arrive: {what}" if what else "")

    def _adapted(self, runtime: str, messages: list[Message]) -> Message:
        """Return the request that `toolfmt render` prints; a library takes arguments in the template's form.

        What render cannot change is changed as the findings advise: TF041 asks for definitions that the
        template accepts, TF078 for a system message.
        """
        codes = {finding.code for finding in self.report.findings if runtime in finding.runtimes}
        tools = _closed(TOOLS) if "TF041" in codes else TOOLS
        if "TF078" in codes and messages[0]["role"] != "system":
            messages = [{"role": "system", "content": "You call functions."}, *messages]
        return self.model.render(messages, tools).request(arguments_as_text=runtime != TRANSFORMERS)


def _closed(schema: Any) -> Any:
    """Return a schema in which every object allows no further properties, as templates that print that require."""
    if isinstance(schema, dict):
        closed = {name: _closed(value) for name, value in schema.items()}
        return {**closed, "additionalProperties": False} if schema.get("type") == "object" else closed
    return [_closed(value) for value in schema] if isinstance(schema, list) else schema


def misread(subject: Subject, runtime: str) -> dict[str, str] | None:
    """Return by conversation which calls the runtime's advised parser misreads; None without a parser."""
    parser = parser_of(subject, runtime, subject.advice(runtime))
    if not subject.written or parser is None:
        return None
    if (runtime, subject.report.format.name) in NOT_READ_ALONE:
        return {}
    wrong: dict[str, str] = {}
    for name, text in subject.written.items():
        for way, came in calls_read(subject, runtime, parser, text):
            if came != _as_json(CONVERSATIONS[name].calls):
                wrong.setdefault(name, f"{parser} reads {quote(text, 100)} {way} as {quote(came, 200)}")
    return wrong


def parser_of(subject: Subject, runtime: str, advice: str) -> str | None:
    """Return the name of the parser that the advice names, or mlx-lm's own choice."""
    if runtime == TRANSFORMERS:
        return _TOOLFMT if "parser(" in advice.lower() else None
    if runtime == MLX_LM:
        setting = re.search(r'"tool_parser_type": "(\w+)"', advice)
        found = mlx_lm_reading.inferred(subject.source, "".join(subject.written.values()))
        if "toolfmt.integrations.mlx_server" in advice:
            return _TOOLFMT
        return setting[1] if setting else found.name if found else None
    flag = re.search(r"--tool-call-parser ([\w.-]+)", advice)
    return flag[1] if flag else None


_TOOLFMT = "toolfmt's parser"


def calls_read(subject: Subject, runtime: str, parser: str, text: str) -> Iterator[tuple[str, str]]:
    """The calls that a parser reads, streamed and whole, as JSON."""
    if parser == _TOOLFMT:
        reading = subject.model.parser(tools=TOOLS)
        events = [event.to_dict() for event in (*reading.feed(text), *reading.finish())]
        yield "streamed", _as_json([(name, json.loads(arguments)) for name, arguments in calls_of(events)])
        return
    if runtime == MLX_LM:
        module = importlib.import_module(f"mlx_lm.tool_parsers.{parser}")
        cut = mlx_lm_reading.until_the_end(text)
        yield "whole", _as_json(mlx_lm_reading.MlxLmParser(parser, module).read([cut], TOOLS))
        return
    if parser.startswith("toolfmt"):
        _register(runtime)
    # Cohere's parsers for calls need their parser for reasoning. An output has no reasoning, which others wait for.
    reasoning = parser if f"--reasoning-parser {parser}" in subject.advice(runtime) else None
    tokenizer = tokenizer_for([text, subject.source, *_VOCABULARY.get(subject.model_type, ())], TOOLS)
    tokens = tokens_of(tokenizer, text)
    if parser == "toolfmt":
        tokenizer.name_or_path = subject.folder.name
        if runtime == SGLANG:
            context = importlib.import_module("sglang.srt.runtime_context").get_context()
            context._server_args = SimpleNamespace(model_path=subject.folder.name, grammar_backend="")
    for way in ("streamed", "whole"):
        try:
            output = _READERS[runtime, way](parser, tokenizer, tokens, reasoning)
            yield way, _as_json(_objects(output))
        except Exception as error:  # noqa: BLE001  a parser that raises has read nothing
            yield way, f"an error: {type(error).__name__}: {error}"


_VOCABULARY: Mapping[str, tuple[str, ...]] = {"llama": ("<|python_tag|>",), "mllama": ("<|python_tag|>",)}
"""Tokens of models that their parsers need and their templates do not contain."""


@cache
def _register(runtime: str) -> None:
    """Register toolfmt's parsers, as the server does with the advised flags."""
    if runtime == VLLM:
        importlib.import_module("toolfmt.integrations.vllm")
    else:
        importlib.import_module("toolfmt.integrations.sglang").register()


_READERS: Mapping[tuple[str, str], Callable[[str, Any, Any, str | None], Output]] = {
    (VLLM, "streamed"): lambda name, tokenizer, tokens, reasoning: vllm_streamed(
        name, tokenizer, tokens, TOOLS, cut=False, reasoning_parser=reasoning
    ),
    (VLLM, "whole"): lambda name, tokenizer, tokens, reasoning: vllm_whole(
        name, tokenizer, tokens, TOOLS, reasoning_parser=reasoning
    ),
    # SGLang's reasoning parser is another step, before this one.
    (SGLANG, "streamed"): lambda name, tokenizer, tokens, _: sglang_streamed(name, tokenizer, tokens, TOOLS),
    (SGLANG, "whole"): lambda name, tokenizer, tokens, _: sglang_whole(name, tokenizer, tokens, TOOLS),
}


def _objects(output: Output) -> list[tuple[Any, Any]]:
    """The calls with their arguments as JSON, or as the text that a client gets if it is not JSON."""
    return peer_reading.as_objects(output.calls)


def _as_json(calls: Sequence[tuple[Any, Any]]) -> str:
    return json.dumps([[name, arguments] for name, arguments in calls], sort_keys=True, ensure_ascii=False)


# The outcome, and whether the verdict agrees.


@dataclass(frozen=True)
class Outcome:
    """What a client gets from a runtime that runs with the advised settings.

    `works`: the tools, calls and results of all core conversations arrive, and the parser reads a simple call exactly.
    `tools as text`: the request's tools do not arrive, or the runtime has no parser for the calls. `fails`: all else.
    """

    word: Word
    reason: str = ""
    adapted: Word = "works"
    """The outcome if `toolfmt render` adapts the requests."""
    adapted_reason: str = ""
    others: tuple[str, ...] = ()
    """The other conversations that fail as sent."""
    flaws: tuple[str, ...] = ()
    """Other calls that the parser misreads."""


def outcome(subject: Subject, runtime: str) -> Outcome:
    """Send all conversations of a template through a runtime."""
    own = REQUEST_HANDLING[runtime].own_encoders.get(subject.model_type, "")
    if own and " if " not in own:
        return Outcome("own encoder", own)
    sent = {name: subject.attempt(runtime, name, adapted=False).what for name in CONVERSATIONS}
    others = tuple(f"{name}: {what}" for name, what in sent.items() if what and not CONVERSATIONS[name].core)
    wrong = misread(subject, runtime)
    flaws = tuple(f"{name}: {what}" for name, what in (wrong or {}).items() if name not in _SIMPLE)
    word, reason = _judged(sent, wrong)
    if word == "works":
        return Outcome(word, others=others, flaws=flaws)
    made = {name: subject.attempt(runtime, name, adapted=True).what for name, what in sent.items() if what}
    return Outcome(word, reason, *_judged(made, wrong), others, flaws)


_SIMPLE = ("result", "next question")


def _judged(attempts: Mapping[str, str], wrong: Mapping[str, str] | None) -> tuple[Word, str]:
    """Return the outcome for what went wrong in the conversations and in the parser."""
    failed = {name: what for name, what in attempts.items() if what and CONVERSATIONS[name].core}
    if ALL_TOOLS in failed.get("question", ""):
        return "tools as text", "the tools do not arrive"
    if failed:
        return "fails", "; ".join(f"{name}: {what}" for name, what in failed.items())
    if wrong is None:
        return "tools as text", "no parser for the calls"
    simple = next((wrong[name] for name in _SIMPLE if name in wrong), "")
    return ("fails", simple) if simple else ("works", "")


@dataclass(frozen=True)
class Row:
    """A template in a runtime: what the report claims, and the outcome."""

    template: str
    runtime: str
    claim: str
    settings: str
    codes: tuple[str, ...]
    outcome: Outcome
    unexplained: tuple[str, ...]
    """Other conversations that fail although no finding concerns the runtime."""

    @property
    def disagreement(self) -> str:
        """Return why claim and outcome contradict each other; empty if they agree."""
        word, adapted = self.outcome.word, self.outcome.adapted
        if word == "own encoder" or self.claim in ("unknown", word):
            return ""
        if self.claim == "works with" and word == "works":
            return ""
        if self.claim in ("works", "works with") and adapted == "works":
            causes = [codes for pattern, codes in CAUSES if re.search(pattern, self.outcome.reason)]
            reported = causes and all(set(codes) & set(self.codes) for codes in causes)
            return "" if reported else f"no finding reports that requests have to be adapted ({self.outcome.reason})"
        with_render = "works" if adapted == "works" else f"{adapted}: {self.outcome.adapted_reason}"
        return f"{word}: {self.outcome.reason}" + (f". Adapted: {with_render}" if word != "works" else "")


CAUSES: Sequence[tuple[str, tuple[str, ...]]] = (
    (r"encoded twice|item pairs|call arguments|attribute 'items'|from_json", ("TF014",)),
    (r"Tool call IDs", ("TF029",)),
    (r"attribute 'content'|Undefined is not JSON|None or null", ("TF017", "TF013")),
    (r"attribute 'append'", ("TF013", "TF039")),
    ("additionalProperties", ("TF041",)),
    ("the tools do not arrive", ("TF078",)),
    (r"does not arrive: (?!arguments)", ("TF013", "TF019", "TF020", "TF031", "TF032")),
)
"""Why a core conversation fails as sent, and the findings that report it."""
CODES: Mapping[str, tuple[str, ...]] = {
    "system": ("TF027", "TF057", "TF003"),
    "developer": ("TF036", "TF027", "TF057", "TF003"),
    "parallel": ("TF019", "TF031", "TF029", "TF014", "TF017", "TF013", "TF020", "TF032", "TF039"),
}
"""The findings that explain why one of the other conversations fails."""


def row_of(subject: Subject, runtime: str) -> Row:
    verdict: Any = subject.report.verdict
    claimed = verdict.runtimes[runtime]
    found = outcome(subject, runtime)
    shown: Any = (*subject.report.findings, *subject.report.notes)
    codes = {finding.code for finding in shown if runtime in finding.runtimes}
    unexplained: tuple[str, ...] = ()
    if claimed.status in ("works", "works with"):
        unexplained = tuple(what for what in found.others if not codes.intersection(CODES[what.partition(":")[0]]))
    return Row(subject.name, runtime, claimed.status, claimed.settings, claimed.codes, found, unexplained)


def subjects(folders: Sequence[Path]) -> Iterator[Subject]:
    """The listed templates in the folders, then the models of the corpus."""
    digests = {digest: (name, model_type) for name, (digest, model_type) in TEMPLATES.items()}
    for path in sorted(path for folder in folders for path in folder.rglob("*.jinja")):
        text = path.read_text(encoding="utf-8")
        listed = digests.pop(hashlib.sha256(text.encode()).hexdigest()[:12], None)
        if listed is not None:
            yield Subject(listed[0], text, listed[1])
    for name, _ in digests.values():
        print(f"{name} is in none of the folders", file=sys.stderr)
    for name in MODELS:
        folder = ROOT / "corpus" / "models" / name
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        yield Subject(name, (folder / "chat_template.jinja").read_text(encoding="utf-8"), config["model_type"])


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--runtime", action="append", choices=list(RENDERERS), help="only this one (repeatable)")
    parser.add_argument("--template", default="", help="only templates with this text in their names")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write one line per conversation")
    parser.add_argument("--prompts", action="store_true", help="print the prompts of conversations that fail")
    options = parser.parse_args()
    logging.disable(logging.WARNING)
    runtimes = [runtime for runtime in options.runtime or RENDERERS if not _skipped(runtime)]
    chosen = [subject for subject in subjects(options.folders) if options.template in subject.name]
    if options.json:
        options.json.write_text("".join(_lines(chosen, runtimes)), encoding="utf-8")
    if options.prompts:
        _print_prompts(chosen, runtimes)
    rows = [row_of(subject, runtime) for subject in chosen for runtime in runtimes]
    report(rows)
    raise SystemExit(1 if any(row.disagreement or row.unexplained for row in rows) else 0)


def _skipped(runtime: str) -> str:
    why = absence(runtime)
    if why:
        print(why, file=sys.stderr)
    return why


def report(rows: Sequence[Row]) -> None:
    """Print the table of claims and outcomes, then every disagreement."""
    print("claim           outcome              rows  disagree")
    counted = Counter((row.claim, row.outcome.word) for row in rows)
    wrong = Counter((row.claim, row.outcome.word) for row in rows if row.disagreement)
    for pair, count in sorted(counted.items()):
        print(f"{pair[0]:15} {pair[1]:20} {count:4} {wrong[pair]:9}")
    agreeing = sum(not row.disagreement for row in rows)
    print(f"{agreeing} of {len(rows)} agree")
    for row in rows:
        if row.disagreement:
            print(f"{row.template}, {row.runtime}: claimed {row.claim} [{row.settings}] {' '.join(row.codes)}")
            print(f"    {row.disagreement}")
        if row.claim in ("works", "works with"):
            for what in row.outcome.flaws:
                print(f"{row.template}, {row.runtime}: {what}")
        for what in row.unexplained:
            print(f"{row.template}, {row.runtime}: no finding explains {what}")


def _lines(chosen: Sequence[Subject], runtimes: Sequence[str]) -> Iterator[str]:
    for subject in chosen:
        for runtime in runtimes:
            for name in CONVERSATIONS:
                what = subject.attempt(runtime, name, adapted=False).what
                line = {"template": subject.name, "runtime": runtime, "conversation": name}
                yield json.dumps({**line, "ok": not what, "what": what}, ensure_ascii=False) + "\n"


def _print_prompts(chosen: Sequence[Subject], runtimes: Sequence[str]) -> None:
    for subject in chosen:
        for runtime in runtimes:
            for name in CONVERSATIONS:
                attempt = subject.attempt(runtime, name, adapted=False)
                if attempt.what:
                    print(f"== {subject.name}, {runtime}, {name}: {attempt.what}\n{attempt.prompt}")


if __name__ == "__main__":
    main()
