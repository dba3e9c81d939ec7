"""The model directories of `corpus/models`: the results of each, and the guarantees that hold for all results.

A directory contains a model's files as anyone would have them, and `request.json` with `messages` and `tools`. The
expectations are next to them: `report.json` and `error.txt` or the prompt, `prompt.txt` byte for byte and `prompt.json`
without its text. `tests/support/update_snapshots.py` writes these files;
`tests/inspect/test_inspection_corpus_models.py` compares them.
"""

from __future__ import annotations

import json
import shutil
from datetime import datetime
from pathlib import Path
from typing import Any

import toolfmt
from toolfmt.formats import prose
from toolfmt.messages.tools import canonical_tools
from toolfmt.render.prompt import DEFINITIONS_REORDERED
from toolfmt.templates import ModelFiles, TemplateSource

MODELS = Path(__file__).parents[2] / "corpus" / "models"
SHARED = Path(__file__).parents[3] / "shared" / "templates"
EXPECTED = ("report.json", "prompt.json", "prompt.txt", "error.txt")
NOW = datetime(2025, 6, 1, 9, 30)
"""What a template's clock shows."""


def directories() -> list[Path]:
    return sorted(path.parent for path in MODELS.glob("*/request.json"))


def request(directory: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((directory / "request.json").read_text("utf-8"))
    return loaded


def made(
    directory: Path,
    template: str | None,
    *,
    config: dict[str, Any] | None = None,
    tokenizer: dict[str, Any] | None = None,
    generation: dict[str, Any] | None = None,
) -> toolfmt.Model:
    """A new model directory of these files, and the model in it."""
    home = directory / "model"
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir()
    values = {"config.json": config or {}, "tokenizer_config.json": tokenizer, "generation_config.json": generation}
    for name, value in values.items():
        if value is not None:
            (home / name).write_text(json.dumps(value), "utf-8")
    if template is not None:
        (home / "chat_template.jinja").write_bytes(template.encode("utf-8"))
    return toolfmt.load(home)


def shared_names() -> list[str]:
    return sorted(str(path.relative_to(SHARED)) for path in SHARED.rglob("*.jinja"))


def shared_template(name: str) -> ModelFiles:
    """A model directory that contains one of the shared templates and two special tokens."""
    source = TemplateSource((SHARED / name).read_bytes().decode("utf-8"), "chat_template.jinja")
    return ModelFiles(Path(name), None, {}, {}, {}, (source,), {"bos_token": "<s>", "eos_token": "</s>"})


def outcome(directory: Path) -> dict[str, str]:
    """The results, by the name of the file that expects them. A directory's own path is in no file."""
    model = toolfmt.load(directory)
    report = without_optional_engines(model.inspect().to_dict())
    del report["path"]  # the path of the corpus
    files = {"report.json": json_text(report).replace(str(directory), directory.name)}
    try:
        prompt = rendered(model, directory)
    except toolfmt.ToolfmtError as error:
        return files | {"error.txt": str(error).replace(f"{directory}/", "") + "\n"}
    data = prompt.to_dict()
    return files | {"prompt.txt": data.pop("text"), "prompt.json": json_text(data)}


def without_optional_engines(report: dict[str, Any]) -> dict[str, Any]:
    """The report without what it has only if the package of llama.cpp's engine is installed."""
    report["engines"] = [engine for engine in report["engines"] if engine["engine"] != "llama.cpp"]
    return report


def rendered(model: toolfmt.Model, directory: Path, **changed: Any) -> toolfmt.Prompt:
    return model.render(**{**request(directory), "now": NOW, **changed})


def expected(directory: Path) -> dict[str, str]:
    found = {name: directory / name for name in EXPECTED if (directory / name).exists()}
    return {name: path.read_bytes().decode("utf-8") for name, path in found.items()}


def violated_invariants(directory: Path) -> list[str]:
    """The guarantees that a directory's prompts break, described; an expectation that breaks one is never written.

    The directory is loaded, and its template inspected, twice: the same request must give both the same prompt.
    """
    model, again = toolfmt.load(directory), toolfmt.load(directory)
    try:
        rendered(model, directory)
    except toolfmt.ToolfmtError:
        return []
    case_request = request(directory)
    broken = []
    for strategy in ("auto", "prompt"):
        prompt = rendered(model, directory, strategy=strategy)
        broken += [f"{strategy}: {problem}" for problem in _never_both(prompt, case_request["messages"])]
        if prompt.to_dict() != rendered(again, directory, strategy=strategy).to_dict():
            broken.append(f"{strategy}: the same request gives another prompt")
        backwards = rendered(model, directory, strategy=strategy, tools=[*map(_backwards, case_request["tools"])])
        if _but_for_its_definitions(prompt) != _but_for_its_definitions(backwards):
            broken.append(f"{strategy}: the order of the keys of a tool definition itself changes the prompt")
    if rendered(model, directory, tools=[]).to_dict() != rendered(model, directory, tools=None).to_dict():
        broken.append("an empty list of tools is not rendered like none")
    return broken


def _never_both(prompt: toolfmt.Prompt, messages: list[dict[str, Any]]) -> list[str]:
    """By counting words in the finished prompt, independently of the renderer's own check."""
    format = prompt.tool_call_format
    assert format is not None
    variants = [prose(format.with_variant(variant), prompt.tools) for variant in ("", *format.variants)]
    prose_text = max(variants, key=prompt.text.count)
    expected_count = int(prompt.strategy == "prompt")
    broken = []
    if prompt.text.count(prose_text) != expected_count:
        broken.append(
            f"the prose stands {prompt.text.count(prose_text)} times in a prompt of strategy {prompt.strategy}"
        )
    if prompt.text.count(format.instructions) != expected_count:
        broken.append("the instructions of the format stand there besides the prose")
    messages_text = json.dumps(messages, ensure_ascii=False)
    for tool in canonical_tools(prompt.tools):
        description = tool["function"]["description"]
        if prompt.text.count(description) - messages_text.count(description) != 1:
            broken.append(f"{tool['function']['name']} is described {prompt.text.count(description)} times")
    return broken


def _but_for_its_definitions(prompt: toolfmt.Prompt) -> dict[str, Any]:
    """The prompt without the adaptation that the keys of its definitions were sorted."""
    adaptations = [name for name in prompt.adaptations if name != DEFINITIONS_REORDERED]
    return prompt.to_dict() | {"adaptations": adaptations}


def _backwards(tool: dict[str, Any]) -> dict[str, Any]:
    """The same definition with its own keys in reverse, its parameters as they are."""
    turned = dict(reversed(tool.items()))
    return turned | {"function": dict(reversed(tool["function"].items()))} if "function" in tool else turned


def json_text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2) + "\n"
