"""The section on tokens: real tokenizers, trained here, and the report on files that are not tokenizers."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from inspection_templates import label
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers

from toolfmt.cli.printing.settings import leaving_out
from toolfmt.errors import BadTools, ToolfmtError
from toolfmt.formats import FORMATS, ToolCallFormat, prose, write
from toolfmt.inspect.facts import NO_OPTIONS, InspectionOptions
from toolfmt.inspect.inspection import inspect_files, inspect_template
from toolfmt.inspect.probe.conversations import SINGLE, TOOLS, user
from toolfmt.inspect.probe.token_costs import difference
from toolfmt.inspect.probe.tokenizer_file import TokenizerFile
from toolfmt.inspect.report.report import Finding, Report, Tokens, ToolCost
from toolfmt.inspect.sections.tokens import EXAMPLES
from toolfmt.messages.tools import canonical_tools
from toolfmt.templates import ChatTemplate, load_files

TEMPLATE = """\
{%- if tools %}<|start|>tools
{%- for tool in tools %}
{{ tool | tojson }}
{%- endfor %}<|end|>
{% endif %}
{%- for message in messages %}<|start|>{{ message.role }}
{% if message.reasoning_content %}<think>{{ message.reasoning_content }}</think>{% endif %}
{{- message.content or '' }}
{%- for call in message.tool_calls or [] %}
<tool_call>
{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}
</tool_call>
{%- endfor %}<|end|>
{% endfor %}
{%- if add_generation_prompt %}<|start|>assistant
{% endif %}"""
PLAIN = "{% for message in messages %}<|start|>{{ message.role }}\n{{ message.content }}<|end|>\n{% endfor %}"
FRAMES = ("<|start|>", "<|end|>")
CALLS = ("<tool_call>", "</tool_call>")


def special(*texts: str) -> list[AddedToken]:
    return [AddedToken(text, special=True) for text in texts]


def plain(*texts: str) -> list[AddedToken]:
    return [AddedToken(text, special=False) for text in texts]


def trained(added: Sequence[AddedToken], *, spaced: bool = False) -> Tokenizer:
    """A tiny BPE: by bytes, or over whole lines with a mark for spaces, as SentencePiece splits them."""
    tokenizer = Tokenizer(models.BPE())
    if spaced:
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(split=False)
        tokenizer.decoder = decoders.Metaspace()
        alphabet = [chr(code) for code in range(32, 127)] + ["\n"]
    else:
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        tokenizer.decoder = decoders.ByteLevel()
        alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=400, initial_alphabet=alphabet, show_progress=False)
    tokenizer.train_from_iterator([json.dumps(EXAMPLES), "user assistant system tools"], trainer)
    for token in added:
        (tokenizer.add_special_tokens if token.special else tokenizer.add_tokens)([token])
    return tokenizer


def inspected(
    path: Path,
    added: Sequence[AddedToken],
    options: InspectionOptions = NO_OPTIONS,
    *,
    template: str = TEMPLATE,
    **files: Any,
) -> Report:
    trained(added).save(str(path / "tokenizer.json"))
    return directory(path, options, template=template, **files)


def directory(path: Path, options: InspectionOptions = NO_OPTIONS, *, template: str = TEMPLATE, **files: Any) -> Report:
    (path / "chat_template.jinja").write_text(template, encoding="utf-8")
    for name, value in files.items():
        (path / f"{name}.json").write_text(json.dumps(value), encoding="utf-8")
    return inspect_files(load_files(path), options)


def chapter(report: Report) -> Tokens:
    assert report.sections.tokens is not None
    return report.sections.tokens


def found(report: Report, code: str) -> list[Finding]:
    listed = [finding for finding in (*report.findings, *report.notes) if label(finding) == code]
    assert all(finding.message.endswith(".") and finding.fix.endswith(".") for finding in listed)
    return listed


def tools(*names: str) -> list[dict[str, Any]]:
    """Tools with descriptions that become longer in their order."""
    return canonical_tools(
        {
            "name": name,
            "description": "Does it well. " * (position + 1),
            "parameters": {"type": "object", "properties": {"what": {"type": "string"}}},
        }
        for position, name in enumerate(names)
    )


def prompt(given: Sequence[Any]) -> str:
    return ChatTemplate(TEMPLATE).render(user(), tools=list(given) or None, add_generation_prompt=True)


# --- markers


def test_markers_are_cut_as_the_tokenizer_cuts_them(tmp_path: Path) -> None:
    report = inspected(tmp_path, [*special(*FRAMES), *plain(*CALLS)])
    by_marker = {marker.marker: marker for marker in chapter(report).markers}
    assert list(by_marker) == [*CALLS, "<think>", "</think>", "<|end|>"]
    assert [by_marker[marker].kind for marker in by_marker] == ["call", "call", "reasoning", "reasoning", "stop"]
    assert [by_marker[marker].special for marker in by_marker] == [False, False, False, False, True]
    assert (by_marker["<tool_call>"].tokens, by_marker["<|end|>"].tokens) == (("<tool_call>",), ("<|end|>",))
    assert len(by_marker["<think>"].tokens) > 1
    assert "".join(by_marker["<think>"].tokens) == "<think>"
    assert found(report, "markers-are-special-tokens") == found(report, "marker-not-a-token") == []


def test_special_markers_of_calls_are_a_warning_and_name_the_setting(tmp_path: Path) -> None:
    findings = found(inspected(tmp_path, special(*FRAMES, *CALLS)), "markers-are-special-tokens")
    assert [finding.severity for finding in findings] == ["warning"]
    assert findings[0].message.startswith("<tool_call> and </tool_call> are special tokens in calls")
    assert "skip_special_tokens=False" in findings[0].fix


def test_special_markers_of_reasoning_are_a_warning(tmp_path: Path) -> None:
    findings = found(inspected(tmp_path, special(*FRAMES, "<think>", "</think>")), "markers-are-special-tokens")
    assert [(finding.severity, finding.message.partition(" are ")[0]) for finding in findings] == [
        ("warning", "<think> and </think>")
    ]


def test_a_special_token_inside_a_call_is_a_marker_too(tmp_path: Path) -> None:
    quoted = TEMPLATE.replace('{"name": "{{', '{"name": <|sep|>"{{')
    report = inspected(tmp_path, special(*FRAMES, "<|sep|>"), template=quoted)
    assert "<|sep|>" in [marker.marker for marker in chapter(report).markers if marker.kind == "call"]
    assert [finding.severity for finding in found(report, "markers-are-special-tokens")] == ["warning"]


def test_a_marker_that_the_files_call_a_token_and_the_tokenizer_cuts(tmp_path: Path) -> None:
    declared = {"added_tokens_decoder": {"7": {"content": "<tool_call>", "special": False}}}
    findings = found(inspected(tmp_path, special(*FRAMES), tokenizer_config=declared), "marker-not-a-token")
    assert [finding.severity for finding in findings] == ["note"]
    assert findings[0].message.startswith("tokenizer.json cuts <tool_call> into ")
    assert findings[0].message.endswith("though tokenizer_config.json lists it as a token.")


def test_a_marker_whose_counterpart_is_a_token(tmp_path: Path) -> None:
    findings = found(inspected(tmp_path, [*special(*FRAMES), *plain("<tool_call>")]), "marker-not-a-token")
    assert [finding.message.partition(" into ")[0] for finding in findings] == ["tokenizer.json cuts </tool_call>"]
    assert "<tool_call> is one token" in findings[0].message


def test_pieces_on_both_sides_are_no_evidence(tmp_path: Path) -> None:
    assert found(inspected(tmp_path, special(*FRAMES)), "marker-not-a-token") == []


@pytest.mark.parametrize("format", FORMATS, ids=lambda format: format.name)
def test_every_format_has_markers_though_the_template_renders_no_calls(format: ToolCallFormat, tmp_path: Path) -> None:
    declared = {"tool_parser": format.name}
    report = inspected(tmp_path, special(*FRAMES), template=PLAIN, tokenizer_config=declared)
    assert report.format.name == format.name
    written = write(format, SINGLE, TOOLS)
    marked = [marker.marker for marker in chapter(report).markers if marker.kind == "call"]
    assert [marker for marker in marked if marker not in written] == []
    assert bool(marked) == any(opener in written for opener in (*format.openers, *format.engine.start_only_openers))


# --- costs


def test_the_examples_are_counted_where_no_tools_are_given(tmp_path: Path) -> None:
    tokens = chapter(inspected(tmp_path, special(*FRAMES)))
    assert (tokens.given, {cost.name for cost in tokens.tools}) == (
        False,
        {tool["function"]["name"] for tool in EXAMPLES},
    )
    assert tokens.total == tokens.preamble + sum(cost.tokens for cost in tokens.tools)


def test_each_tool_costs_what_the_prompt_is_shorter_without_it(tmp_path: Path) -> None:
    given = tools("a", "b", "c", "d")
    tokens = chapter(inspected(tmp_path, special(*FRAMES), InspectionOptions(tools=given)))
    count = TokenizerFile(tmp_path / "tokenizer.json").count
    everything = count(prompt(given))
    expected = [
        ToolCost(tool["function"]["name"], everything - count(prompt([other for other in given if other is not tool])))
        for tool in reversed(given)
    ]
    assert tokens.tools == tuple(expected)
    assert tokens.total == everything - count(prompt([]))
    assert tokens.preamble == tokens.total - sum(cost.tokens for cost in expected)
    assert tokens.preamble > 0


def test_one_tool_alone_does_not_pay_for_the_preamble(tmp_path: Path) -> None:
    added = special(*FRAMES)
    alone = chapter(inspected(tmp_path, added, InspectionOptions(tools=tools("a"))))
    several = chapter(inspected(tmp_path, added, InspectionOptions(tools=tools("a", "b", "c"))))
    assert [cost for cost in several.tools if cost.name == "a"] == list(alone.tools)
    assert alone.preamble == several.preamble


def test_definitions_in_either_shape_cost_the_same_and_none_cost_nothing(tmp_path: Path) -> None:
    given = tools("a", "b")
    inner = [tool["function"] for tool in given]
    counted = [
        chapter(inspected(tmp_path, special(*FRAMES), InspectionOptions(tools=which))) for which in (given, inner, [])
    ]
    assert counted[0] == counted[1]
    assert (counted[2].tools, counted[2].total, counted[2].preamble) == ((), 0, 0)


def test_an_invalid_tool_raises_an_error(tmp_path: Path) -> None:
    with pytest.raises(BadTools):
        inspected(tmp_path, special(*FRAMES), InspectionOptions(tools=[{"description": "no name"}]))


def test_a_template_that_shows_no_tools_costs_the_prose(tmp_path: Path) -> None:
    tokens = chapter(inspected(tmp_path, special(*FRAMES), template=PLAIN))
    assert tokens.total == TokenizerFile(tmp_path / "tokenizer.json").count(prose("json", EXAMPLES))


def test_a_template_that_shows_tools_only_with_a_system_message(tmp_path: Path) -> None:
    picky = TEMPLATE.replace("{%- if tools %}", "{%- if tools and messages[0].role == 'system' %}")
    tokens = chapter(inspected(tmp_path, special(*FRAMES), template=picky))
    assert tokens == chapter(inspected(tmp_path, special(*FRAMES)))


def test_a_template_that_rejects_the_tools_costs_nothing(tmp_path: Path) -> None:
    picky = "{% if tools and tools | length > 1 %}{{ raise_exception('one') }}{% endif %}" + TEMPLATE
    tokens = chapter(inspected(tmp_path, special(*FRAMES), template=picky))
    assert (tokens.total, tokens.tools) == (0, ())
    assert tokens.markers


@pytest.mark.parametrize("spaced", [False, True])
@pytest.mark.parametrize(
    ("more", "less"),
    [
        ("", ""),
        ("get_weather " * 300, ""),
        ("a " * 400 + "the weather in Oslo" + " b" * 400, "a " * 400 + " b" * 400),
        ("city, unit, " * 200 + "query" + ", limit" * 200, "city, unit, " * 200 + ", limit" * 200),
        ("x" * 900, "x" * 600),
        ("Oslo\n" * 500 + "<|end|>", "Oslo\n" * 300 + "<|end|>"),
    ],
)
def test_cutting_only_what_differs_counts_as_cutting_everything(
    more: str, less: str, spaced: bool, tmp_path: Path
) -> None:
    trained(special(*FRAMES), spaced=spaced).save(str(tmp_path / "tokenizer.json"))
    tokenizer = TokenizerFile(tmp_path / "tokenizer.json")
    assert difference(tokenizer.count, more, less) == tokenizer.count(more) - tokenizer.count(less)


# --- the context


def test_the_dearest_tools_are_left_out_until_the_rest_takes_a_quarter(tmp_path: Path) -> None:
    given = tools("a", "b", "c", "d")
    costs = chapter(inspected(tmp_path, special(*FRAMES), InspectionOptions(tools=given)))
    dearest, second = costs.tools[:2]
    fits = costs.total - dearest.tokens - second.tokens
    report = inspected(tmp_path, special(*FRAMES), InspectionOptions(tools=given, context=4 * fits))
    tokens = chapter(report)
    assert (tokens.room, tokens.leave_out) == (fits, ("d", "c"))
    (finding,) = found(report, "TF067")
    assert f"take {costs.total} tokens, more than a quarter of the context of {4 * fits:,}." in finding.message
    assert finding.fix == f"Leave out d, c: the rest takes {fits} tokens."


def test_tools_that_fit_are_no_finding_nor_are_examples(tmp_path: Path) -> None:
    wide, examples = InspectionOptions(tools=tools("a"), context=100_000), InspectionOptions(context=8)
    for options in (wide, examples):
        report = inspected(tmp_path, special(*FRAMES), options)
        assert (chapter(report).leave_out, found(report, "TF067")) == ((), [])


def test_where_no_tool_fits_a_larger_context_is_needed(tmp_path: Path) -> None:
    report = inspected(tmp_path, special(*FRAMES), InspectionOptions(tools=tools("a", "b"), context=8))
    (finding,) = found(report, "TF067")
    assert chapter(report).leave_out == ("b", "a")
    assert "the whole context of 8" in finding.message
    assert "larger context" in finding.fix


# --- files that are not tokenizers


def test_without_the_file_there_is_no_chapter_and_no_finding(tmp_path: Path) -> None:
    report = directory(tmp_path)
    assert (report.sections.tokens, found(report, "TF068")) == (None, [])
    assert inspect_template(TEMPLATE).sections.tokens is None


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is not a tokenizer that can be read"),
        (b"{}", "is not a tokenizer that can be read"),
        (b"[1, 2]", "is not a tokenizer that can be read"),
        (b'{"version": "1.0", "model": {"type": "Foreign"}}', "is not a tokenizer that can be read"),
        (b"\xff\xfe\x00", "is not a tokenizer that can be read"),
        (b"[" * 100_000, "is not a tokenizer that can be read"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 7\n", "is a pointer of Git LFS"),
    ],
)
def test_a_file_that_is_no_tokenizer_is_a_finding(content: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_bytes(content)
    report = directory(tmp_path, generation_config={"eos_token_id": 5})
    (finding,) = found(report, "TF068")
    assert (report.sections.tokens, finding.severity) == (None, "warning")
    assert message in finding.message
    assert "\n" not in finding.message
    assert found(report, "stop-token-unknown") == []


def test_a_directory_or_a_dead_link_in_its_place_is_a_finding(tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").symlink_to(tmp_path / "nowhere")
    missing = "tokenizer.json cannot be read (No such file or directory)."
    assert [finding.message for finding in found(directory(tmp_path), "TF068")] == [missing]
    (tmp_path / "tokenizer.json").unlink()
    (tmp_path / "tokenizer.json").mkdir()
    assert [finding.message for finding in found(directory(tmp_path), "TF068")] == ["tokenizer.json is not a file."]


def test_a_tokenizer_that_cannot_cut_the_text_gives_no_chapter(tmp_path: Path) -> None:
    Tokenizer(models.WordLevel({"a": 0}, unk_token="[UNK]")).save(str(tmp_path / "tokenizer.json"))
    assert directory(tmp_path).sections.tokens is None


def test_a_limit_of_length_in_the_file_does_not_cut_the_count(tmp_path: Path) -> None:
    expected = chapter(inspected(tmp_path, special(*FRAMES)))
    limited = Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    limited.enable_truncation(16)
    limited.enable_padding(length=4096)
    limited.save(str(tmp_path / "tokenizer.json"))
    assert chapter(directory(tmp_path)) == expected


# --- stop tokens


@pytest.mark.parametrize("file", ["generation_config", "config"])
def test_ids_that_end_answers_are_looked_up_in_the_tokenizer(file: str, tmp_path: Path) -> None:
    added = special(*FRAMES, "<|call|>")
    number = trained(added).token_to_id("<|call|>")
    named: dict[str, Any] = {file: {"eos_token_id": [number]}}
    report = inspected(tmp_path, added, **named)
    assert report.profile.stop == ("<|end|>", "<|call|>")
    assert found(report, "stop-token-unknown") == []


def test_an_id_that_no_file_knows_is_a_finding(tmp_path: Path) -> None:
    ids = {"eos_token_id": [99_999, -1, 2**70, 0]}
    (finding,) = found(inspected(tmp_path, special(*FRAMES), generation_config=ids), "stop-token-unknown")
    assert finding.message == (
        f"generation_config.json ends responses at the token 99999, -1, {2**70}, which the tokenizer does not define."
    )


@pytest.mark.sample(1)
@pytest.mark.parametrize("ids", [None, "7", True, {}, [None, "x", [3]]])
def test_ids_of_other_types_are_none(ids: Any, tmp_path: Path) -> None:
    report = inspected(tmp_path, special(*FRAMES), generation_config={"eos_token_id": ids})
    assert (report.profile.stop, found(report, "stop-token-unknown")) == (("<|end|>",), [])


def test_without_a_tokenizer_an_unknown_id_cannot_be_detected(tmp_path: Path) -> None:
    assert found(directory(tmp_path, generation_config={"eos_token_id": 99_999}), "stop-token-unknown") == []


def test_which_markers_count_only_as_tokens(tmp_path: Path) -> None:
    report = inspected(tmp_path, special("<|start|>", "<tool_call>", "</other>"))
    counted = {marker.marker: marker.only_as_token for marker in chapter(report).markers}
    assert counted["<tool_call>"] and not counted["</tool_call>"]
    template = TEMPLATE.replace("<tool_call>", "<｜DSML｜call>").replace("</tool_call>", "</｜DSML｜call>")
    report = inspected(tmp_path, special("｜DSML｜"), template=template)
    counted = {marker.marker: marker.only_as_token for marker in chapter(report).markers if marker.kind == "call"}
    assert counted == {"<｜DSML｜call>": True, "</｜DSML｜call>": True}


def test_the_chapter_is_json(tmp_path: Path) -> None:
    report = inspected(tmp_path, special(*FRAMES, *CALLS), InspectionOptions(tools=tools("a"), context=64))
    reported = json.loads(json.dumps(report.to_dict()))["tokens"]
    assert list(reported) == ["markers", "preamble", "tools", "total", "given", "context", "room", "leave_out"]
    assert reported["markers"][0] == {
        "marker": "<tool_call>",
        "kind": "call",
        "tokens": ["<tool_call>"],
        "special": True,
        "only_as_token": True,
    }


def test_an_installation_without_tokenizers_is_not_a_defect_of_the_template(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(ToolfmtError, match=r"tokenizer\.json needs the package tokenizers .*; pip install tokenizers"):
        inspected(tmp_path, special(*FRAMES))


@pytest.mark.parametrize(
    ("leave_out", "expected"),
    [
        ((), ""),
        (("a",), "leave out a to stay within 50"),
        (("a", "b"), "no tool fits into a quarter of the context (50 tokens)"),
    ],
)
def test_what_to_leave_out_is_not_everything(leave_out: tuple[str, ...], expected: str) -> None:
    costs = (ToolCost("a", 80), ToolCost("b", 60))
    counted = Tokens((), 10, costs, 150, given=True, context=200, room=50, leave_out=leave_out)
    assert leaving_out(counted) == expected
