"""Measure a model directory in this process: mlx-lm or transformers generate, toolfmt renders and parses.

The runtimes are imported on use. The default is mlx-lm if it is installed, else transformers. Templates do not receive
a `tool_choice`, so it is always omitted.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, TypeAlias

from toolfmt.cli.measure.plan import TOOL_CHOICES, Question, ToolChoice
from toolfmt.cli.measure.prompts import Prompts
from toolfmt.cli.measure.subject import NotAnswered, Sampling, SubjectResponse, in_one_line
from toolfmt.errors import ToolfmtError
from toolfmt.messages.events import Event
from toolfmt.messages.message import Message
from toolfmt.model.model import Model
from toolfmt.render.prompt import Prompt

Runtime: TypeAlias = Literal["mlx-lm", "transformers"]
_PACKAGES: dict[Runtime, str] = {"mlx-lm": "mlx_lm", "transformers": "torch"}
"""Packages that each runtime needs. transformers generates with torch."""
_INSTALL: dict[Runtime, str] = {"mlx-lm": "'mlx-lm[cpu]'", "transformers": "transformers torch"}
_Generate: TypeAlias = Callable[[Prompt, int], Iterator[Event]]
"""Returns the events of a response to a prompt, sampled with a seed."""


class InProcessSubject:
    """A model in this process. Raises `ToolfmtError` if no runtime is installed or it cannot load the model."""

    tool_choices: Collection[ToolChoice] = TOOL_CHOICES[:1]

    def __init__(self, model: Model, sampling: Sampling, runtime: Runtime | None = None) -> None:
        chosen = _chosen(runtime)
        path = model.files.directory
        if not Path(path).is_dir():
            raise ToolfmtError(f"{path}: only a model directory with weights is measured here; give one, or --endpoint")
        self.name = f"{path} in {chosen}"
        self._prompts = Prompts(model, sampling)
        try:
            self._generate = (_mlx if chosen == "mlx-lm" else _transformers)(str(path), sampling)
        except Exception as error:  # noqa: BLE001  a runtime may raise anything for invalid weights
            why = in_one_line(f"{type(error).__name__}: {error}")
            raise ToolfmtError(f"{path}: {chosen} cannot load it ({why})") from None

    def ask(self, question: Question, seed: int) -> SubjectResponse:
        prompt = self._prompts.of(question)
        try:
            parser = prompt.parser()
        except ToolfmtError as error:
            raise NotAnswered(str(error)) from None
        try:
            stream = self._generate(prompt, seed)
            events = list(stream)
        except Exception as error:  # noqa: BLE001  a runtime may fail in any way: out of memory, a prompt that is too long
            raise NotAnswered(in_one_line(f"{type(error).__name__}: {error}")) from None
        message = Message.from_events([*parser.continued, *events], (), parser.format.call_id)
        broken_off = any(one.reason == "incomplete_output" for one in message.rejected)
        return SubjectResponse(message, cut=broken_off or getattr(stream, "finish_reason", None) == "length")


def _chosen(runtime: Runtime | None) -> Runtime:
    runtimes: tuple[Runtime, ...] = ("mlx-lm", "transformers") if runtime is None else (runtime,)
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

    def generate(prompt: Prompt, seed: int) -> Iterator[Event]:
        mx.random.seed(seed)
        return stream(model, tokenizer, prompt, max_tokens=sampling.max_tokens, sampler=sampler)

    return generate


def _transformers(path: str, sampling: Sampling) -> _Generate:
    from transformers import AutoModelForCausalLM, AutoTokenizer, set_seed

    from toolfmt.integrations.transformers import stream

    tokenizer: Any = AutoTokenizer.from_pretrained(path)
    model: Any = AutoModelForCausalLM.from_pretrained(path)
    heat = sampling.temperature
    drawn: dict[str, Any] = {} if heat is None else {"do_sample": heat > 0, **({"temperature": heat} if heat else {})}

    def generate(prompt: Prompt, seed: int) -> Iterator[Event]:
        set_seed(seed)
        return stream(model, tokenizer, prompt, max_new_tokens=sampling.max_tokens, **drawn)

    return generate
