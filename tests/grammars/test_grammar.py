"""`toolfmt.grammar`, `Model.grammar` and `toolfmt grammar`: the requested grammar in every syntax, or an error."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import depth
import lark
import pytest
from click.testing import CliRunner, Result
from gbnf_reader import Gbnf
from llguidance import LLMatcher
from model_cases import MODELS

import toolfmt
from toolfmt.cli.commands import main
from toolfmt.grammars.grammar import SYNTAXES

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "get_weather",
            "parameters": {
                "type": "object",
                "properties": {"place": {"type": "string"}, "days": {"type": "integer", "minimum": 1, "maximum": 7}},
                "required": ["place"],
            },
        },
    }
]
GLM = MODELS / "glm4-key-value"


@pytest.fixture
def tools_file(tmp_path: Path) -> str:
    file = tmp_path / "tools.json"
    file.write_text(json.dumps(TOOLS))
    return str(file)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["grammar", *arguments], prog_name="toolfmt")


def error_line(*arguments: str) -> str:
    result = run(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    line = result.stderr.removeprefix("toolfmt: ")
    assert line.count("\n") == 1
    return line.strip()


def narrower_line(name: str) -> str:
    what = "the grammar rejects some outputs that the format allows"
    return f"toolfmt: {what}: {name}; docs/grammars.md explains these names\n"


@pytest.mark.parametrize("choice", ["auto", "required", "get_weather"])
@pytest.mark.parametrize("syntax", SYNTAXES)
def test_the_command_prints_what_the_function_gives(syntax: Any, choice: str, tools_file: str) -> None:
    made = toolfmt.grammar("glm4", TOOLS, syntax=syntax, choice=choice)
    result = run("glm4", "--tools", tools_file, "--for", syntax, "--choice", choice)
    printed = narrower_line("markers-in-texts")
    if syntax == "llguidance":
        printed += "toolfmt: without a MODEL it is unknown which markers are a single token; "
        printed += "llguidance treats all of them as text\n"
    assert (result.exit_code, result.stdout, result.stderr) == (0, made.text, printed)
    assert made.narrower == ("markers-in-texts",)
    assert (made.syntax, made.triggers) == (syntax, ("<tool_call>",) if choice == "auto" else ())


def test_the_text_is_whole_and_calls_begin_at_the_trigger() -> None:
    made = toolfmt.grammar("glm4", TOOLS, syntax="lark")
    whole, calls = (lark.Lark(text, parser="earley", lexer="dynamic") for text in (made.text, made.calls))
    call = toolfmt.write("glm4", [("get_weather", {"place": "Oslo", "days": 3})], TOOLS)
    for text in (call, "Let me look.\n" + call, "Nothing to look up."):
        whole.parse(text)
    calls.parse(call)
    for text in ("Let me look.\n" + call, "Nothing to look up."):
        with pytest.raises(lark.exceptions.LarkError):
            calls.parse(text)
    with pytest.raises(lark.exceptions.LarkError):
        whole.parse(call.replace("3", "8"))


def test_one_call_or_several() -> None:
    two = toolfmt.write("glm4", [("get_weather", {"place": "Oslo"})] * 2, TOOLS)
    for parallel in (True, False):
        made = toolfmt.grammar("glm4", TOOLS, syntax="lark", choice="required", parallel=parallel)
        reader = lark.Lark(made.text, parser="earley", lexer="dynamic")
        if parallel:
            reader.parse(two)
        else:
            with pytest.raises(lark.exceptions.LarkError):
                reader.parse(two)


def test_markers_that_are_tokens_are_named_by_their_ids() -> None:
    tokens = {"<tool_call>": 7, "</tool_call>": 8, "<|im_end|>": 9}
    made = toolfmt.grammar("glm4", TOOLS, choice="required", tokens=tokens)
    assert made.preserved[:2] == ("<tool_call>", "</tool_call>")
    assert {"<arg_key>", "</arg_value>"} < set(made.preserved)
    assert "<|im_end|>" not in made.preserved
    assert "<[7]>" in made.text
    assert "<[8]>" in made.text
    assert "<[9]>" not in made.text
    assert not LLMatcher.validate_grammar(LLMatcher.grammar_from_lark(made.text))


def test_the_grammar_of_a_model_uses_its_tokens_its_variant_and_its_prefix(tmp_path: Path) -> None:
    home = tmp_path / "model"
    shutil.copytree(GLM, home)
    config = json.loads((home / "tokenizer_config.json").read_text())
    config["added_tokens_decoder"]["151352"] = {"content": "<tool_call>", "special": False}
    (home / "tokenizer_config.json").write_text(json.dumps(config))
    model = toolfmt.load(home)
    made = model.grammar(TOOLS, choice="required")
    assert made.tokens == {"<tool_call>": 151352}
    assert "<[151352]>" in made.text
    opened = model.grammar(TOOLS, choice="required", prefix="<think>\n")
    assert opened.text != made.text
    assert model.grammar(TOOLS, syntax="lark", choice="required").text == (
        toolfmt.grammar(
            toolfmt.get("glm4").with_variant(model.profile.variant), TOOLS, syntax="lark", choice="required"
        ).text
    )


def test_without_such_a_list_the_tokenizer_of_the_model_is_used(tmp_path: Path) -> None:
    from tokenizers import AddedToken, Tokenizer, models

    home = tmp_path / "model"
    home.mkdir()
    for file in ("config.json", "chat_template.jinja"):
        (home / file).write_bytes((MODELS / "json-frames" / file).read_bytes())
    tokenizer = Tokenizer(models.BPE(vocab={"a": 0, "b": 1}, merges=[]))
    tokenizer.add_tokens([AddedToken("<tool_call>", special=False)])
    tokenizer.save(str(home / "tokenizer.json"))
    made = toolfmt.load(home).grammar(TOOLS, choice="required")
    assert made.tokens == {"<tool_call>": 2}
    assert "<[2]>" in made.text


def test_a_broken_model_is_reported(tmp_path: Path, tools_file: str) -> None:
    home = tmp_path / "model"
    shutil.copytree(GLM, home)
    (home / "chat_template.jinja").write_text("{% if")
    result = run(str(home), "--tools", tools_file, "--for", "lark", "--choice", "required")
    assert result.exit_code == 0
    assert "so the format is not verified" in result.stderr


def test_a_grammar_without_a_tokenizer_names_those_of_the_masks() -> None:
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

    from toolfmt.grammars.masks import Masks

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE(vocab={character: number for number, character in enumerate(alphabet)}, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken(text, special=True) for text in ("<eos>", "<tool_call>", "</tool_call>")])
    call = toolfmt.write("glm4", [("get_weather", {"place": "Oslo", "days": 3})], TOOLS)
    for tokens in (None, {"<tool_call>": 257, "</tool_call>": 258}):
        made = toolfmt.grammar("glm4", TOOLS, choice="required", tokens=tokens)
        masks = Masks(made, tokenizer, [256])
        assert 257 in masks.allowed()
        assert masks.fresh().accepts(call)
        assert not masks.fresh().accepts(call.replace("3", "8"))


def test_a_request_is_printed_as_json(tools_file: str) -> None:
    fields = json.loads(run("glm4", "--tools", tools_file, "--request", "llama.cpp").stdout)
    made = toolfmt.grammar("glm4", TOOLS, syntax="gbnf")
    assert fields == made.request("llama.cpp")
    assert fields["grammar"] == made.calls
    assert fields["grammar_triggers"] == [{"type": 1, "value": "<tool_call>"}]
    fields = json.loads(run(str(GLM), "--tools", tools_file, "--request", "vllm").stdout)
    made = toolfmt.load(GLM).grammar(TOOLS, syntax="structural-tag")
    assert fields == {"structured_outputs": {"structural_tag": made.text}}
    fields = json.loads(run("glm4", "--tools", tools_file, "--request", "sglang", "--choice", "required").stdout)
    assert fields["response_format"]["format"]["elements"][-1]["grammar"].startswith("root ::=")


def test_a_narrower_grammar_is_reported_on_stderr(tmp_path: Path) -> None:
    file = tmp_path / "tools.json"
    file.write_text(
        json.dumps(
            [{"name": "f", "parameters": {"type": "object", "properties": {"a": {}}, "additionalProperties": True}}]
        )
    )
    result = run("json", "--tools", str(file), "--for", "lark")
    assert result.exit_code == 0
    assert result.stderr == narrower_line("declared-keys")


@pytest.mark.parametrize("syntax", ["gbnf", "structural-tag", "lark"])
def test_members_in_declared_order_are_reported(syntax: Any) -> None:
    def narrower(count: int) -> tuple[str, ...]:
        properties = {f"a{at}": {"type": "integer"} for at in range(count)}
        tools = [{"name": "f", "parameters": {"type": "object", "properties": properties}}]
        return toolfmt.grammar("json", tools, syntax=syntax).narrower

    assert (narrower(3), narrower(8)) == ((), ("declared-order",))


def test_bad_input_is_one_line(tmp_path: Path, tools_file: str) -> None:
    assert "nope: no such file or directory" in error_line("nope", "--tools", tools_file)
    assert "no tool-call format is named 'nope'" in error_line("nope", "--tools", tools_file)
    assert "no tool named 'nope' is declared; declared tools: get_weather" in error_line(
        "glm4", "--tools", tools_file, "--choice", "nope"
    )
    assert "vllm does not accept the grammar syntax 'gbnf'" in error_line(
        "glm4", "--tools", tools_file, "--request", "vllm", "--for", "gbnf"
    )
    assert "just the tool's name" in error_line("glm4_legacy", "--tools", tools_file)
    assert "cannot be read" in error_line("glm4", "--tools", str(tmp_path / "none.json"))
    file = tmp_path / "tools.json"
    file.write_text('[{"name": "f", "parameters": {"type": "object", "properties": {"p": {"not": {}}}}}]')
    line = error_line("glm4", "--tools", str(file))
    assert line == (
        "the format glm4 has no grammar for the argument 'p' of 'f': the keyword 'not' is not supported in grammars"
    )
    file.write_text("[]")
    assert "there is nothing to call" in error_line("glm4", "--tools", str(file))
    with pytest.raises(ValueError, match="no syntax 'nope'; choose one of llguidance"):
        toolfmt.grammar("glm4", TOOLS, syntax="nope")  # type: ignore[arg-type]  # what a program may pass
    with pytest.raises(toolfmt.UnknownFormat):
        toolfmt.grammar("nope", TOOLS)
    with pytest.raises(toolfmt.ToolfmtError, match="there is no runtime 'nope'"):
        toolfmt.grammar("glm4", TOOLS).request("nope")  # type: ignore[arg-type]  # as above


@pytest.mark.parametrize("syntax", ["gbnf", "structural-tag", "lark"])
@pytest.mark.parametrize("name", ["json", "lfm2", "glm4"])
@pytest.mark.parametrize(
    ("schema", "why"),
    [
        ({"type": "integer", "multipleOf": 2}, "'multipleOf'"),
        ({"type": "array", "prefixItems": [{"type": "integer"}]}, "'prefixItems'"),
        ({"type": "string", "pattern": "^a$", "maxLength": 3}, "a pattern"),
    ],
)
def test_what_a_syntax_cannot_express_is_named(syntax: Any, name: str, schema: dict[str, Any], why: str) -> None:
    fine = {"type": "object", "properties": {"x": {"type": "string"}}}
    odd = {"type": "object", "properties": {"a": {"type": "string"}, "p": schema}, "required": ["a", "p"]}
    tools = [{"name": "fine", "parameters": fine}, {"name": "look", "parameters": odd}]
    with pytest.raises(toolfmt.CannotConstrain) as raised:
        toolfmt.grammar(name, tools, syntax=syntax)
    assert all(part in str(raised.value) for part in (name, "the argument 'p' of 'look'", why))
    assert "\n" not in str(raised.value)


def test_every_format_makes_a_grammar_that_llguidance_takes() -> None:
    for format in depth.some(toolfmt.formats.FORMATS, 4):
        made = toolfmt.grammar(format, TOOLS, choice="required")
        assert not LLMatcher.validate_grammar(LLMatcher.grammar_from_lark(made.text)), format.name


def test_the_help_names_the_invalid_calls_that_a_grammar_allows() -> None:
    schema = {"type": "object", "properties": {"labels": {"type": "object"}}, "required": ["labels"]}
    tools = [{"type": "function", "function": {"name": "f", "parameters": schema}}]
    allows = Gbnf(toolfmt.grammar("json", tools, syntax="gbnf", choice="required").text).accepts
    for labels, rejected in (('{"a": 1}', 0), ('{"a": 1, "a": 1}', 0), ('{"a": 1, "a": 2}', 1)):
        call = f'<tool_call>\n{{"name": "f", "arguments": {{"labels": {labels}}}}}\n</tool_call>'
        assert allows(call)
        assert len(toolfmt.parse(call, "json", tools=tools).rejected) == rejected
    shown = " ".join(CliRunner().invoke(main, ["grammar", "--help"]).output.split())
    assert "an object with arbitrary keys may repeat a key" in shown
