"""`toolfmt dev new-format` and `new-finding`: what they write into a clone, what they reject, and that the completed
files pass the contract tests.

Most tests run on a clone of a few files. The last ones copy what the contract tests need and run those there.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import pickle
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from inspection_templates import changed as changed_template
from model_cases import MODELS

import toolfmt
from toolfmt.cli.commands import main
from toolfmt.cli.scaffolding import new_format
from toolfmt.cli.scaffolding.case_files import CASE_REQUESTS
from toolfmt.cli.scaffolding.clone import CHECKS, Clone, FilePlan
from toolfmt.cli.scaffolding.clone import FORMATS as KNOWN
from toolfmt.cli.scaffolding.format_module import Knowledge, signature
from toolfmt.cli.scaffolding.python_source import changed, import_lines, keyword, literal, pattern
from toolfmt.errors import LimitHit
from toolfmt.formats import FORMATS, ToolCallFormat, get
from toolfmt.formats.engines.json_object import JsonObject
from toolfmt.model.jobs import shared_worker
from toolfmt.testing.corpus import TO_FILL, TOPICS, Case, read

ROOT = Path(__file__).parents[2]
OWN = MODELS / "format-of-its-own"
TEMPLATE = (OWN / "chat_template.jinja").read_text("utf-8")
UNDELIMITED = TEMPLATE.replace("【with ' + key + '】'", "' + key + ': '").replace("'【/with】\\n'", "'\\n'")
PLAIN = "{% for message in messages %}<|{{ message.role }}|>\n{{ message.content }}<|end|>\n{% endfor %}"
REGISTRY = f"{KNOWN}/__init__.py"
FINDINGS = f"{CHECKS}/__init__.py"


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """What makes a folder a clone, and a check that replaces the last code, which is not used again."""
    root = tmp_path / "clone"
    copied = (REGISTRY, FINDINGS, f"{CHECKS}/tf025_unknown_format.py", "corpus/tools.json", "pyproject.toml")
    for name in (*copied, "tests/formats/test_registry.py"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, root / name)
    return root


@pytest.fixture(autouse=True)
def each_template_is_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Deriving takes a second or two and is deterministic."""
    monkeypatch.setattr(new_format, "shared_worker", lambda: _WORKER)


class _Remembering:
    """The worker, with cached results."""

    def __init__(self) -> None:
        self._answers: dict[Any, Any] = {}

    def run(self, job: Any, *given: Any) -> Any:
        key = pickle.dumps(given)
        if key not in self._answers:
            self._answers[key] = shared_worker().run(job, *given)
        return self._answers[key]


_WORKER = _Remembering()


def run(*arguments: str | Path, at: Path | None = None) -> Result:
    """Run a command in a directory."""
    with contextlib.chdir(at or Path.cwd()):
        return CliRunner().invoke(main, [str(one) for one in arguments], prog_name="toolfmt")


def made(clone: Path, name: str, place: str | Path, *more: str) -> Result:
    result = run("dev", "new-format", name, "--from", place, *more, at=clone)
    assert (result.exit_code, result.exception) == (0, None), result.stderr
    return result


def error_line(*arguments: str | Path, at: Path | None = None) -> str:
    """The error line of a command, without the part about which toolfmt is running."""
    result = run(*arguments, at=at)
    assert (result.exit_code, result.stdout) == (2, "")
    lines = [line for line in result.stderr.splitlines() if "the toolfmt that runs" not in line]
    assert len(lines) == 1
    return lines[0].removeprefix("toolfmt: ")


def files(root: Path) -> dict[str, bytes]:
    return {str(file.relative_to(root)): file.read_bytes() for file in sorted(root.rglob("*")) if file.is_file()}


def template(directory: Path, text: str) -> Path:
    file = directory / "chat_template.jinja"
    file.write_text(text, "utf-8")
    return file


def module(file: Path) -> Any:
    """A written module, imported from its path."""
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None
    assert spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


def check_linted(root: Path, *paths: Path) -> None:
    """What ruff reports for files in this clone."""
    for command in (("check", "-q"), ("format", "--diff", "-q")):
        result = subprocess.run(
            [sys.executable, "-m", "ruff", *command, "--no-cache", *paths],
            cwd=root, capture_output=True, text=True, check=False, timeout=1200,
        )  # fmt: skip
        assert (result.returncode, result.stdout) == (0, ""), result.stdout + result.stderr


def to_fill(file: Path) -> list[str]:
    return [line for line in file.read_text("utf-8").splitlines() if TO_FILL in line]


def lines_expected(case: Case) -> tuple[str, list[tuple[str | None, Any]]]:
    text = "".join(part.text for part in case.expected if not hasattr(part, "index"))
    return text, [(call.name, json.loads(call.arguments or "")) for call in case.calls]


def check_read(format: ToolCallFormat, folder: Path) -> list[Case]:
    """The cases of a folder, each of which the format reads as it is expected."""
    cases = [case for topic in TOPICS for case in read(folder / f"{topic}.txt")]
    for case in cases:
        message = toolfmt.parse(case.text, format, tools=case.tools, strict=True)
        text = (message.reasoning or "") + (message.content or "")
        calls = [(call.name, json.loads(call.arguments)) for call in message.tool_calls]
        assert lines_expected(case) == (text, calls), case.title
        assert case.origin == "rendered by its template"
    return cases


# --- a format that can be derived


def test_a_dialect_that_derives_is_written_as_python(clone: Path) -> None:
    result = made(clone, "lenticular", OWN)
    format = module(clone / KNOWN / "lenticular.py").FORMAT
    derived = toolfmt.derive(OWN).format
    assert derived is not None
    assert (format.name, format.engine, format.any_reasoning) == ("lenticular", derived.engine, True)
    assert (format.model_types, format.signatures) == (("lenticular",), ("【use ",))
    assert re.search(format.signatures[0], TEMPLATE)
    assert (
        "\n    【use get_weather】\n    【with city】Paris【/with】\n    【with days】3【/with】\n    【/use】\n"
        in format.page
    )
    assert [line.split(TO_FILL)[0].strip() for line in to_fill(clone / KNOWN / "lenticular.py")] == [
        '"""', "", 'instructions="', 'source=("', 'families=("', "#",
    ]  # fmt: skip
    assert result.stdout.splitlines()[0] == f"made     {KNOWN}/lenticular.py"
    assert result.stdout.splitlines()[-2:] == [
        f"changed  {REGISTRY}",
        "pytest -k lenticular lists what is missing; CONTRIBUTING.md has the next steps",
    ]
    assert "derived (tags), tested with 28 generated sets of calls" in result.stderr
    assert "nearest known format: xml_function (corpus/xml_function)" in result.stderr


def test_its_cases_are_what_the_template_renders_and_the_rest_is_to_be_found_out(clone: Path) -> None:
    made(clone, "lenticular", OWN)
    folder = clone / "corpus" / "lenticular"
    assert sorted(file.stem for file in folder.iterdir()) == sorted(TOPICS)
    cases = check_read(module(clone / KNOWN / "lenticular.py").FORMAT, folder)
    assert len(cases) == 21
    assert {case.topic for case in cases} | {file.stem for file in folder.iterdir() if to_fill(file)} == set(TOPICS)
    open_topics = [topic for topic in TOPICS if to_fill(folder / f"{topic}.txt")]
    assert open_topics == ["undeclared", "malformed", "truncated", "lookalikes", "reasoning"]
    first = (folder / "text-around.txt").read_text("utf-8").split("\n\n")[0]
    assert first.endswith('\ncontent "I will look that up.\\n"\ncall 0 get_weather\nargs 0 {"city": "Oslo"}')
    assert all(read(folder / f"{topic}.txt") == [] for topic in open_topics)


def test_the_list_gets_one_line_and_keeps_its_order(clone: Path) -> None:
    made(clone, "lenticular", OWN)
    before, after = ((root / REGISTRY).read_text("utf-8") for root in (ROOT, clone))
    assert after == before.replace('    "lfm2",\n', '    "lenticular",\n    "lfm2",\n')
    made(clone, "zz_last", OWN)
    assert (clone / REGISTRY).read_text("utf-8") == after.replace('    "zyphra",\n', '    "zyphra",\n    "zz_last",\n')


def test_reasoning_and_content_are_emitted_verbatim(clone: Path, tmp_path: Path) -> None:
    begin = "{{- '<|' + message.role + '|>\\n' + (message.content or '') }}"
    muse = (
        "{%- if message.reasoning_content %}{{ '<muse>\\n' + message.reasoning_content + '\\n</muse>\\n' }}{% endif %}"
    )
    head = begin.replace(" + (message.content or '')", "") + muse + "{{ message.content or '' }}"
    assert begin in TEMPLATE
    made(clone, "musing", template(tmp_path, TEMPLATE.replace(begin, head)))
    format = module(clone / KNOWN / "musing.py").FORMAT
    assert format.reasoning == (("<muse>", "</muse>"),)
    cases = check_read(format, clone / "corpus" / "musing")
    (reasoned,) = [case for case in cases if case.topic == "reasoning"]
    assert reasoned.text.startswith("<muse>\nThey want")
    assert lines_expected(reasoned)[0] == "\nThey want to know the weather, so the tool is called.\n"


def test_what_the_template_spoils_is_left_out_and_named(clone: Path, tmp_path: Path) -> None:
    corrupted = TEMPLATE.replace("(value if value is string else", "(value | trim if value is string else")
    assert corrupted != TEMPLATE
    printed = made(clone, "trimming", template(tmp_path, corrupted)).stderr
    assert "left out: whitespace, whitespace at both ends of a string; it does not come back as it went in" in printed
    cases = check_read(module(clone / KNOWN / "trimming.py").FORMAT, clone / "corpus" / "trimming")
    assert "whitespace at both ends of a string" not in [case.title for case in cases]


def test_words_that_the_template_changes_are_no_case(clone: Path, tmp_path: Path) -> None:
    """Other messages are rendered than those in which the text is located."""
    other = TEMPLATE.replace("(message.content or '')", "(message.content or '') | replace('look', 'gaze')")
    assert other != TEMPLATE
    made(clone, "gazing", template(tmp_path, other))
    assert to_fill(clone / "corpus" / "gazing" / "text-around.txt")


def test_what_is_read_generously_is_not_as_it_went_in() -> None:
    call = "<tool_call>\n{'name': 'get_weather', 'arguments': {'city': 'Oslo'}}\n</tool_call>"
    assert new_format._reads(get("json"), CASE_REQUESTS[0], call.replace("'", '"'), None)
    assert not new_format._reads(get("json"), CASE_REQUESTS[0], call, None)


def test_a_marker_of_other_formats_is_no_signature() -> None:
    engine = JsonObject(opener="<tool_call>", closer="</own_call>")
    known = Knowledge("own", ToolCallFormat("own", engine), "json", template="<tool_call> and </own_call>")
    assert signature(known) == "</own_call>"
    assert signature(replace(known, template="<tool_call> alone")) == ""
    assert signature(replace(known, why_not="it is not derived")) == ""


MARKERS = ['use "', "use '", "use \\", "use \"'''\\", 'use """', "use\t"]


@pytest.mark.parametrize("marker", MARKERS)
def test_any_marker_can_be_written_in_python_and_in_its_page(clone: Path, tmp_path: Path, marker: str) -> None:
    """The markers of strangers, in quotes and in a docstring."""
    other = TEMPLATE.replace("'【use '", repr("【" + marker + " "))
    assert other != TEMPLATE
    made(clone, "quoting", template(tmp_path, other))
    format = module(clone / KNOWN / "quoting.py").FORMAT
    derived = toolfmt.derive(other).format
    assert derived is not None
    assert format.engine == derived.engine
    opener = derived.engine.inner.openers or derived.openers
    assert "".join(opener[0].split()) in "".join(format.page.encode().decode("utf-8").replace("\\t", "\t").split())
    check_linted(clone, clone / KNOWN / "quoting.py")


def test_a_model_type_of_another_format_is_not_taken(clone: Path, tmp_path: Path) -> None:
    template(tmp_path, TEMPLATE)
    (tmp_path / "config.json").write_text('{"model_type": "qwen3"}')
    made(clone, "lenticular", tmp_path)
    format = module(clone / KNOWN / "lenticular.py").FORMAT
    assert format.model_types == ()
    assert any("model_types=" in line for line in to_fill(clone / KNOWN / "lenticular.py"))


# --- one that a known format reads


def test_calls_that_a_known_format_reads_need_no_new_one(clone: Path) -> None:
    before = files(clone)
    result = run("dev", "new-format", "new_glm", "--from", MODELS / "glm4-key-value", at=clone)
    assert (result.exit_code, result.stdout, files(clone)) == (1, "", before)
    assert f"glm4 already parses these calls, so nothing is written; {KNOWN}/glm4.py defines it" in result.stderr
    assert "`model_types`" not in result.stderr
    assert "`variants`" not in result.stderr


def test_what_may_be_missing_from_a_known_format_is_reported(clone: Path, tmp_path: Path) -> None:
    template(tmp_path, changed_template(('{"name": "', '{ "name" :  "')))
    (tmp_path / "config.json").write_text('{"model_type": "brand_new"}')
    printed = run("dev", "new-format", "new_json", "--from", tmp_path, at=clone).stderr
    assert "json already parses these calls, so nothing is written" in printed
    assert "the format writes these calls differently than the template: add this form to its `variants`" in printed
    assert "the format does not list the model type brand_new: add it to its `model_types`" in printed


def test_the_module_of_a_format_is_named_where_it_has_another_name(clone: Path) -> None:
    printed = run("dev", "new-format", "another", "--from", MODELS / "json-frames", at=clone).stderr
    assert f"{KNOWN}/json_tool_call.py defines it" in printed


# --- one that cannot be derived


def test_if_nothing_derives_the_nearest_format_and_the_reason_are_written(clone: Path, tmp_path: Path) -> None:
    result = made(clone, "undelimited", template(tmp_path, UNDELIMITED))
    message = next(line for line in result.stderr.splitlines() if "no format can be derived" in line)
    text = (clone / KNOWN / "undelimited.py").read_text("utf-8")
    comments = " ".join(re.findall(r"^ +# (.*)", text, re.M))
    assert message.partition("filled in: ")[2] in comments
    sibling = re.search(r"nearest known format: (\w+)", result.stderr)
    assert sibling is not None
    assert f"These are those of {sibling[1]}, whose calls are most similar" in comments
    assert "TO FILL: the engine and its markers." in comments
    home = re.search(r"(\S+\.py) documents the parameters;", comments)
    assert home is not None
    assert (ROOT / home[1]).is_file()
    format = module(clone / KNOWN / "undelimited.py").FORMAT
    assert format.engine == get(sibling[1]).engine
    assert (format.model_types, format.signatures[0][:7]) == ((), TO_FILL)
    assert "\n    【use get_weather】\n    city: Oslo\n    【/use】\n" in format.page


def test_its_cases_are_there_all_the_same(clone: Path, tmp_path: Path) -> None:
    """What was rendered and what went in are known without any parser."""
    made(clone, "undelimited", template(tmp_path, UNDELIMITED))
    (one, three, unknown) = read(clone / "corpus" / "undelimited" / "single.txt")
    assert (one.text, one.calls[0].arguments) == ("【use get_weather】\ncity: Oslo\n【/use】", '{"city": "Oslo"}')
    assert "days: 3" in three.text
    assert unknown.tools is None


def test_a_template_without_calls_gives_a_skeleton_of_what_to_find_out(clone: Path, tmp_path: Path) -> None:
    made(clone, "silent", template(tmp_path, PLAIN))
    assert all(to_fill(clone / "corpus" / "silent" / f"{topic}.txt") for topic in TOPICS)
    assert module(clone / KNOWN / "silent.py").FORMAT.engine == get("json").engine
    assert "TO FILL: a call as the model writes it." in (clone / KNOWN / "silent.py").read_text("utf-8")


# --- what is written is Python as the repository has it


def test_what_is_written_is_linted_and_laid_out(clone: Path, tmp_path: Path) -> None:
    made(clone, "lenticular", OWN)
    made(clone, "undelimited", template(tmp_path, UNDELIMITED))
    made(clone, "silent", template(tmp_path, PLAIN))
    check_linted(clone, clone / KNOWN)


def test_every_known_format_can_be_written_as_python(tmp_path: Path) -> None:
    """Derived formats and skeletons consist of the same parts."""
    for format in FORMATS:
        imports = {"toolfmt.formats.format": {"ToolCallFormat"}}
        fields = changed(format, lambda name: name in ("page", "signatures"))
        lines = "".join(f"    {keyword(name, value, imports, 1)},\n" for name, value in fields)
        text = f'"""A format."""\n\n{import_lines(imports)}\nFORMAT = ToolCallFormat(\n{lines})\n'
        shutil.copyfile(ROOT / "pyproject.toml", tmp_path / "pyproject.toml")
        file = tmp_path / f"{format.name}_again.py"
        file.write_text(text, "utf-8")
        assert replace(format, page="", signatures=()) == module(file).FORMAT
    check_linted(tmp_path, tmp_path)


@pytest.mark.parametrize("text", ["", "a", "'", '"', "'\"", "\\", "\n\t\r\0", "\u200b【\ufeff", "x" * 300, "a b " * 90])
def test_a_string_is_the_same_in_python(text: str) -> None:
    assert eval(literal(text)) == eval(pattern(text)) == text
    assert eval(keyword("x", text, {}, 1).removeprefix("x=")) == text


def test_what_is_not_part_of_a_format_is_not_written() -> None:
    with pytest.raises(TypeError, match="object is not part of a stored format"):
        keyword("x", object(), {}, 1)


# --- what is rejected


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("json", "'json' is a module of Python's standard library, and programs run in the folder of"),
        ("string", "'string' is a module of Python's standard library"),
        ("class", "'class' is a Python keyword and cannot name a module; choose another name, for example class_calls"),
        ("con", "'con' cannot name a file on Windows"),
        ("models", "'models' is the folder of model directories in corpus/"),
        ("derived", "'derived' is what every derived format is called"),
        ("glm4", "'glm4' is a module of toolfmt/formats/known already"),
        ("json_tool_call", "'json_tool_call' is a module of toolfmt/formats/known already"),
        ("glm46", "'glm46' names a known format, an alias of glm4 or a variant of its name"),
        ("g_l_m_4_6", "'g_l_m_4_6' names a known format, an alias of glm4"),
        ("Glm-9", "'Glm-9' is not a valid format name: use lower-case letters, digits and single underscores, start "
                  "with a letter, use at most 40 characters; perhaps glm_9"),
        ("9lives", "'9lives' is not a valid format name"),
        ("../up", "'../up' is not a valid format name"),
        ("a__b", "'a__b' is not a valid format name"),
        ("a_", "'a_' is not a valid format name"),
        ("a\n", "'a\\n' is not a valid format name"),
        ("ä", "'ä' is not a valid format name"),
        ("", "'' is not a valid format name"),
        ("x" * 41, f"'{'x' * 41}' is not a valid format name"),
        ("x" * 9000, f"'{'x' * 80}'… is not a valid format name"),
    ],
)  # fmt: skip
def test_an_invalid_format_name_is_rejected(clone: Path, name: str, message: str) -> None:
    before = files(clone)
    line = error_line("dev", "new-format", name, "--from", OWN, at=clone)
    assert line.startswith(message)
    assert "choose" in line or "perhaps" in line or "start with a letter" in line
    assert len(line) < 300
    assert files(clone) == before


def test_a_name_of_forty_characters_can_be_one(clone: Path) -> None:
    made(clone, "x" * 40, OWN)
    check_linted(clone, clone / KNOWN)


@pytest.mark.parametrize(
    "there", [f"{KNOWN}/lenticular.py", "corpus/lenticular/names.txt", f"{KNOWN}/lenticular.py/inside"]
)
def test_nothing_that_is_there_is_written_over(clone: Path, there: str) -> None:
    (clone / there).parent.mkdir(parents=True, exist_ok=True)
    (clone / there).write_text("mine")
    before = files(clone)
    for more in ((), ("--dry-run",)):
        line = error_line("dev", "new-format", "lenticular", "--from", OWN, *more, at=clone)
        assert line.startswith(there.removesuffix("/inside"))
        assert "there already, and nothing is overwritten; choose another name" in line
    assert files(clone) == before


def test_a_link_to_nothing_is_there_too(clone: Path) -> None:
    (clone / KNOWN / "lenticular.py").symlink_to(clone / "nowhere.py")
    assert "there already" in error_line("dev", "new-format", "lenticular", "--from", OWN, at=clone)
    assert not (clone / "nowhere.py").exists()


@pytest.mark.parametrize("link", [True, False])
def test_nothing_is_written_through_a_link_nor_half_where_a_file_is(clone: Path, tmp_path: Path, link: bool) -> None:
    (outside := tmp_path / "outside").mkdir()
    place = clone / "corpus" / "lenticular"
    place.symlink_to(outside) if link else place.write_text("mine")
    before = files(clone)
    line = error_line("dev", "new-format", "lenticular", "--from", OWN, at=clone)
    assert line == "corpus/lenticular: there already and no folder; choose another name, or move it away"
    assert (files(clone), list(outside.iterdir())) == (before, [])


def test_outside_of_a_clone_there_is_nothing_to_write_into(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    way_out = "clone the repository and run the command there"
    for command in (("dev", "new-format", "lenticular", "--from", OWN), ("dev", "new-finding", "tools-printed-twice")):
        assert error_line(*command) == f"{tmp_path}: not in a clone of toolfmt; {way_out}"
    assert list(tmp_path.iterdir()) == []


def test_a_clone_is_found_from_any_folder_of_it(clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(clone / "corpus")
    assert run("dev", "new-finding", "tools-printed-twice").exit_code == 0
    assert (clone / CHECKS / "tf096_tools_printed_twice.py").is_file()


def test_it_is_reported_if_the_running_toolfmt_is_not_the_one_of_the_clone(clone: Path) -> None:
    message = "the toolfmt that runs is not the one of this clone; pip install -e '.[test]' there makes it so"
    assert message in run("dev", "new-finding", "tools-printed-twice", "--dry-run", at=clone).stderr
    assert message not in run("dev", "new-finding", "tools-printed-twice", "--dry-run", at=ROOT).stderr


@pytest.mark.parametrize(
    ("place", "message"),
    [
        (MODELS / "broken", "the template cannot be rendered"),
        (MODELS / "no-such-model", "no such file or directory"),
        (MODELS / "broken" / "config.json", ""),
    ],
)
def test_without_a_template_that_renders_there_is_no_format(clone: Path, place: Path, message: str) -> None:
    before = files(clone)
    assert message in error_line("dev", "new-format", "lenticular", "--from", place, at=clone)
    assert files(clone) == before


def test_a_limit_that_a_template_hits_is_reported(clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def hit(*given: object) -> None:
        raise LimitHit("it takes too long", "CPU time")

    monkeypatch.setattr(new_format, "show_turns", hit)
    line = error_line("dev", "new-format", "lenticular", "--from", OWN, "--trusted", at=clone)
    assert line == f"{OWN}: the template hit a limit (CPU time): it takes too long"


@pytest.mark.parametrize(
    ("endless", "message"),
    [
        ("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "infinite recursion (RecursionError: "),
        ("{% for i in range(10**12) %}{% endfor %}", "OverflowError: Range too big."),
        ("{% macro f() %}{{ f() }}{% endmacro %}{% for m in messages %}{{ m.content }}"
         "{% if m.tool_calls %}{{ f() }}{% endif %}{% endfor %}", "infinite recursion (RecursionError: "),
    ],
)  # fmt: skip
def test_a_template_that_never_ends_is_reported_with_its_limit(
    clone: Path, tmp_path: Path, endless: str, message: str
) -> None:
    before = files(clone)
    line = error_line("dev", "new-format", "lenticular", "--from", template(tmp_path, endless), at=clone)
    assert "the template hit a limit: " in line
    assert message in line
    assert files(clone) == before


def test_without_a_path_the_missing_option_is_named() -> None:
    assert "Missing option '--from'" in error_line("dev", "new-format", "lenticular")


@pytest.mark.skipif(os.name == "nt" or os.getuid() == 0, reason="nothing keeps this user from writing")
def test_a_folder_that_is_not_writable_is_reported(clone: Path) -> None:
    (clone / KNOWN).chmod(0o500)
    try:
        assert "cannot be written (Permission denied)" in error_line(
            "dev", "new-format", "lenticular", "--from", OWN, at=clone
        )
    finally:
        (clone / KNOWN).chmod(0o700)


@pytest.mark.parametrize("text", ["x = (", "MODULES = ()", '_MODULES = ("a", "b")', "_MODULES = ()"])
def test_a_list_that_cannot_be_read_is_reported(clone: Path, text: str) -> None:
    (clone / REGISTRY).write_text(text)
    message = error_line("dev", "new-format", "lenticular", "--from", OWN, at=clone)
    assert message.startswith(f"{REGISTRY}: ")
    assert (clone / REGISTRY).read_text() == text


def test_line_ends_of_windows_stay(clone: Path) -> None:
    text = (clone / REGISTRY).read_bytes().replace(b"\n", b"\r\n")
    (clone / REGISTRY).write_bytes(text)
    root = Clone(clone)
    root.write(FilePlan({"a.txt": "x\n"}, REGISTRY, "lenticular"))
    assert (clone / REGISTRY).read_bytes() == text.replace(b'    "lfm2",', b'    "lenticular",\r\n    "lfm2",')
    assert (clone / "a.txt").read_bytes() == b"x\n"


# --- what would be written


@pytest.mark.parametrize(
    "command", [("dev", "new-format", "lenticular", "--from", str(OWN)), ("dev", "new-finding", "printed-twice")]
)
def test_a_dry_run_prints_the_patch_of_what_it_would_write(clone: Path, command: tuple[str, ...]) -> None:
    before = files(clone)
    patch = run(*command, "--dry-run", at=clone)
    assert (patch.exit_code, files(clone)) == (0, before)
    (clone / "patch").write_bytes(patch.stdout_bytes)
    subprocess.run(["git", "apply", "patch"], cwd=clone, check=True, timeout=1200)
    (clone / "patch").unlink()
    patched = files(clone)
    for path in set(patched) - set(before):
        (clone / path).unlink()
    for path, data in before.items():
        (clone / path).write_bytes(data)
    assert run(*command, at=clone).exit_code == 0
    assert files(clone) == patched != before


# --- findings


def test_a_finding_gets_the_next_code_its_module_and_its_templates(clone: Path) -> None:
    result = run("dev", "new-finding", "tools-printed-twice", at=clone)
    assert (result.exit_code, result.stdout.splitlines()) == (
        0,
        [
            f"made     {CHECKS}/tf096_tools_printed_twice.py",
            "made     tests/findings/TF096/with.jinja",
            "made     tests/findings/TF096/without.jinja",
            "made     tests/findings/TF096/expected.json",
            f"changed  {FINDINGS}",
            "pytest -k TF096 lists what is missing; CONTRIBUTING.md has the next steps",
        ],
    )
    assert "tools-printed-twice is TF096" in result.stderr
    before, after = ((root / FINDINGS).read_text("utf-8") for root in (ROOT, clone))
    last = '    "tf095_ignore_comment",\n'
    assert after == before.replace(last, f'{last}    "tf096_tools_printed_twice",\n')
    check = module(clone / CHECKS / "tf096_tools_printed_twice.py")
    facts = toolfmt.load(OWN, trusted=True)
    assert check.SEVERITY == "note"
    assert all(
        f"\n\n{lead}:" in check.__doc__
        for lead in ("What it checks", "Why it matters", "Affected runtimes", "Example", "Fix")
    )
    assert facts


def test_codes_continue_after_the_last_one_that_is_listed_or_exists(clone: Path) -> None:
    assert run("dev", "new-finding", "one", at=clone).exit_code == 0
    (clone / CHECKS / "tf100_half_made.py").write_text("")
    assert run("dev", "new-finding", "two", at=clone).exit_code == 0
    assert (clone / CHECKS / "tf101_two.py").is_file()
    assert '    "tf096_one",\n    "tf101_two",\n' in (clone / FINDINGS).read_text("utf-8")
    (clone / CHECKS / "tf999_the_last.py").write_text("")
    assert error_line("dev", "new-finding", "three", at=clone).startswith("there is no code after TF999")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("calls-dropped", "'calls-dropped' is a finding already; `toolfmt explain calls-dropped` is its page"),
        ("Tools_Dropped", "'Tools_Dropped' is not a valid finding name: use lower-case letters, digits and single "
                          "hyphens, start with a letter, use at most 40 characters; perhaps tools-dropped"),
        ("a--b", "'a--b' is not a valid finding name"),
        ("-a", "'-a'"),
        ("TF013", "'TF013' is not a valid finding name"),
        ("../up", "'../up' is not a valid finding name"),
        ("a\n", "'a\\n' is not a valid finding name"),
        ("", "'' is not a valid finding name"),
    ],
)  # fmt: skip
def test_an_invalid_finding_name_is_rejected(clone: Path, name: str, message: str) -> None:
    before = files(clone)
    assert error_line("dev", "new-finding", "--", name, at=clone).startswith(message)
    assert files(clone) == before


def test_the_template_of_a_finding_is_not_written_over(clone: Path) -> None:
    (clone / "tests/findings/TF096").mkdir(parents=True)
    (clone / "tests/findings/TF096/with.jinja").write_text("mine")
    message = error_line("dev", "new-finding", "twice", at=clone)
    assert message.startswith("tests/findings/TF096/with.jinja: there already, and nothing is overwritten")
    assert not (clone / CHECKS / "tf096_twice.py").exists()


# --- filled in, they pass the contract tests


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the contract tests need of the repository."""
    root = tmp_path_factory.mktemp("whole")
    ignored = shutil.ignore_patterns("__pycache__", "*.pyc", "models")
    for folder in ("toolfmt", "corpus", "tests"):
        shutil.copytree(ROOT / folder, root / folder, ignore=ignored)
    shutil.copyfile(ROOT / "pyproject.toml", root / "pyproject.toml")
    return root


def command(root: Path, *arguments: str) -> tuple[int, str]:
    """A module of Python that is run in the copy."""
    environment = {**os.environ, "PYTHONPATH": str(root), "PYTHONDONTWRITEBYTECODE": "1", "COLUMNS": "100"}
    environment.pop("PYTEST_ADDOPTS", None)
    done = subprocess.run(
        [sys.executable, "-m", *arguments],
        cwd=root,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=1200,
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("source", "error"),
    [
        ("import no_such_module\n", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("X = 1\n", "AttributeError: module 'toolfmt.formats.known.apertus' has no attribute 'FORMAT'"),
    ],
)
def test_a_format_module_that_fails_is_named_with_its_error(whole: Path, source: str, error: str) -> None:
    file = whole / KNOWN / "apertus.py"
    kept = file.read_text("utf-8")
    file.write_text(source, "utf-8")
    line = f"toolfmt: toolfmt/formats/known/apertus.py: loading the format failed: {error}; correct this module\n"
    model = str(ROOT / "corpus" / "models" / "double-encoded")
    try:
        assert command(whole, "toolfmt", "formats") == (2, line)
        assert command(whole, "toolfmt", "inspect", model) == (2, line)
    finally:
        file.write_text(kept, "utf-8")


COMPOSED = {
    "undeclared": """{=}
a tool that was not given, then text
:tools weather
:composed
{=}
【use open_door】
【with side】left【/with】
【/use】 Done.
{-}
rejected 0 undeclared_tool "【use open_door】\\n【with side】left【/with】\\n【/use】"
content " Done."
""",
    "malformed": """{=}
text in place of an argument, the next call is parsed
:tools weather
:composed
{=}
【use get_weather】
city is Oslo
【/use】
【use get_time】
【/use】
{-}
rejected 0 malformed_syntax
call 1 get_time
args 1 {}
""",
    "truncated": """{=}
the output ends inside a string value
:tools weather
:composed
{=}
【use get_weather】
【with city】Os
{-}
call 0 get_weather
args 0 {"city": "Os
rejected 0 incomplete_output
""",
    "lookalikes": """{=}
prose that quotes a marker
:tools weather
:composed
{=}
A call begins with `【use NAME】`.
{-}
content "A call begins with `【use NAME】`."
""",
    "reasoning": """{=}
reasoning, then the call
:tools weather
:composed
{=}
<think>I need the time.</think>
【use get_time】
【/use】
{-}
reasoning "I need the time."
call 0 get_time
args 0 {}
""",
}


def test_a_format_is_finished_by_following_the_tests(whole: Path) -> None:
    place = str(OWN)
    pytest_command = (
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "tests/formats/test_registry.py",
        "tests/formats/test_corpus.py",
        "-k",
        "lenticular",
    )
    status, printed = command(whole, "toolfmt", "dev", "new-format", "lenticular", "--from", place)
    assert (status, "the toolfmt that runs" in printed) == (0, False)
    status, printed = command(whole, *pytest_command)
    assert status == 1
    failed = re.findall(r"^FAILED tests/[\w/]+\.py::(\w+)\[lenticular\]", printed, re.M)
    assert failed == ["test_nothing_of_a_format_is_left_to_fill_in", "test_every_format_has_cases_on_every_topic"]
    assert "\nlenticular is not finished; each of these lines says what belongs in its place:\n" in printed
    assert f"\n{KNOWN}/lenticular.py:1: " in printed
    assert "\ncorpus/lenticular/truncated.txt:1: TO FILL: an output cut off inside the name" in printed
    assert (
        "\ncorpus/lenticular has 21 cases, 25 are the least.\nNo case in corpus/lenticular/undeclared.txt, " in printed
    )
    fill(whole / KNOWN / "lenticular.py")
    for topic, cases in COMPOSED.items():
        text = cases.replace("{=}", "=" * 64).replace("{-}", "-" * 64)
        (whole / "corpus" / "lenticular" / f"{topic}.txt").write_text(text, "utf-8")
    status, printed = command(whole, *pytest_command)
    assert status == 0, printed
    check_linted(whole, whole / KNOWN)


def fill(file: Path) -> None:
    """What a person has to specify for the format."""
    text = file.read_text("utf-8")
    text = re.sub(r" +# TO FILL: runtime_parsers=.*\n +# .*\n", "", text)
    file.write_text(re.sub(r"TO FILL: [^\n\"]*", "Said.", text), "utf-8")


def test_a_finding_is_finished_by_following_the_tests(whole: Path) -> None:
    status, printed = command(whole, "toolfmt", "dev", "new-finding", "tools-printed-twice")
    assert (status, "the toolfmt that runs" in printed) == (0, False)
    check, folder = whole / CHECKS / "tf096_tools_printed_twice.py", whole / "tests/findings/TF096"
    pytest_command = ("pytest", "-q", "-p", "no:cacheprovider", "tests/findings", "-k", "TF096")
    check_linted(whole, whole / CHECKS)
    status, printed = command(whole, *pytest_command)
    assert status == 1
    failed = re.findall(r"^FAILED tests/[\w/]+\.py::(\w+)", printed, re.M)
    assert failed == [
        "test_a_template_with_it_has_the_finding_and_one_without_it_does_not",
        "test_a_finding_is_complete",
    ]
    for file in (f"{CHECKS}/tf096_tools_printed_twice.py", "tests/findings/TF096/with.jinja"):
        assert f"\n{file}:1: " in printed
    text = check.read_text("utf-8")
    text = re.sub(r"#? ?TO FILL: what shows it in the prompt", "</tools></tools>", text)
    text = re.sub(r" *# TO FILL: [^\n]*\n *# [^\n]*\n", "", text)
    check.write_text(re.sub(r"TO FILL: [^\n\"]*", "It is said twice.", text), "utf-8")
    clean = (folder.parent / "clean.jinja").read_text("utf-8")
    (folder / "with.jinja").write_text(clean.replace("</tools>", "</tools></tools>"), "utf-8")
    (folder / "without.jinja").unlink()
    (folder / "expected.json").write_text('[{"severity": "note", "line": 1}]', "utf-8")
    status, printed = command(whole, *pytest_command)
    assert status == 0, printed
    check_linted(whole, check)
