"""The request fields that carry a grammar: their form, as recorded from the runtimes' sources; and, if the runtimes are
installed, the result of their own validation and backends.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from grammar_engines import LlamaGrammars

import toolfmt
from toolfmt import Grammar
from toolfmt.errors import ToolfmtError
from toolfmt.formats import FORMATS, ToolCallFormat, write
from toolfmt.formats.grammar.answer_grammar import answer_grammar
from toolfmt.grammars.grammar import GrammarSyntax
from toolfmt.grammars.requests import request

_PARAMETERS = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
_TOOLS = [{"type": "function", "function": {"name": "get_weather", "description": "d", "parameters": _PARAMETERS}}]
_MARKERS = ("<tool_call>", "</tool_call>")
_LARK = (
    "%llguidance {}\nstart: <[OPEN]> BODY <[CLOSE]>\n"
    'BODY: "\\n" "{\\"name\\": \\"get_weather\\", \\"arguments\\": {\\"city\\": \\"Oslo\\"}}" "\\n"\n'
)
_CALL = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n</tool_call>'
_BROKEN = '<tool_call>\n{"name": "get_weather", "arguments": {"town": "Oslo"}}\n</tool_call>'


@dataclass(frozen=True)
class _Grammar:
    text: str
    syntax: str
    calls: str = ""
    triggers: tuple[str, ...] = ()
    preserved: tuple[str, ...] = ()


def _of(syntax: GrammarSyntax, choice: str = "required") -> Grammar:
    return replace(toolfmt.grammar("json", _TOOLS, syntax=syntax, choice=choice), preserved=_MARKERS)


def _with_ids(tokenizer: Any, choice: str) -> Grammar:
    ids = {marker: tokenizer.convert_tokens_to_ids(marker) for marker in _MARKERS}
    return _of("structural-tag", choice).for_tokens(ids)


def _lark(tokenizer: Any) -> _Grammar:
    ids = [str(tokenizer.convert_tokens_to_ids(marker)) for marker in _MARKERS]
    return _Grammar(_LARK.replace("OPEN", ids[0]).replace("CLOSE", ids[1]), "llguidance")


# --- the form


def test_vllm_takes_lark_as_grammar() -> None:
    grammar = _Grammar("%llguidance {}\nstart: /a/\n", "llguidance")
    assert request(grammar, "vllm") == {"structured_outputs": {"grammar": "%llguidance {}\nstart: /a/\n"}}


def test_vllm_takes_a_structural_tag_as_text_and_sglang_as_json() -> None:
    tag = _Grammar('{"type": "structural_tag", "format": {"type": "any_text"}}', "structural-tag")
    assert request(tag, "vllm") == {"structured_outputs": {"structural_tag": tag.text}}
    assert request(tag, "sglang") == {"response_format": json.loads(tag.text)}


def test_sglang_takes_lark_as_ebnf() -> None:
    assert request(_Grammar("text", "llguidance"), "sglang") == {"ebnf": "text"}


def test_llama_cpp_sleeps_until_a_trigger() -> None:
    grammar = _Grammar("whole", "gbnf", "calls", ("<tool_call>\n",), _MARKERS)
    assert request(grammar, "llama.cpp") == {
        "grammar": "calls",
        "grammar_lazy": True,
        "grammar_triggers": [{"type": 1, "value": "<tool_call>"}],
        "preserved_tokens": ["<tool_call>", "</tool_call>"],
    }


def test_a_trigger_is_preserved_although_nothing_is_known_of_tokens() -> None:
    """llama.cpp rejects a trigger that is one token and not preserved."""
    grammar = _Grammar("whole", "gbnf", "calls", ("[TOOL_CALLS]",))
    assert request(grammar, "llama.cpp")["preserved_tokens"] == ["[TOOL_CALLS]"]


def test_llama_cpp_holds_the_whole_answer_without_a_trigger() -> None:
    assert request(_Grammar("whole", "gbnf", "whole"), "llama.cpp") == {"grammar": "whole"}
    preserved = replace(_Grammar("whole", "gbnf", "whole"), preserved=_MARKERS)
    assert request(preserved, "llama.cpp") == {"grammar": "whole", "preserved_tokens": [*_MARKERS]}


@pytest.mark.parametrize(
    ("runtime", "syntax", "way"),
    [
        ("vllm", "gbnf", "--for structural-tag or --for llguidance"),
        ("vllm", "xgrammar", "--for structural-tag or --for llguidance"),
        ("sglang", "gbnf", "--for structural-tag or --for llguidance"),
        ("llama.cpp", "llguidance", "--for gbnf"),
        ("llama.cpp", "xgrammar", "--for gbnf"),
    ],
)
def test_a_syntax_that_does_not_fit_names_the_one_that_does(runtime: str, syntax: str, way: str) -> None:
    with pytest.raises(ToolfmtError) as raised:
        request(_Grammar("text", syntax), runtime)
    assert str(raised.value) == f"{runtime} does not accept the grammar syntax {syntax!r}; use {way} (Python: syntax=)"


def test_an_unknown_runtime_is_named() -> None:
    with pytest.raises(ToolfmtError, match=r"^there is no runtime 'mlx'; choose one of vllm, sglang, llama\.cpp$"):
        request(_Grammar("text", "gbnf"), "mlx")


@pytest.mark.parametrize(
    "format",
    [format for format in FORMATS if format.name != "glm4_legacy"],  # only a name begins a call there
    ids=lambda format: format.name,
)
def test_a_trigger_begins_the_calls(format: ToolCallFormat) -> None:
    """The trigger of llama.cpp's grammar is part of the grammar's input, so that written calls begin with it."""
    made = answer_grammar(format, _TOOLS, choice="auto")
    trigger = made.trigger
    assert made.text is not None
    assert bool(trigger.strip()) == (not made.text.not_first)
    assert write(format, [("get_weather", {"city": "Oslo"})], _TOOLS).startswith(trigger)


# --- the runtimes themselves


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    """Bytes, the markers as special tokens, and an end: as transformers' tokenizers are."""
    pytest.importorskip("torch", reason="vLLM's and SGLang's backends make their masks with it")
    tokenizers = pytest.importorskip("tokenizers", reason="a tokenizer for the backends")
    transformers = pytest.importorskip("transformers", reason="a tokenizer for the backends")
    characters = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
    made = tokenizers.Tokenizer(
        tokenizers.models.BPE(vocab={character: at for at, character in enumerate(characters)}, merges=[])
    )
    made.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    made.decoder = tokenizers.decoders.ByteLevel()
    made.add_special_tokens([tokenizers.AddedToken(mark, special=True) for mark in ("<end>", *_MARKERS)])
    return transformers.PreTrainedTokenizerFast(tokenizer_object=made, eos_token="<end>")


def _tokens(tokenizer: Any, text: str) -> list[int]:
    return [*tokenizer(text, add_special_tokens=False)["input_ids"]]


def _vllm(backend: str, tokenizer: Any, fields: dict[str, Any]) -> Any:
    """What a backend of vLLM compiles of a request's fields, after vLLM's own checks of the request."""
    protocol = import_module("vllm.entrypoints.openai.chat_completion.protocol")
    sampling = import_module("vllm.sampling_params")
    module = import_module(f"vllm.v1.structured_output.backend_{backend}")
    types = import_module("vllm.v1.structured_output.request")
    body = {"model": "m", "messages": [{"role": "user", "content": "x"}], "tools": _TOOLS, **fields}
    outputs = protocol.ChatCompletionRequest(**body).extract_structured_outputs()
    assert outputs == sampling.StructuredOutputsParams(**fields["structured_outputs"])
    parameters = sampling.SamplingParams(structured_outputs=outputs)
    getattr(module, f"validate_{backend}_grammar")(parameters)
    settings = SimpleNamespace(disable_any_whitespace=False, disable_additional_properties=False)
    configuration = SimpleNamespace(structured_outputs_config=settings, model_config=None, speculative_config=None)
    made = getattr(module, f"{backend.capitalize()}Backend")(
        vllm_config=configuration, tokenizer=tokenizer, vocab_size=len(tokenizer)
    )
    return made.compile_grammar(*types.get_structured_output_key(outputs))


def _accepted_by_vllm(grammar: Any, tokenizer: Any, text: str) -> bool:
    tokens = [*_tokens(tokenizer, text), tokenizer.eos_token_id]
    return len(grammar.validate_tokens(tokens)) == len(tokens)


@pytest.mark.parametrize("choice", ["required", "auto"])
def test_vllm_compiles_a_structural_tag_with_markers_that_are_special_tokens(tokenizer: Any, choice: str) -> None:
    pytest.importorskip("vllm", reason="runs vLLM's own checks and backend")
    pytest.importorskip("xgrammar", reason="the backend's engine")
    grammar = _vllm("xgrammar", tokenizer, request(_with_ids(tokenizer, choice), "vllm"))
    texts = (_CALL, _BROKEN, "Let me see. " + _CALL, "No call.")
    expected = [True, False, choice == "auto", choice == "auto"]
    assert [_accepted_by_vllm(grammar, tokenizer, text) for text in texts] == expected


def test_vllm_would_not_write_special_tokens_under_a_plain_grammar(tokenizer: Any) -> None:
    """Why the structural tag: when this fails, `grammar` would do."""
    pytest.importorskip("vllm", reason="runs vLLM's own checks and backend")
    pytest.importorskip("xgrammar", reason="the backend's engine")
    fields = {"structured_outputs": {"grammar": _of("xgrammar").text}}
    assert not _accepted_by_vllm(_vllm("xgrammar", tokenizer, fields), tokenizer, _CALL)


def test_vllm_compiles_lark(tokenizer: Any) -> None:
    pytest.importorskip("vllm", reason="runs vLLM's own checks and backend")
    pytest.importorskip("llguidance", reason="the backend's engine")
    grammar = _vllm("guidance", tokenizer, request(_lark(tokenizer), "vllm"))
    assert [_accepted_by_vllm(grammar, tokenizer, text) for text in (_CALL, _BROKEN)] == [True, False]


def _accepted_by_sglang(grammar: Any, tokenizer: Any, text: str) -> bool:
    made = grammar.copy()
    try:
        for token in [*_tokens(tokenizer, text), tokenizer.eos_token_id]:
            made.accept_token(token)
    except ValueError:
        return False
    return bool(made.is_terminated())


def _sglang(fields: dict[str, Any], field: str = "ebnf") -> str:
    """The grammar that SGLang takes from a request, after its own checks."""
    protocol = import_module("sglang.srt.entrypoints.openai.protocol")
    sampling = import_module("sglang.srt.sampling.sampling_params")
    body = {"model": "m", "messages": [{"role": "user", "content": "x"}], "tools": _TOOLS, **fields}
    parameters = protocol.ChatCompletionRequest(**body).to_sampling_params([], {})
    made = sampling.SamplingParams(**{key: value for key, value in parameters.items() if key != "watermark"})
    made.verify(1000)
    return str(getattr(made, field))


@pytest.mark.parametrize("choice", ["required", "auto"])
def test_sglang_compiles_a_structural_tag(tokenizer: Any, choice: str) -> None:
    pytest.importorskip("sglang", reason="runs SGLang's own checks and backend")
    pytest.importorskip("xgrammar", reason="the backend's engine")
    module = import_module("sglang.srt.constrained.xgrammar_backend")
    backend = module.XGrammarGrammarBackend(tokenizer, len(tokenizer), [tokenizer.eos_token_id])
    grammar = backend.dispatch_structural_tag(
        _sglang(request(_with_ids(tokenizer, choice), "sglang"), "structural_tag")
    )
    texts = (_CALL, _BROKEN, "Let me see. " + _CALL, "No call.")
    expected = [True, False, choice == "auto", choice == "auto"]
    assert [_accepted_by_sglang(grammar, tokenizer, text) for text in texts] == expected


def test_sglang_compiles_lark(tokenizer: Any) -> None:
    pytest.importorskip("sglang", reason="runs SGLang's own checks and backend")
    pytest.importorskip("llguidance", reason="the backend's engine")
    module = import_module("sglang.srt.constrained.llguidance_backend")
    grammar = module.GuidanceBackend(tokenizer).dispatch_ebnf(_sglang(request(_lark(tokenizer), "sglang")))
    assert [_accepted_by_sglang(grammar, tokenizer, text) for text in (_CALL, _BROKEN)] == [True, False]


@pytest.mark.parametrize("markers", [(), _MARKERS], ids=["markers as text", "markers as tokens"])
def test_llama_cpp_wakes_at_the_trigger(tmp_path: Path, markers: tuple[str, ...]) -> None:
    """Through llama.cpp's own lazy sampler, with the fields as its server passes them."""
    pytest.importorskip("llama_cpp", reason="asks llama.cpp itself")
    pytest.importorskip("gguf", reason="writes a vocabulary for llama.cpp")
    engine = LlamaGrammars(tmp_path, markers)
    sampler = engine.sampler_for(request(_of("gbnf", "auto"), "llama.cpp"))
    texts = (_CALL, _BROKEN, "Let me see. " + _CALL, "No call.", "Let me see. " + _BROKEN, _CALL + "\n" + _CALL)
    expected = [True, False, True, True, False, True]
    assert [engine.accepts(sampler, text) for text in texts] == expected
    required = engine.sampler_for(request(_of("gbnf"), "llama.cpp"))
    assert [engine.accepts(required, text) for text in texts] == [True, False, False, False, False, True]
