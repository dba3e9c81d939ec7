"""Formats of users: from a file, by `toolfmt.register`, from a package's entry point; and where they are known."""

from __future__ import annotations

import json
import os
import pickle
import re
import subprocess
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from model_cases import made
from runtime_stand_ins import SGLANG, VLLM, adaptor

import toolfmt
from toolfmt.cli.commands import main
from toolfmt.cli.printing.formats import formats_text
from toolfmt.errors import BadFormat, BrokenPlugIn, UnknownFormat
from toolfmt.formats import for_model_type, formats, get, names, prose, register, write
from toolfmt.formats.engines.engine import Engine
from toolfmt.formats.engines.frame import Frame
from toolfmt.formats.engines.json_object import JsonObject
from toolfmt.formats.known import KNOWN
from toolfmt.formats.registry import OTHERS, _forget
from toolfmt.formats.response_template.reader import declared_formats
from toolfmt.formats.response_template.writer import template_of
from toolfmt.formats.serialization.decoder import _DEEPEST, _LONGEST_MARKER, _MOST_VALUES, LONGEST_TEXT
from toolfmt.formats.serialization.registration import other_formats_as_text, set_other_formats
from toolfmt.formats.serialization.schema import ROLES
from toolfmt.model.jobs import new_worker, shared_worker
from toolfmt.model.sandbox.pool import Job, Worker

ROOT = Path(__file__).parents[2]
FILE = ROOT / "examples" / "brackets.json"
CALLS = [("get_weather", {"city": "Oslo", "days": 3})]
ANSWER = "Well. ⟦call get_weather⟧\n⟦arg city⟧Oslo⟦/arg⟧\n⟦arg days⟧3⟦/arg⟧\n⟦/call⟧"  # as `brackets` writes it
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "get_weather",
            "parameters": {
                "type": "object",
                "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
                "required": ["city"],
            },
        },
    }
]
TEMPLATE = """\
{%- if tools %}<|system|>{{ tools | tojson }}<|end|>{% endif -%}
{%- for message in messages -%}
<|{{ message.role }}|>{{ message.content or '' }}
{%- for call in message.tool_calls or [] %}
⟦call {{ call.function.name }}⟧
{% for key, value in call.function.arguments.items() -%}
⟦arg {{ key }}⟧{{ value if value is string else value | tojson }}⟦/arg⟧
{% endfor -%}
⟦/call⟧
{%- endfor -%}
<|end|>
{%- endfor -%}
{%- if add_generation_prompt %}<|assistant|>{% endif -%}
"""


@pytest.fixture
def brackets() -> Iterator[toolfmt.ToolCallFormat]:
    """The example's format, registered."""
    format = toolfmt.format_from_file(FILE)
    toolfmt.register(format)
    yield format
    _forget("brackets")


# --- from a file


def test_a_format_from_a_file_is_taken_wherever_a_format_is() -> None:
    format = toolfmt.format_from_file(str(FILE))
    assert (format.name, format.openers, format.families) == ("brackets", ("⟦call ",), ("Brackets 1",))
    assert toolfmt.write(format, CALLS) == ANSWER.removeprefix("Well. ")
    message = toolfmt.parse(ANSWER, format, tools=TOOLS)
    assert message.content == "Well. "
    assert [(call.name, json.loads(call.arguments)) for call in message.tool_calls] == CALLS
    assert toolfmt.Parser(format).format is format
    assert "⟦arg city⟧" in prose(format, TOOLS)
    assert "⟦/call⟧" in toolfmt.grammar(format, TOOLS, syntax="gbnf").text
    assert toolfmt.format_to_dict(format) == json.loads(FILE.read_text("utf-8"))
    with pytest.raises(UnknownFormat):
        get("brackets")


def test_many_answers_are_read_by_several_processes() -> None:
    format = toolfmt.format_from_file(FILE)
    messages = list(toolfmt.parse_many([ANSWER] * 300, format, tools=TOOLS, processes=2))
    assert {message.tool_calls[0].arguments for message in messages} == {'{"city": "Oslo", "days": 3}'}


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (None, "cannot read the format (No such file or directory); pass a JSON file"),
        (b"\xff\xfe{}", "not UTF-8 text (offset 0); save it as UTF-8"),
        (b"{", "not JSON: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"),
        (b" " * 262_145, "longer than 262,144 characters, the maximum for a format"),
        (b"\xff" * 2_000_000, "longer than 262,144 characters, the maximum for a format"),
        (b"[]", "a format must be an object with the member 'toolfmt_format', not a list of 0"),
    ],
)
def test_a_file_that_is_none_is_named(data: bytes | None, why: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    if data is not None:
        path.write_bytes(data)
    with pytest.raises(BadFormat) as raised:
        toolfmt.format_from_file(path)
    assert str(raised.value) == f"{path}: {why}"


def test_a_byte_order_mark_is_no_part_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "mine.json").write_bytes(b"\xef\xbb\xbf" + FILE.read_bytes())
    assert toolfmt.format_from_file(tmp_path / "mine.json") == toolfmt.format_from_file(FILE)


def test_a_directory_and_a_device_are_no_files() -> None:
    for path, why in ((ROOT, "Is a directory"), (Path("/dev/zero"), "longer than")):
        if path.exists():
            with pytest.raises(BadFormat, match=why):
                toolfmt.format_from_file(path)


# --- registered


def test_a_registered_format_is_known_by_every_name(brackets: toolfmt.ToolCallFormat) -> None:
    from toolfmt import formats as room

    assert get("Brackets") is brackets
    assert "brackets" in names()
    assert brackets in formats()
    assert brackets in room.FORMATS
    assert [format.name for format in formats()] == sorted(format.name for format in formats())
    assert for_model_type("brackets") is brackets
    assert toolfmt.infer(model_type="brackets") is brackets
    assert write("brackets", CALLS) == ANSWER.removeprefix("Well. ")


def test_a_response_template_is_compared_with_a_registered_format() -> None:
    """Such a template is compared with what every format writes, which is cached."""
    format = replace(get("lm_studio"), name="own", aliases=(), engine=JsonObject(opener="<own>", closer="</own>"))
    declared = template_of(format)
    assert declared_formats(declared) == ()
    register(format)
    try:
        assert declared_formats(declared) == (format,)
    finally:
        _forget("own")


def test_an_equal_format_is_registered_once(brackets: toolfmt.ToolCallFormat) -> None:
    before = formats()
    register(toolfmt.format_from_file(FILE))
    register(get("json"))
    assert formats() == before
    assert get("brackets") is brackets


def test_a_name_that_is_taken_is_rejected_and_both_are_named(brackets: toolfmt.ToolCallFormat) -> None:
    for taken, sentence in (
        (replace(brackets, name="json"), "the format 'json' uses a name of the format 'json'; give it another name"),
        (
            replace(brackets, name="other", aliases=("fine", "Qwen-25")),
            "the format 'other' (alias 'Qwen-25') uses a name of the format 'json'; give it another name",
        ),
        (
            replace(brackets, reasoning=()),
            "the format 'brackets' uses a name of the format 'brackets'; give it another name",
        ),
    ):
        with pytest.raises(ValueError, match="uses a name of") as raised:
            register(taken)
        assert str(raised.value) == sentence
    assert [format for format in formats() if format not in KNOWN] == [brackets]


@dataclass(frozen=True)
class OwnEngine(JsonObject):
    """An engine that toolfmt does not have."""


class OwnFormat(toolfmt.ToolCallFormat):
    """A format with custom behavior."""


def test_a_format_that_cannot_be_sent_to_another_process_is_not_registered(brackets: toolfmt.ToolCallFormat) -> None:
    own = replace(brackets, name="own", engine=OwnEngine(opener="<own>", closer="</own>"))
    with pytest.raises(BadFormat) as raised:
        register(own)
    assert str(raised.value) == (
        f"the format own cannot be stored as data: engine is {__name__}.OwnEngine, which is code; only objects of "
        "toolfmt itself can be stored; a format that is code needs a package with an entry point in the group "
        "toolfmt.formats"
    )
    assert [call.name for call in toolfmt.parse(write(own, CALLS), own).tool_calls] == ["get_weather"]
    parts = {field.name: getattr(brackets, field.name) for field in fields(brackets)}
    with pytest.raises(
        BadFormat, match=r"^the format sub cannot be stored as data: reading it back gives a different format; "
    ):
        register(OwnFormat(**parts | {"name": "sub"}))
    with pytest.raises(BadFormat, match=r"^the format odd: signatures\[0\]: repeats"):
        register(replace(brackets, name="odd", signatures=(r"(?:x+)+",)))
    for nothing in ("json", None, JsonObject()):
        with pytest.raises(TypeError, match=r"register\(\) takes a ToolCallFormat, not a value of type"):
            register(nothing)  # type: ignore[arg-type]  # not a format
    assert names() == tuple(sorted({*names()} - {"own", "odd"}))


def test_a_registered_format_is_pickled_by_its_parts(brackets: toolfmt.ToolCallFormat) -> None:
    """The process that loads it, such as a worker of another program, does not have to register it first."""
    data = pickle.dumps(brackets)
    _forget("brackets")
    assert pickle.loads(data) == brackets
    code = "import pickle, sys; print(pickle.load(sys.stdin.buffer).openers)"
    done = subprocess.run([sys.executable, "-c", code], input=data, capture_output=True, check=True, timeout=300)
    assert done.stdout.decode().strip() == "('⟦call ',)"


# --- inspected


def test_a_template_that_uses_a_registered_format_is_verified(tmp_path: Path) -> None:
    """The inspection modules were imported, and the worker was started, before the format was registered. Both know it
    while it is registered, and not afterwards.
    """
    model = made(tmp_path, TEMPLATE)
    before = shared_worker().run(Job(eval, int, lambda answer: None), "__import__('os').getpid()")
    assert model.inspect().format.name == "derived"  # not registered
    format = toolfmt.format_from_file(FILE)
    register(format)
    try:
        for trusted in (False, True):
            report = toolfmt.load(tmp_path / "model", trusted=trusted).inspect()
            assert (report.format.name, report.format.confidence) == ("brackets", "verified")
        prompt = toolfmt.load(tmp_path / "model").render([{"role": "user", "content": "Hi"}], tools=TOOLS)
        assert prompt.format == "brackets"
        parser = prompt.parser()
        assert parser.feed(ANSWER)[0].to_dict() == {"type": "content", "text": "Well. "}
        assert toolfmt.infer(template=TEMPLATE) is format
    finally:
        _forget("brackets")
    assert toolfmt.load(tmp_path / "model").inspect().format.name == "derived"
    assert shared_worker().run(Job(eval, int, lambda answer: None), "__import__('os').getpid()") == before


@pytest.mark.sample(0)
def test_every_worker_gets_the_known_formats(brackets: toolfmt.ToolCallFormat) -> None:
    worker = new_worker()
    known = Job(eval, str, lambda answer: None), "str(__import__('toolfmt').get('brackets').closers)"
    assert worker.run(*known) == "('⟦/call⟧',)"
    worker.close()
    assert worker.run(*known) == "('⟦/call⟧',)"  # another process
    other = replace(brackets, engine=replace(brackets.engine, call_closer="⟦end⟧"))  # type: ignore[type-var]  # a Tagged
    _forget("brackets")
    register(other)
    assert worker.run(*known) == "('⟦end⟧',)"
    worker.close()


def test_formats_are_sent_to_other_processes_as_text() -> None:
    assert other_formats_as_text() == ()
    register(toolfmt.format_from_file(FILE))
    try:
        ((name, text),) = other_formats_as_text()
    finally:
        _forget("brackets")
    assert (name, json.loads(text)) == ("brackets", json.loads(FILE.read_text("utf-8")))
    try:
        set_other_formats([(name, text)])
        read = get("brackets")
        assert toolfmt.format_to_dict(read) == json.loads(text)
        set_other_formats([(name, text)])
        assert get("brackets") is read
        set_other_formats([("of a plug-in that is not installed", "")])
        assert formats() == tuple(sorted(KNOWN, key=lambda format: format.name))
    finally:
        OTHERS.received = None
        OTHERS.replace()


# --- plug-ins


PROGRAM = """
import json, sys, warnings
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    import toolfmt
    from toolfmt import formats
    import toolfmt.model.model
    before = "plug_in" in sys.modules
    toolfmt.get("json")
    asked = "plug_in" in sys.modules
    others = [format.name for format in formats.formats() if format.name in ("brackets", "second", "coded")]
    formats.formats()
    report = toolfmt.load(sys.argv[1]).inspect().format
print(json.dumps([before, asked, others, report.name, report.confidence, [str(one.message) for one in told]]))
"""
PLUG_IN = f"""
from dataclasses import dataclass, fields, replace
import toolfmt
from toolfmt.formats.engines.tagged import Tagged

@dataclass(frozen=True, kw_only=True)
class Coded(Tagged):
    "An engine of this package."

FORMAT = toolfmt.format_from_file({str(FILE)!r})
CODED = replace(FORMAT, engine=Coded(**FORMAT.engine.__getstate__()))
BOTH = [FORMAT, replace(FORMAT, name="second")]
CLASH = replace(FORMAT, name="other", aliases=("qwen3",))
THREE = 3
def made(): return FORMAT
def anew(): return toolfmt.format_from_file({str(FILE)!r})
def fails(): raise SystemError("no\\nway")
def leaves(): raise SystemExit(3)
"""


def plug_in(directory: Path, **points: str) -> Path:
    """A package with these entry points, as an installer leaves it."""
    place = directory / "site"
    info = place / "plug_in-1.0.dist-info"
    info.mkdir(parents=True)
    (place / "plug_in.py").write_text(PLUG_IN, "utf-8")
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: plug-in\nVersion: 1.0\n", "utf-8")
    lines = "".join(f"{name} = plug_in:{value}\n" for name, value in reversed(points.items()))
    (info / "entry_points.txt").write_text(f"[toolfmt.formats]\n{lines}", "utf-8")
    return place


def with_plug_in(place: Path, *command: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(place)])}
    return subprocess.run(
        [sys.executable, *command],
        capture_output=True,
        text=True,
        encoding="utf-8",
        env=environment,
        check=False,
        timeout=300,
    )


def loaded(directory: Path, **points: str) -> list[Any]:
    made(directory, TEMPLATE)
    done = with_plug_in(plug_in(directory, **points), "-c", PROGRAM, str(directory / "model"))
    assert (done.returncode, done.stderr) == (0, "")
    values: list[Any] = json.loads(done.stdout)
    return values


@pytest.mark.sample(0)
@pytest.mark.parametrize("value", ["made", "CODED"])
def test_a_package_brings_a_format(value: str, tmp_path: Path) -> None:
    """It is loaded when all formats are listed, not before; the worker knows its engine too."""
    assert loaded(tmp_path, mine=value) == [False, False, ["brackets"], "brackets", "verified", []]


@pytest.mark.sample(0)
def test_a_package_brings_several(tmp_path: Path) -> None:
    before, after_get, others, name, confidence, warned = loaded(tmp_path, mine="BOTH", again="anew")
    assert (before, after_get, others, confidence, warned) == (False, False, ["brackets", "second"], "verified", [])
    assert name in ("brackets", "second")


@pytest.mark.sample(0)
def test_broken_plug_ins_are_left_out_with_a_warning_each(tmp_path: Path) -> None:
    broken = {
        "CLASH": "the format 'other' (alias 'qwen3') uses a name of the format 'json'",
        "THREE": "TypeError: it provides a value of type int, not a ToolCallFormat or a tuple of them",
        "fails": "SystemError: no way",
        "nothing": "AttributeError: module 'plug_in' has no attribute 'nothing'",
    }
    values = loaded(tmp_path, **{value: value for value in broken}, whole="FORMAT")
    assert values[:5] == [False, False, ["brackets"], "brackets", "verified"]
    assert values[5] == [
        f"the plug-in {value!r} of plug-in (plug_in:{value}) is ignored: {why}; fix or uninstall plug-in"
        for value, why in broken.items()
    ]


@pytest.mark.sample(0)
def test_the_command_line_reports_a_broken_plug_in_in_one_line(tmp_path: Path) -> None:
    done = with_plug_in(plug_in(tmp_path, broken="fails", whole="FORMAT"), "-m", "toolfmt", "formats", "brackets")
    assert done.returncode == 0
    assert done.stdout.startswith("brackets\n")
    assert done.stderr == (
        "toolfmt: the plug-in 'broken' of plug-in (plug_in:fails) is ignored: SystemError: no way; "
        "fix or uninstall plug-in\n"
    )


def test_a_plug_in_cannot_take_a_name_that_a_program_registered(brackets: toolfmt.ToolCallFormat) -> None:
    from toolfmt.formats import plugins, registry

    class Point:
        name, value, dist = "late", "late:FORMAT", None

        def load(self) -> object:
            return replace(brackets, reasoning=())

    with pytest.MonkeyPatch.context() as patched, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        patched.setattr(plugins, "entry_points", lambda group: [Point()])
        patched.setattr(registry.OTHERS, "plugins", None)
        assert get("brackets") is brackets
        assert formats().count(brackets) == 1
    assert [(one.category, str(one.message)) for one in caught] == [
        (
            BrokenPlugIn,
            "the plug-in 'late' of a package (late:FORMAT) is ignored: the format 'brackets' uses a name of the format "
            "'brackets'; fix or uninstall a package",
        )
    ]


# --- the runtimes


def test_the_runtimes_have_a_parser_for_it(brackets: toolfmt.ToolCallFormat) -> None:
    from toolfmt.integrations.served_formats import parsers

    names = {"toolfmt_brackets", "toolfmt_brackets_streamed"}
    assert all(parsers()[name].format("") is brackets for name in names)
    with adaptor("toolfmt.integrations.vllm", VLLM):
        manager = import_module("vllm.tool_parsers.abstract_tool_parser").ToolParserManager
        assert manager.get_tool_parser("toolfmt_brackets")(None).format is brackets
    with adaptor("toolfmt.integrations.sglang", SGLANG) as for_sglang:
        for_sglang.register()
        parser_names = import_module("sglang.srt.function_call.parser_names").TOOL_CALL_PARSER_NAMES
        assert "toolfmt_brackets" in parser_names


# --- the command line


def output(*arguments: str, input: str | None = None) -> str:
    result = CliRunner().invoke(main, arguments, prog_name="toolfmt", input=input)
    assert (result.exit_code, result.stderr) == (0, "")
    return result.output


def test_commands_that_take_a_format_take_a_file(tmp_path: Path) -> None:
    path, tools = str(FILE), tmp_path / "tools"
    tools.write_text(json.dumps(TOOLS), "utf-8")
    types = [json.loads(line)["type"] for line in output("parse", "--format", path, input=ANSWER).splitlines()]
    assert types[0] == "content" and types[-1] == "tool_call_end"
    recorded = tmp_path / "recorded"
    recorded.write_text(json.dumps({"text": ANSWER}) + "\n", "utf-8")
    message = json.loads(output("parse", "--format", path, "--jsonl", str(recorded)))
    assert message["tool_calls"][0]["function"]["name"] == "get_weather"
    assert '"model":"brackets"' in output("parse", "--format", path, "--output", "openai", input=ANSWER).replace(
        " ", ""
    )
    result = CliRunner().invoke(main, ["grammar", path, "--tools", str(tools), "--for", "gbnf"])
    assert result.exit_code == 0
    assert "⟦/call⟧" in result.stdout
    page = output("formats", path)
    assert page.startswith("brackets\n") and "The name and every argument in white square brackets." in page
    assert json.loads(output("formats", path, "--json"))["openers"] == ["⟦call "]


def test_a_file_is_recognized_by_its_suffix_or_a_separator(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine").write_bytes(FILE.read_bytes())
    (tmp_path / "glm4.json").write_bytes(FILE.read_bytes())
    monkeypatch.chdir(tmp_path)
    for given in (f".{os.sep}mine", "glm4.json"):
        assert output("formats", given).startswith("brackets\n")
    for given, why in (
        ("mine", "no tool-call format is named 'mine'; "),
        ("nothing.json", "nothing.json: cannot read the format (No such file or directory); pass a JSON file"),
        ("</tool_call>", "no tool-call format is named '</tool_call>'; if that is model output, pass it first"),
    ):
        for command in (("formats", given), ("parse", "--format", given)):
            result = CliRunner().invoke(main, command, prog_name="toolfmt", input="")
            assert (result.exit_code, result.output.count("\n")) == (2, 1)
            assert result.stderr.startswith(f"toolfmt: {why}")


def test_nothing_in_a_file_moves_a_cursor(tmp_path: Path) -> None:
    """Each text of the file has a character that changes the color, and one that changes the text direction."""
    data = json.loads(FILE.read_text("utf-8"))
    data |= {member: f"a\n\n{data[member]}\x1b[31m\u202e" for member in ("page", "instructions")}
    data |= {member: ["\x1b[31m\u202e"] for member in ("families", "model_types", "source")}
    data["runtime_parsers"] = {"x\x1b[31m": {"name": "\u202e", "remark": "\x9b"}}
    data["engine"]["call_closer"] = "⟦\x1b[31m\u202e⟧"
    path = tmp_path / "mine.json"
    path.write_text(json.dumps(data), "utf-8")
    page = output("formats", str(path))
    assert not set(page) & {"\x1b", "\x9b", "\u202e"}
    assert page.count("\\x1b[31m\\u202e") == 5
    format = toolfmt.format_from_file(path)
    assert not set(formats_text([format], 80, colour=False)) & {"\x1b", "\x9b", "\u202e"}


def test_a_format_in_a_file_is_fuzzed(tmp_path: Path) -> None:
    result = CliRunner().invoke(main, ["dev", "fuzz", str(FILE), "--outputs", "12", "--json"], prog_name="toolfmt")
    _forget("brackets")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["formats"] == ["brackets"]
    clash = tmp_path / "clash.json"
    clash.write_text(json.dumps(json.loads(FILE.read_text("utf-8")) | {"name": "glm4"}), "utf-8")
    result = CliRunner().invoke(main, ["dev", "fuzz", str(clash), "--outputs", "12"], prog_name="toolfmt")
    assert (result.exit_code, result.stderr) == (
        2,
        f"toolfmt: {clash}: the format 'glm4' uses a name of the format 'glm4'; give it another name\n",
    )


def test_a_worker_of_another_caller_gets_no_formats() -> None:
    """The worker pool does not depend on formats: the caller that creates a worker decides what its jobs load."""
    worker = Worker((), modules=())
    assert worker.run(Job(eval, bool, lambda answer: None), "'toolfmt.formats' in __import__('sys').modules") is False
    worker.close()


# --- the page

PAGE = (ROOT / "docs" / "own_formats.md").read_text("utf-8")
BLOCKS = re.findall(r"```(?:json|python)\n(.*?)```\n", PAGE, re.DOTALL)


def test_the_page_shows_the_example() -> None:
    assert BLOCKS[0] == FILE.read_text("utf-8")


def test_the_page_names_everything_that_a_file_can_declare() -> None:
    """Every kind, every value with a name, and every member of each kind."""
    named = set(re.findall(r'`"?([a-z_]+)"?`', PAGE))
    kinds = [kind for role in ROLES.values() for kind in role.kinds.values()]
    expected = {name for role in ROLES.values() for name in (*role.constants, *role.kinds) if name}
    expected |= {field.name for kind in (*kinds, toolfmt.ToolCallFormat) for field in fields(kind)}
    assert expected - named == set()
    rows = {row.split("`")[1]: set(re.findall("`([a-z_]+)`", row)) for row in re.findall(r"(?m)^\| `.*$", PAGE)}
    for name, kind in ROLES[Engine].kinds.items():
        own = {field.name for field in fields(kind)} - {field.name for field in fields(Frame)}
        assert own <= rows[name] | (rows["json_object"] if name == "keyed_object" else set()), name


def test_the_page_shows_the_error_for_an_unknown_member(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.json").write_text(FILE.read_text("utf-8").replace('"name_opener"', '"opner"'), "utf-8")
    printed = CliRunner().invoke(main, ["formats", "mine.json"], prog_name="toolfmt").stderr
    assert f"```console\n$ toolfmt formats mine.json\n{printed}```\n" in PAGE


def test_the_limits_on_the_page_are_correct() -> None:
    assert f"a file: {LONGEST_TEXT:,} characters and {_MOST_VALUES:,} values" in PAGE
    assert (LONGEST_TEXT, _MOST_VALUES, _LONGEST_MARKER, _DEEPEST) == (262_144, 4_000, 400, 8)


def test_the_program_on_the_page_makes_a_format_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (program,) = (block for block in BLOCKS if "toolfmt.register(" in block)
    (tmp_path / "examples").mkdir()
    (tmp_path / "examples" / "brackets.json").write_bytes(FILE.read_bytes())
    made(tmp_path, TEMPLATE)
    (tmp_path / "models").mkdir()
    (tmp_path / "model").rename(tmp_path / "models" / "Brackets-1")
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, Any] = {}
    try:
        exec(compile(program.replace("toolfmt.load", "report = toolfmt.load"), "own_formats.md", "exec"), namespace)
    finally:
        _forget("brackets")
    assert (namespace["report"].format.name, namespace["report"].format.confidence) == ("brackets", "verified")


@pytest.mark.sample(0)
def test_the_plug_in_on_the_page_brings_its_format(tmp_path: Path) -> None:
    (program,) = (block for block in BLOCKS if "as_file" in block)
    ((point, value),) = re.findall(r'toolfmt.formats"\]\n(\w+) = "(.*?)"\n', PAGE)
    package = plug_in(tmp_path, none="BOTH") / "my_package"
    package.mkdir()
    (package / "formats.py").write_text(program, "utf-8")
    (package / "brackets.json").write_bytes(FILE.read_bytes())
    points = tmp_path / "site" / "plug_in-1.0.dist-info" / "entry_points.txt"
    points.write_text(f"[toolfmt.formats]\n{point} = {value}\n", "utf-8")
    done = with_plug_in(tmp_path / "site", "-m", "toolfmt", "formats", "brackets")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("brackets\n")


@pytest.mark.sample(0)
def test_a_plug_in_that_exits_ends_no_command(tmp_path: Path) -> None:
    """It would end silently, and with success."""
    done = with_plug_in(plug_in(tmp_path, broken="leaves", whole="FORMAT"), "-m", "toolfmt", "formats", "brackets")
    assert (done.returncode, "brackets" in done.stdout) == (0, True)
    assert "the plug-in 'broken' of plug-in (plug_in:leaves) is ignored: SystemExit: 3" in done.stderr
