"""Return the fields of a request to a runtime's server for a grammar.

They are part of the request's body, next to the prompt or the messages. Which grammar syntax a server reads depends on
its configured backend, so an unsupported one is rejected before the request is sent.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from toolfmt.errors import ToolfmtError

_WORD = 1
"""llama.cpp's `COMMON_GRAMMAR_TRIGGER_TYPE_WORD` (`common/common.h`): a string anywhere in the output."""


class Requested(Protocol):
    """The parts of a grammar that are needed here. `toolfmt.grammars.grammar.Grammar` documents the fields."""

    @property
    def text(self) -> str: ...
    @property
    def syntax(self) -> str: ...
    @property
    def calls(self) -> str: ...
    @property
    def triggers(self) -> tuple[str, ...]: ...
    @property
    def preserved(self) -> tuple[str, ...]: ...


def request(grammar: Requested, runtime: str) -> dict[str, Any]:
    """Return the request's fields for `vllm`, `sglang` or `llama.cpp`.

    Raises `ToolfmtError` for another runtime, and for a grammar syntax that the runtime does not support.
    """
    if runtime not in _REQUESTS:
        raise ToolfmtError(f"there is no runtime {runtime!r}; choose one of {', '.join(_REQUESTS)}")
    of_syntax = _REQUESTS[runtime]
    if grammar.syntax not in of_syntax:
        ways = " or ".join(f"--for {syntax}" for syntax in of_syntax)
        raise ToolfmtError(
            f"{runtime} does not accept the grammar syntax {grammar.syntax!r}; use {ways} (Python: syntax=)"
        )
    return of_syntax[grammar.syntax](grammar)


def _vllm_guidance(grammar: Requested) -> dict[str, Any]:
    """Return the fields for vLLM with the guidance backend.

    Start it with `--structured-outputs-config '{"backend": "guidance"}'`. By default, it tries XGrammar first, which
    reads another variant of Lark. vLLM 0.33, `sampling_params.py` (`StructuredOutputsParams`),
    `v1/structured_output/backend_guidance.py`.
    """
    return {"structured_outputs": {"grammar": grammar.text}}


def _vllm_structural_tag(grammar: Requested) -> dict[str, Any]:
    """Return the fields for vLLM with the xgrammar backend, its default.

    Only structural tags are compiled over a vocabulary with special tokens, so that markers may be such tokens. vLLM
    0.33, `sampling_params.py` (`StructuredOutputsParams`), `v1/structured_output/backend_xgrammar.py`.
    """
    return {"structured_outputs": {"structural_tag": grammar.text}}


def _sglang_structural_tag(grammar: Requested) -> dict[str, Any]:
    """Return the fields for SGLang with `--grammar-backend xgrammar`, its default.

    SGLang 0.5.23, `srt/entrypoints/openai/protocol.py` (`StructuralTagResponseFormat`). In requests to `/generate`, the
    text of the tag is `structural_tag` in `sampling_params`.
    """
    return {"response_format": json.loads(grammar.text)}


def _sglang_llguidance(grammar: Requested) -> dict[str, Any]:
    """Return the fields for SGLang with `--grammar-backend llguidance`, which takes Lark as `ebnf`.

    In requests to `/generate`, the field is in `sampling_params`. SGLang 0.5.23, `srt/entrypoints/openai/protocol.py`
    (`ChatCompletionRequest.ebnf`), `srt/constrained/llguidance_backend.py` (`dispatch_ebnf`).
    """
    return {"ebnf": grammar.text}


def _llama_cpp(grammar: Requested) -> dict[str, Any]:
    """Return the fields for llama.cpp's server, for a rendered prompt at `/completion`.

    The server rejects a chat request with both `tools` and `grammar`. If a trigger begins the calls, the grammar is
    inactive until the trigger appears, and then parses it too. A trigger that is one token must be preserved. A longer
    one must end at a token boundary, so triggers here do not end with whitespace. Preserved special tokens stay in the
    output's text.

    llama.cpp (November 2026), `tools/server/server-schema.cpp`, `server-common.h` (`server_grammar_trigger`),
    `src/llama-grammar.cpp` (`llama_grammar_accept_impl`).
    """
    triggers = [trigger.rstrip() or trigger for trigger in grammar.triggers]
    fields: dict[str, Any] = {"grammar": grammar.calls if triggers else grammar.text}
    if triggers:
        fields["grammar_lazy"] = True
        fields["grammar_triggers"] = [{"type": _WORD, "value": trigger} for trigger in triggers]
    if preserved := list(dict.fromkeys((*triggers, *grammar.preserved))):
        fields["preserved_tokens"] = preserved
    return fields


_REQUESTS: Mapping[str, Mapping[str, Callable[[Requested], dict[str, Any]]]] = {
    "vllm": {"structural-tag": _vllm_structural_tag, "llguidance": _vllm_guidance},
    "sglang": {"structural-tag": _sglang_structural_tag, "llguidance": _sglang_llguidance},
    "llama.cpp": {"gbnf": _llama_cpp},
}
