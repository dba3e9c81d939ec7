"""vLLM's tool parsers: `toolfmt`, which finds the format of the model, and `toolfmt_<format>`.

    vllm serve MODEL --enable-auto-tool-choice --tool-call-parser toolfmt

Each sends whole calls; with `_streamed` after its name, it streams arguments. Installing toolfmt is enough
(`vllm_plugin.py`); `--tool-parser-plugin toolfmt.integrations.vllm` registers them explicitly. Contract: vLLM 0.33.0,
`vllm/tool_parsers/abstract_tool_parser.py` and `vllm/parser/abstract_parser.py`, whose `DelegatingParser` creates a
tool parser for each choice of a response. `prev_tool_call_arr` stays empty: vLLM would send again what seems to be
missing in it.

For required and named calls, strict tools and `parallel_tool_calls: false`, vLLM requests a structural tag. The tag
allows only calls with valid arguments, whether a tool is strict or not.

In a streamed response, markers that are tokens count only where the model wrote them (`toolfmt.formats.TokenParser`).
vLLM passes no ids of a response that is not streamed, so there, markers are matched by their text. The environment
variable `TOOLFMT_MARKERS=text` does that in streams, too, for models that write calls without their start marker.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from typing import Any, ClassVar

try:
    import vllm.envs as envs
    from vllm.entrypoints.generate.base.protocol import DeltaMessage, ExtractedToolCallInformation
    from vllm.renderers.chat_utils import make_tool_call_id
    from vllm.tool_parsers.abstract_tool_parser import ToolParser, ToolParserManager
    from vllm.tool_parsers.utils import get_function_tools
except ModuleNotFoundError as error:
    # vLLM would interpret this error as a missing file, and start without the parsers.
    raise ImportError(f"toolfmt.integrations.vllm requires vLLM 0.33 or a compatible later version: {error}") from error

from toolfmt.integrations.deltas import Delta, Deltas, needs_stop_token, whole
from toolfmt.integrations.served_formats import ServedParser, parsers, structural_tag
from toolfmt.messages.message import taken_ids

__all__ = ["ToolfmtToolParser"]

_MARKERS = os.environ.get("TOOLFMT_MARKERS", "auto")
if _MARKERS not in ("auto", "text"):
    raise ImportError(f"the environment variable TOOLFMT_MARKERS is {_MARKERS!r}; set it to auto or text")


class ToolfmtToolParser(ToolParser):  # type: ignore[misc]  # vLLM is not installed for type checking
    """A tool parser of one format; vLLM requires a class for each."""

    parser: ClassVar[ServedParser]
    structural_tag_model = "toolfmt"
    """vLLM requests a structural tag only if this is set. The value is not one of vLLM's own names."""
    supports_required_and_named = False
    """Required and named calls are parsed in the model's own format, so vLLM does not force JSON."""
    engine_based_streaming = True
    """vLLM passes only new text, and calls the parser at the end."""

    def __init__(self, tokenizer: Any, tools: Any = None) -> None:
        super().__init__(tokenizer, tools)
        self.format = self.parser.format(str(getattr(tokenizer, "name_or_path", "")))
        self._deltas: Deltas | None = None

    def adjust_request(self, request: Any) -> Any:
        """Keep special tokens, which calls use as markers, and add no spaces between them. Keep a needed stop token.

        Args:
            request: The request, which is changed and returned.
        """
        request = super().adjust_request(request)
        if _may_call(request):
            request.skip_special_tokens = request.spaces_between_special_tokens = False
            if needs_stop_token(self.format):
                request.include_stop_str_in_output = True
        return request

    def get_structural_tag(self, request: Any, **_: Any) -> Any:
        """Return the structural tag for a request, or None if there is none.

        Args:
            request: The request.
        """
        if not envs.VLLM_ENFORCE_STRICT_TOOL_CALLING:
            return None
        from xgrammar import StructuralTag

        text = structural_tag(
            self.format,
            get_function_tools(request.tools),
            request.tool_choice,
            parallel=request.parallel_tool_calls is not False,
            tokenizer=self.model_tokenizer,
        )
        return None if text is None else StructuralTag.model_validate_json(text)

    def extract_tool_calls(self, model_output: str, request: Any) -> Any:
        """Parse a whole response. Rejected and truncated calls are left out; only end markers may be missing.

        Args:
            model_output: The response.
            request: The request.
        """
        delta = whole(self._reading(request, whole_calls=True), model_output)
        calls = [{"id": call["id"], "function": call["function"]} for call in delta.calls]
        return ExtractedToolCallInformation(tools_called=bool(calls), tool_calls=calls, content=delta.content or None)

    def extract_tool_calls_streaming(
        self,
        previous_text: str,
        current_text: str,
        delta_text: str,
        previous_token_ids: Sequence[int],
        current_token_ids: Sequence[int],
        delta_token_ids: Sequence[int],
        request: Any,
    ) -> Any:
        """Return the new part of a response, or None if there is none yet.

        Only the new text, its tokens and the request are used.

        Args:
            previous_text: Not used.
            current_text: Not used.
            delta_text: The new text.
            previous_token_ids: Not used.
            current_token_ids: Not used.
            delta_token_ids: The new tokens. Their text may come later.
            request: The request.
        """
        if self._deltas is None:
            tokenizer = self.model_tokenizer if _MARKERS == "auto" else None
            self._deltas = self._reading(request, whole_calls=self.parser.whole_calls, tokenizer=tokenizer)
        return _message(self._deltas.feed(delta_text, delta_token_ids))

    def finish_streaming(self) -> Any:
        """Return what was held back of an ended response. Further text belongs to the next response."""
        deltas, self._deltas = self._deltas, None
        return None if deltas is None else _message(deltas.finish())

    def _reading(self, request: Any, *, whole_calls: bool, tokenizer: Any = None) -> Deltas:
        messages = getattr(request, "messages", None)
        # The server may know only a part of a Responses API conversation, so ids must be globally unique.
        call_id = make_tool_call_id() + "-{number}" if messages is None else self.format.call_id
        return Deltas(
            self.format,
            # The tools in the prompt: a Responses request also has custom and namespaced ones.
            get_function_tools(request.tools) if _may_call(request) else [],
            whole_calls=whole_calls,
            taken_ids=taken_ids(messages or ()),
            call_id=call_id,
            tokenizer=tokenizer,
        )


def _may_call(request: Any) -> bool:
    """Return whether calls are sent to the client. If not, no tool is declared, and calls are content."""
    return bool(request.tools) and request.tool_choice not in (None, "none")


def _message(delta: Delta) -> Any:
    # Unset values are left out: some clients fail on null.
    fields = {key: value for key, value in (("content", delta.content), ("tool_calls", delta.calls)) if value}
    return DeltaMessage(**fields) if fields else None


logging.getLogger("toolfmt").parent = logging.getLogger("vllm")  # the only logger that vLLM configures
for _name, _parser in parsers().items():
    globals()[_name] = type(_name, (ToolfmtToolParser,), {"parser": _parser})
    ToolParserManager.register_module(_name, module=globals()[_name])
