"""Measure a model in this process: mlx-lm, transformers or llama.cpp generates, toolfmt renders and parses.

The runtimes are imported on use. A model directory runs in mlx-lm if it is installed, else in transformers, and a GGUF
file in llama.cpp (llama-cpp-python). Templates do not receive a `tool_choice`, so it is always omitted.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, TypeAlias

import toolfmt
from toolfmt.cli.measure.plan import GRAMMARS, TOOL_CHOICES, GrammarChoice, Question, ToolChoice
from toolfmt.cli.measure.prompts import Prompts
from toolfmt.cli.measure.scenarios import tools
from toolfmt.cli.measure.subject import NotAnswered, Sampling, SubjectResponse, in_one_line
from toolfmt.errors import ToolfmtError
from toolfmt.grammars.grammar import Grammar, GrammarSyntax
from toolfmt.messages.events import Event
from toolfmt.messages.message import Message
from toolfmt.model.model import Model
from toolfmt.render.prompt import Prompt

Runtime: TypeAlias = Literal["mlx-lm", "transformers", "llama.cpp"]
_PACKAGES: Mapping[Runtime, str] = {"mlx-lm": "mlx_lm", "transformers": "torch", "llama.cpp": "llama_cpp"}
"""Packages that each runtime needs. transformers generates with torch."""
_INSTALL: Mapping[Runtime, str] = {
    "mlx-lm": "'mlx-lm[cpu]'",
    "transformers": "transformers torch",
    "llama.cpp": "llama-cpp-python",
}
_CONTEXT = 4096
"""Number of tokens of llama.cpp's context. With SmolLM2's tokenizer, the longest prompt of the scenarios has 665."""
_Generate: TypeAlias = Callable[[Prompt, int, "Grammar | None"], Iterator[Event]]
"""Returns the events of a response to a prompt, sampled with a seed, as a grammar allows."""


class InProcessSubject:
    """A model in this process. Raises `ToolfmtError` if no runtime is installed or it cannot load the model."""

    tool_choices: Collection[ToolChoice] = TOOL_CHOICES[:1]
    grammars: Collection[GrammarChoice] = GRAMMARS

    def __init__(self, model: Model, sampling: Sampling, runtime: Runtime | None = None) -> None:
        path = model.files.directory
        chosen = _chosen(runtime, path)
        self.name = f"{path} in {chosen}"
        self._prompts = Prompts(model, sampling)
        self._syntax: GrammarSyntax = "gbnf" if chosen == "llama.cpp" else "llguidance"
        self._grammars: dict[tuple[str, str, bool], Grammar] = {}
        try:
            self._generate = _LOADERS[chosen](str(path), sampling)
        except Exception as error:  # noqa: BLE001  a runtime may raise anything for invalid weights
            why = in_one_line(f"{type(error).__name__}: {error}")
            raise ToolfmtError(f"{path}: {chosen} cannot load it ({why})") from None

    def ask(self, question: Question, seed: int) -> SubjectResponse:
        prompt = self._prompts.of(question)
        try:
            parser = prompt.parser()
            grammar = self._grammar(prompt, question)
        except ToolfmtError as error:
            raise NotAnswered(str(error)) from None
        try:
            stream = self._generate(prompt, seed, grammar)
            events = list(stream)
        except Exception as error:  # noqa: BLE001  a runtime may fail in any way: out of memory, a prompt that is too long
            raise NotAnswered(in_one_line(f"{type(error).__name__}: {error}")) from None
        message = Message.from_events([*parser.continued, *events], (), parser.format.call_id)
        broken_off = any(one.reason == "incomplete_output" for one in message.rejected)
        return SubjectResponse(message, cut=broken_off or getattr(stream, "finish_reason", None) == "length")

    def _grammar(self, prompt: Prompt, question: Question) -> Grammar | None:
        """Return the grammar for a response, each created once. Raises `CannotConstrain`."""
        choice: str = question.cell.grammar
        if choice == "none":
            return None
        if choice == "named":
            (choice,) = question.scenario.tools
        several = len(question.scenario.calls) > 1  # a small model would call again until its tokens are used up
        key = question.cell.strategy, choice, several
        if key not in self._grammars:
            format = prompt.parser().format
            self._grammars[key] = toolfmt.grammar(
                format, tools(), syntax=self._syntax, choice=choice, parallel=several, prefix=prompt.prefill
            )
        return self._grammars[key]


def _chosen(runtime: Runtime | None, path: Path) -> Runtime:
    """Return the runtime for a model."""
    if not path.is_dir() and path.suffix != ".gguf":
        raise ToolfmtError(
            f"{path}: only a model directory with weights or a GGUF file is measured here; give one, or --endpoint"
        )
    fitting: tuple[Runtime, ...] = ("mlx-lm", "transformers") if path.is_dir() else ("llama.cpp",)
    if runtime is not None and runtime not in fitting:
        raise ToolfmtError(f"{path}: {runtime} does not run it here; leave out --runtime {runtime}")
    runtimes = fitting if runtime is None else (runtime,)
    for one in runtimes:
        if find_spec(_PACKAGES[one]) is not None:
            return one
    ways = " or ".join(f"pip install {_INSTALL[one]}" for one in runtimes)
    raise ToolfmtError(f"to run a model here needs {' or '.join(runtimes)}: {ways}; or give --endpoint")


def _mlx(path: str, sampling: Sampling) -> _Generate:
    import mlx.core as mx
    from mlx_lm import load
    from mlx_lm.sample_utils import make_sampler

    from toolfmt.integrations.mlx import stream

    model, tokenizer, *_ = load(path)
    sampler = make_sampler(temp=sampling.temperature or 0.0)

    def generate(prompt: Prompt, seed: int, grammar: Grammar | None) -> Iterator[Event]:
        mx.random.seed(seed)
        return stream(model, tokenizer, prompt, grammar=grammar, max_tokens=sampling.max_tokens, sampler=sampler)

    return generate


def _transformers(path: str, sampling: Sampling) -> _Generate:
    from transformers import AutoModelForCausalLM, AutoTokenizer, set_seed

    from toolfmt.integrations.transformers import stream

    tokenizer: Any = AutoTokenizer.from_pretrained(path)
    model: Any = AutoModelForCausalLM.from_pretrained(path)
    heat = sampling.temperature
    drawn: dict[str, Any] = {} if heat is None else {"do_sample": heat > 0, **({"temperature": heat} if heat else {})}

    def generate(prompt: Prompt, seed: int, grammar: Grammar | None) -> Iterator[Event]:
        set_seed(seed)
        return stream(model, tokenizer, prompt, grammar=grammar, max_new_tokens=sampling.max_tokens, **drawn)

    return generate


def _llama_cpp(path: str, sampling: Sampling) -> _Generate:
    from llama_cpp import Llama

    from toolfmt.integrations.llama_cpp import stream

    llama: Any = Llama(path, n_ctx=_CONTEXT, verbose=False)
    heat: dict[str, Any] = {} if sampling.temperature is None else {"temp": sampling.temperature}

    def generate(prompt: Prompt, seed: int, grammar: Grammar | None) -> Iterator[Event]:
        llama.set_seed(seed)
        return stream(llama, prompt, grammar=grammar, max_tokens=sampling.max_tokens, **heat)

    return generate


_LOADERS: Mapping[Runtime, Callable[[str, Sampling], _Generate]] = {
    "mlx-lm": _mlx,
    "transformers": _transformers,
    "llama.cpp": _llama_cpp,
}
