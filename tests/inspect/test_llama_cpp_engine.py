"""llama.cpp's template engine: its results, its errors and their places, its limits, and the cache of its code."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import toolfmt
from toolfmt.inspect.facts import InspectionOptions
from toolfmt.inspect.inspection import inspect_template
from toolfmt.inspect.report.report import Difference, Finding, Portability, Report
from toolfmt.inspect.sections.engines import llama_cpp_engine as module
from toolfmt.inspect.sections.engines.engine import EngineFailure, EngineRequest, NotTried
from toolfmt.inspect.sections.engines.llama_cpp_engine import LlamaCppEngine, llama_cpp_engine
from toolfmt.model.jobs import INSPECT, new_worker
from toolfmt.templates import ChatTemplate, template_alone

installed = pytest.mark.skipif(
    importlib.util.find_spec("ggufdoctor") is None or importlib.util.find_spec("wasmtime") is None,
    reason="ggufdoctor, which contains llama.cpp's engine, is not installed",
)
PLAIN = "{% for message in messages %}\n<|{{ message.role }}|>{{ message.content or '' }}<|end|>\n{% endfor %}"
CALLS = PLAIN.replace(
    "<|end|>",
    "{% for call in message.tool_calls or [] %}"
    '<call>{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}</call>'
    "{% endfor %}<|end|>",
)
NULL = CALLS.replace("message.content or ''", "message.content")
QUESTION = {"messages": [{"role": "user", "content": "Hé?"}], "tools": None, "add_generation_prompt": False}
EMPTY_MODULE = b"\0asm\x01\0\0\0"


@pytest.fixture
def engine() -> LlamaCppEngine:
    found = llama_cpp_engine()
    assert found is not None
    return found


@pytest.fixture
def uncompiled() -> Iterator[None]:
    module._compiled.cache_clear()
    yield
    module._compiled.cache_clear()


def request(source: str, **values: Any) -> EngineRequest:
    return EngineRequest(ChatTemplate(source), {**QUESTION, **values}, {"bos_token": "<s>"})


def compared(source: str) -> Portability:
    (portability,) = (one for one in inspect_template(source).sections.engines if one.engine == "llama.cpp")
    return portability


def only(source: str) -> Difference:
    (difference,) = compared(source).differences
    return difference


def found(report: Report) -> list[Finding]:
    return [one for one in report.notes if one.code == "TF070" and "llama.cpp" in one.message]


# --- the package


def test_without_the_package_there_is_no_engine(monkeypatch: pytest.MonkeyPatch, uncompiled: None) -> None:
    monkeypatch.setitem(sys.modules, "wasmtime", None)
    assert llama_cpp_engine() is None
    assert "llama.cpp" not in [one["engine"] for one in inspect_template(PLAIN).to_dict()["engines"]]


def test_with_an_unsuitable_version_there_is_no_engine(monkeypatch: pytest.MonkeyPatch, uncompiled: None) -> None:
    monkeypatch.setitem(sys.modules, "wasmtime", ModuleType("wasmtime"))  # without any of its names
    assert llama_cpp_engine() is None


@installed
@pytest.mark.parametrize("result", ["", "2", KeyError("gd_render")])
def test_an_engine_that_does_not_render_is_not_used(
    result: str | Exception, monkeypatch: pytest.MonkeyPatch, uncompiled: None
) -> None:
    def render(self: LlamaCppEngine, request: EngineRequest) -> str:
        if isinstance(result, Exception):
            raise result
        return result

    monkeypatch.setattr(LlamaCppEngine, "render", render)
    assert llama_cpp_engine() is None


@installed
def test_a_process_frees_it_before_python_shuts_down() -> None:
    """Later, wasmtime prints an error: the functions that it needs are gone."""
    code = (
        "import atexit; from toolfmt.inspect.sections.engines import llama_cpp_engine as module; "
        "atexit.register(lambda: print(module._compiled.cache_info().currsize)); "
        "print(module.llama_cpp_engine().name)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=300)
    assert (done.stdout, done.stderr) == ("llama.cpp\n0\n", "")


# --- what it renders


@installed
def test_a_good_template_renders_the_same_in_every_conversation() -> None:
    assert compared(CALLS) == Portability("llama.cpp", 9, 9)
    assert found(inspect_template(CALLS)) == []


@installed
def test_it_gets_the_same_variables_as_jinja2(engine: LlamaCppEngine) -> None:
    source = (
        "{{ bos_token }}{{ messages | tojson }}{{ tools is none }}{{ add_generation_prompt is defined }}"
        "{{ enable_thinking is defined }}{{ toolfmt_requested }}"
    )
    assert engine.render(request(source)) == '<s>[{"role": "user", "content": "Hé?"}]TrueTrueFalseTrue'


@installed
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize(
    "source", ["{% if 1 %}@a{% endif %}@ {% if 1 %}b@{% endif %}@", "@@  {%- if 1 -%} @a{% endif %}@{# c #}@"]
)
def test_the_line_before_the_template_changes_nothing(engine: LlamaCppEngine, source: str, newline: str) -> None:
    source = source.replace("@", newline)
    assert engine.render(request(source)) == ChatTemplate(source).render([])


@installed
def test_the_clock_is_the_same_in_both_engines(engine: LlamaCppEngine) -> None:
    source = "{{ strftime_now('%Y-%m-%d %H:%M %A') }}"
    assert engine.render(request(source)) == datetime(2026, 1, 1).strftime("%Y-%m-%d %H:%M %A")
    assert compared(source + CALLS) == Portability("llama.cpp", 9, 9)


@installed
def test_tags_for_training_masks_are_supported() -> None:
    tagged = CALLS.replace("{{ message.content", "{% generation %}{{ message.content").replace(
        "<|end|>", "{% endgeneration %}<|end|>"
    )
    assert compared(tagged) == Portability("llama.cpp", 9, 9)


@installed
def test_none_is_printed_as_nothing_and_a_finding_concerns_llama_cpp_only() -> None:
    """As in the templates of GLM-4.6 and MiniMax-M2: jinja2 prints None for content null next to a call."""
    (difference,) = compared(NULL).differences
    assert (difference.line, difference.fails) == (2, False)
    assert difference.written.startswith("|assistant|><call>")
    assert difference.expected.startswith("|assistant|>None<call>")
    (finding,) = found(inspect_template(NULL))
    assert (finding.outcome, finding.line, finding.severity) == ("other-engine-differs", 2, "note")
    assert finding.runtimes == ("llama.cpp",)


@installed
def test_the_line_of_a_difference_is_inside_of_the_macro() -> None:
    macro = "{% macro text(content) %}\n{{- content }}{% endmacro %}\n\n"
    difference = only(macro + NULL.replace("message.content", "text(message.content)"))
    assert (difference.construct, difference.line) == ("{{- content }}{% endmacro %}", 2)


# --- failures


@installed
@pytest.mark.parametrize(
    ("source", "construct", "line", "what"),
    [
        ("center\n{{ 'a' | center(8) }}", "the filter center", 2, "Unknown (built-in) filter 'center' for type String"),
        ("é\n\n{{ 'upper' is filter }}", "the test filter", 3, "NotImplemented: filter test not implemented"),
        ("{{ 'é' }}\n{{ dict(a=1) }}", "the function or method dict()", 2, "Callee is not a function"),
        ("a\r\n{{ 'é' }}\r\n{{ 'é%s' % 1 }}", "{{ 'é%s' % 1 }}", 3, 'Unknown operator "%"'),
        ("é\n{{ 'a' if 1 is sameas 1 }}", "{{ 'a' if 1 is sameas 1 }}", 2, "Parser Error: Expected }} (Got 1)"),
        ("é\r\n{{ 1 is sameas 1 }}", "{{ 1 is sameas 1 }}", 2, "Parser Error: Expected }} (Got 1)"),
        ("{{ 1 }}{{ '%s' % '" + "é" * 40 + "' }}{{ 2 }}", "{{ '%s' % '" + "é" * 40 + "' }}", 1, "Unknown operator"),
        ("{{ 1 }}{{ '" + "é" * 30 + "' }}{{ '%s' % 1 }}{{ 2 }}", "{{ '%s' % 1 }}", 1, "Unknown operator"),
        ("{{ 1 }}{{ '" + "é" * 14 + "' }}{{ 1 is sameas 1 }}", "{{ 1 is sameas 1 }}", 1, "Parser Error"),
        ("\n{% filter upper %}\n{{ 'b' }}{% endfilter %}{{ 7 // 2 }}", "the template", None, "Unexpected token: /"),
        ("{{ 'é'[:1] }}", "the template", None, "the engine counts bytes, and the prompt is not valid UTF-8"),
    ],
)
def test_what_fails_is_named_with_its_line(source: str, construct: str, line: int | None, what: str) -> None:
    difference = only(source + PLAIN)
    assert (difference.construct, difference.line, difference.fails) == (construct, line, True)
    assert difference.what.startswith(what)
    (finding,) = found(inspect_template(source + PLAIN))
    assert (finding.outcome, finding.runtimes, finding.line) == ("other-engine-fails", ("llama.cpp",), line)


@installed
def test_an_unknown_tag_is_found_by_its_name(engine: LlamaCppEngine) -> None:
    template = ChatTemplate("")
    template.source = template.code = "a\n\n{%- nosuch %}"  # jinja2 does not know it either
    with pytest.raises(EngineFailure) as failure:
        engine.render(EngineRequest(template, QUESTION, {}))
    assert (failure.value.construct, failure.value.line) == ("{% nosuch %}", 3)


@installed
def test_an_error_that_only_this_engine_raises() -> None:
    source = "\n{% if 'é' | length == 2 %}{{ raise_exception('Not today.') }}{% endif %}"
    difference = only(source + PLAIN)
    assert (difference.construct, difference.line, difference.what, difference.fails) == (
        "raise_exception",
        2,
        "Not today.",
        True,
    )


@installed
def test_a_failure_that_llama_cpp_prevents_is_not_counted() -> None:
    """As in Llama 3.2 Vision: the loop over a string fails, so llama.cpp passes text as parts."""
    source = (
        "{% for m in messages %}{% for part in m.content %}{% if part.type == 'image' %}<image>{% endif %}{% endfor %}"
        "<|{{ m.role }}|>{% if m.content is string %}{{ m.content }}{% else %}"
        "{% for part in m.content %}{{ part.text }}{% endfor %}{% endif %}{% endfor %}"
    )
    assert compared(source) == Portability("llama.cpp", 0, 0)


# --- limits


@installed
@pytest.mark.parametrize(
    "source",
    [
        "{% for a in range(9999) %}{% for b in range(9999) %}{% endfor %}{% endfor %}",
        "{% set n = namespace(a='x') %}{% for i in range(40) %}{% set n.a = n.a ~ n.a %}{% endfor %}",
        "{% macro f(x) %}{{ f(x) }}{% endmacro %}{{ f(1) }}",
        "{{ " + "(" * 3000 + "1" + ")" * 3000 + " }}",
    ],
    ids=["steps", "memory", "stack", "nesting"],
)
def test_a_template_that_hits_a_limit_is_not_tried(engine: LlamaCppEngine, source: str) -> None:
    template = ChatTemplate("")
    template.source = source  # jinja2 may reject it
    with pytest.raises(NotTried):
        engine.render(EngineRequest(template, QUESTION, {}))
    assert engine.render(request("{{ messages[0].content }}")) == "Hé?"


@installed
@pytest.mark.parametrize("source", ["\ud800{{ messages[0].content }}", "{{ messages[0].content.nosuch() }}\ud800"])
def test_text_that_is_not_unicode_is_not_tried(engine: LlamaCppEngine, source: str) -> None:
    with pytest.raises(NotTried):
        engine.render(request(source))
    with pytest.raises(NotTried):
        engine.render(request("{{ a }}", a="\ud800"))


@installed
def test_memory_is_limited(engine: LlamaCppEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    doubled = "{% set n = namespace(a='x') %}{% for i in range(16) %}{% set n.a = n.a ~ n.a %}{% endfor %}"
    source = doubled + "{{ n.a | length }}"
    assert engine.render(request(source)) == str(1 << 16)
    monkeypatch.setattr(module, "_MEMORY", 1 << 21)
    with pytest.raises(NotTried):
        engine.render(request(source))


@installed
def test_it_runs_in_the_worker_process(tmp_path: Path) -> None:
    """The process can open nothing, has a memory limit, and has had only one thread."""
    (tmp_path / "chat_template.jinja").write_text(NULL, encoding="utf-8")
    report = toolfmt.load(tmp_path).inspect()
    assert [(one.engine, one.renders) for one in report.sections.engines] == [("minijinja", 9), ("llama.cpp", 9)]
    assert len(found(report)) == 1


# --- the cache


@installed
def test_machine_code_is_cached_for_this_user_only(tmp_path: Path) -> None:
    import wasmtime

    config = wasmtime.Config()
    config.consume_fuel = True
    engine = wasmtime.Engine(config)
    path = tmp_path / "new" / "code.cwasm"

    def cached(source: bytes = EMPTY_MODULE) -> bool:
        """Return whether the module was loaded from the file: any other source than the empty module is an error."""
        try:
            return isinstance(module._cached(engine, source, path), wasmtime.Module)
        except wasmtime.WasmtimeError:
            return False

    assert not cached(b"?")
    assert cached()
    assert [each.name for each in path.parent.iterdir()] == ["code.cwasm"]
    assert cached(b"?")
    if sys.platform != "win32":
        assert (path.parent.stat().st_mode & 0o777, path.stat().st_mode & 0o777) == (0o700, 0o600)
        for each, mode in ((path, 0o620), (path, 0o602), (path.parent, 0o770), (path.parent, 0o707)):
            usual = each.stat().st_mode
            each.chmod(mode)
            assert not cached(b"?"), f"another user can write {each.name}"
            each.chmod(usual)
        assert cached(b"?")
    path.write_bytes(b"no machine code")
    assert not cached(b"?")
    assert cached()
    assert cached(b"?")


@installed
@pytest.mark.sample(0)
@pytest.mark.parametrize("variable", ["HOME", "XDG_CACHE_HOME"])
def test_a_worker_caches_it_in_the_users_directory_before_it_has_more_than_one_thread(
    variable: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv(variable, str(tmp_path))
    with closing(new_worker()) as worker:
        report = worker.run(INSPECT, template_alone(CALLS, Path("t")), InspectionOptions(), None)
        assert worker._process is not None
        threads = Path(f"/proc/{worker._process.pid}/task")
        assert sys.platform != "linux" or len(list(threads.iterdir())) == 1
    assert "llama.cpp" in [one.engine for one in report.sections.engines]
    assert [path.parent.name for path in tmp_path.rglob("*.cwasm")] == ["toolfmt"]


@installed
def test_code_that_cannot_be_cached_is_compiled(tmp_path: Path) -> None:
    import wasmtime

    (tmp_path / "file").write_bytes(b"")
    assert module._cached(wasmtime.Engine(), EMPTY_MODULE, tmp_path / "file" / "code.cwasm") is not None


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"XDG_CACHE_HOME": "/caches", "LOCALAPPDATA": "/local"}, "/caches/toolfmt"),
        ({"LOCALAPPDATA": "/local"}, "/local/toolfmt"),
        ({"XDG_CACHE_HOME": ""}, "~/.cache/toolfmt"),
    ],
)
def test_the_directory_of_the_cache(environment: dict[str, str], expected: str) -> None:
    assert module._cache_directory(environment) == Path(expected).expanduser()


@installed
def test_nothing_is_read_or_written_in_a_relative_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, uncompiled: None
) -> None:
    """Without a home directory, `~/.cache` would be a directory of the working directory."""
    import wasmtime

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(module, "_cache_directory", lambda: Path("~/.cache/toolfmt"))
    monkeypatch.setattr(wasmtime, "Module", lambda engine, source: "compiled")
    assert module._compile()[1] == "compiled"
    assert list(tmp_path.iterdir()) == []
