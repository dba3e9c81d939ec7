"""The playground in a browser returns what toolfmt returns in CPython, and nothing that is pasted there has any effect.

The server of these tests forbids the page, by a content security policy on every response, to contact any other host.
"""

from __future__ import annotations

import gzip
import json
import re
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from browser import Browser, browser

import toolfmt
from documentation import playground_files
from documentation.playground_files import NotBuilt, write_alone
from documentation.playground_glue import answer

ROOT = Path(__file__).parents[2]
MODELS = ROOT / "corpus" / "models"
_POLICY = (
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval' 'unsafe-eval'; worker-src 'self'; connect-src 'self'; "
    "style-src 'self' 'unsafe-inline'; img-src 'self' data:; frame-src 'self'"
)
_HOSTILE = "<img src=x onerror=\"document.title='taken'\"><script>document.title='taken'</script>"
_ENDLESS = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"
# What the status line has shown since, one text after the other.
_LISTEN = (
    "window.said = []; new MutationObserver(() => said.push(document.getElementById('pg-status').textContent))"
    ".observe(document.getElementById('pg-status'), {childList: true}); 0"
)
_STATUS_LOG = "said"
_LIMIT = 600
"""Seconds for one inspection, the most that the page takes: no test fails because the machine is busy."""
# The limit expires after one second, only for the endless template: what it stops would never finish.
_SHORTEN = (
    "window.kept = window.setTimeout; "
    f"window.setTimeout = (call, wait) => kept(call, wait === {_LIMIT * 1000} ? 1000 : wait); 0"
)
_RESTORE = "window.setTimeout = kept; 0"
# What is missing in the browser is removed for the comparison too.
_INSPECT = (
    "import json, sys; sys.modules['minijinja'] = sys.modules['tokenizers'] = None; import toolfmt; "
    "print(json.dumps(toolfmt.load(sys.argv[1], trusted=True).inspect().to_dict()))"
)


class Server(SimpleHTTPRequestHandler):
    def __init__(self, *given: Any, blocked: Sequence[str] = (), **more: Any) -> None:
        self.blocked = blocked
        super().__init__(*given, **more)

    def do_GET(self) -> None:
        if self.path.endswith(tuple(self.blocked)):
            self.send_error(403)
        else:
            super().do_GET()

    def end_headers(self) -> None:
        self.send_header("Content-Security-Policy", _POLICY)
        super().end_headers()

    def log_message(self, *_: object) -> None:
        pass


class Playground:
    """The page, its boxes filled and what it shows read."""

    def __init__(self, page: Browser, address: str) -> None:
        self.page, self.address = page, address

    def open(self, width: int = 1400) -> None:
        self.page.send(
            "Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=width < 600
        )
        self.page.events.clear()
        self.page.send("Page.navigate", url=f"{self.address}?seconds={_LIMIT}")
        self.wait("document.getElementById('pg')?.dataset.done === '1'")

    def wait(self, condition: str) -> None:
        end = time.monotonic() + _LIMIT
        while time.monotonic() < end:
            with suppress(AssertionError):  # the page may be on its way
                if self.page.evaluate(f"Boolean({condition})"):
                    return
            time.sleep(0.05)
        raise AssertionError(f"{condition}: {self.status()}")

    def fill(self, box: str, text: str, event: str = "input") -> None:
        self.page.evaluate(
            f"(() => {{ const box = document.getElementById('pg-{box}'); box.value = {json.dumps(text)}; "
            f"box.dispatchEvent(new Event('{event}')); }})()"
        )

    def inspect(self, **boxes: str) -> None:
        for box, text in boxes.items():
            self.fill(box, text)
        done = int(self.page.evaluate("document.getElementById('pg').dataset.done"))
        self.page.evaluate("document.getElementById('pg-inspect').click()")
        self.wait(f"document.getElementById('pg').dataset.done === '{done + 1}'")

    def choose(self, name: str) -> None:
        number = list(playground_files.EXAMPLES).index(name) + 1
        done = int(self.page.evaluate("document.getElementById('pg').dataset.done"))
        self.fill("example", str(number), "change")
        self.wait(f"document.getElementById('pg').dataset.done === '{done + 1}'")

    def data(self, box: str, name: str) -> str:
        return str(self.page.evaluate(f"document.getElementById('pg-{box}').dataset.{name}"))

    def text(self, box: str) -> str:
        return str(self.page.evaluate(f"document.getElementById('pg-{box}').innerText"))

    def status(self) -> str:
        return self.text("status")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("playground")
    try:
        write_alone(folder)
    except NotBuilt as why:
        pytest.skip(str(why))
    return folder


@pytest.fixture(scope="module")
def address(folder: Path) -> Iterator[str]:
    with served(folder, []) as address:
        yield address


@contextmanager
def served(folder: Path, blocked: Sequence[str]) -> Iterator[str]:
    """The page's address: it has its own port, and so its own browser cache; `blocked` is looked up each time."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Server, directory=str(folder), blocked=blocked))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/playground/"
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture(scope="module")
def playground(address: str) -> Iterator[Playground]:
    with browser() as page:
        shown = Playground(page, address)
        shown.open()
        yield shown


def inspected(folder: Path) -> Any:
    done = subprocess.run(
        [sys.executable, "-c", _INSPECT, folder.name], capture_output=True, text=True, cwd=folder.parent, check=True,
        env={"PYTHONPATH": str(ROOT)}, timeout=1200,
    )  # fmt: skip
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", ["double-encoded", "xml-functions", "format-of-its-own", "no-tools-no-system"])
def test_report_and_prompt_are_those_of_cpython(playground: Playground, name: str) -> None:
    playground.choose(name)
    request = json.loads((MODELS / name / "request.json").read_text(encoding="utf-8"))
    prompt = toolfmt.load(MODELS / name, trusted=True).render(request["messages"], request.get("tools"))
    report = json.loads(playground.data("report", "json"))
    assert inspected(MODELS / name) == report
    assert prompt.text == playground.data("prompt", "text")
    linked = "[...document.querySelectorAll('.pg-finding a')].map((link) => link.getAttribute('href'))"
    expected = [f"../reference/findings/{one['code']}.html" for one in (*report["findings"], *report["notes"])]
    assert sorted(expected) == sorted(playground.page.evaluate(linked))
    assert playground.page.complaints() == []


def test_events_come_as_one_types_and_are_those_of_the_parser(playground: Playground) -> None:
    playground.choose("glm4-key-value")
    request = json.loads((MODELS / "glm4-key-value" / "request.json").read_text(encoding="utf-8"))
    model = toolfmt.load(MODELS / "glm4-key-value", trusted=True)
    parser = model.render(request["messages"], request["tools"]).parser()
    pieces = ["Let me see", ".<tool_call>get_wea", "ther\n<arg_key>place</arg_key>\n<arg_va", "lue>Oslo</arg_value>"]
    typed, events = "", []
    for piece in [*pieces, "\n</tool_call>"]:
        typed += piece
        events += [event.to_dict() for event in parser.feed(piece)]
        playground.fill("answer", typed)
        expected = [*events, *(event.to_dict() for event in parser.copy().finish())]
        playground.wait(
            f"document.getElementById('pg-events').dataset.events === JSON.stringify({json.dumps(expected)})"
        )
    assert "tool_call_end" in playground.text("events")


def test_an_example_call_is_written_in_the_chosen_format(playground: Playground) -> None:
    playground.choose("glm4-key-value")
    playground.fill("format", "xml_function", "change")
    playground.page.evaluate("document.getElementById('pg-write').click()")
    playground.wait("document.getElementById('pg-answer').value.includes('<function=get_weather>')")
    playground.wait("document.getElementById('pg-events').innerText.includes('read as xml_function')")
    assert "tool_call_end" in playground.text("events")
    playground.fill("format", "", "change")


def test_what_is_pasted_stays_text(playground: Playground) -> None:
    template = "{% for m in messages %}" + _HOSTILE + "{{ m.content }}{% endfor %}"
    tools = [{"type": "function", "function": {"name": "look", "description": _HOSTILE, "parameters": {}}}]
    playground.inspect(
        template=template,
        messages=json.dumps([{"role": "user", "content": _HOSTILE}]),
        tools=json.dumps(tools),
        tokenizer="",
        config=json.dumps({"model_type": _HOSTILE}),
        generation="",
    )
    playground.fill("format", "json", "change")
    playground.fill("answer", f'{_HOSTILE}<tool_call>{{"name": "{"<img>"}"}}')
    playground.wait("document.getElementById('pg-events').innerText.includes('onerror')")
    assert _HOSTILE in playground.text("prompt").replace("\n", "")
    playground.page.evaluate("document.querySelectorAll('#pg-report details').forEach((one) => { one.open = true; })")
    playground.wait("document.querySelector('.pg-frame').srcdoc")
    assert playground.page.evaluate("document.querySelector('.pg-frame').getAttribute('sandbox')") == ""
    time.sleep(0.5)  # a missing image takes at most this long to report it
    assert playground.page.evaluate("document.querySelectorAll('#pg :is(img, script)').length") == 0
    assert playground.page.evaluate("document.title") == "Playground - toolfmt"
    playground.fill("format", "", "change")


def test_another_template_is_not_read_with_the_files_of_the_example(playground: Playground) -> None:
    """The boxes for the other files are folded: their remaining content is not visible."""
    other = (MODELS / "json-frames" / "chat_template.jinja").read_text("utf-8")
    playground.choose("glm4-key-value")
    playground.inspect(template=other)
    assert json.loads(playground.data("report", "json"))["model_type"] is None
    assert playground.text("found") == "json (verified)"
    playground.choose("glm4-key-value")
    playground.inspect(template=json.dumps({"chat_template": other}))
    assert playground.text("found") == "json (verified)"


def test_a_changed_example_keeps_its_files_and_so_does_what_somebody_wrote(playground: Playground) -> None:
    playground.choose("glm4-key-value")
    template = (MODELS / "glm4-key-value" / "chat_template.jinja").read_text("utf-8")
    playground.inspect(template=template[:300] + "{# changed #}" + template[300:])
    assert json.loads(playground.data("report", "json"))["model_type"] == "glm4_moe"
    playground.inspect(config='{"model_type": "qwen3"}', template="{{ messages[0].content }}")
    assert json.loads(playground.data("report", "json"))["model_type"] == "qwen3"


def test_what_was_pasted_before_python_was_there_is_what_is_inspected(playground: Playground) -> None:
    playground.page.send("Page.navigate", url=playground.address + "?seconds=59")
    playground.wait(
        "document.getElementById('pg-example')?.options.length > 1 && !document.querySelector('[data-done]')"
    )
    playground.fill("template", "{{ messages[0].content }}")
    playground.wait("document.getElementById('pg').dataset.done === '1'")
    assert json.loads(playground.data("report", "json"))["model_type"] is None
    assert playground.page.evaluate("document.getElementById('pg-example').value") == ""


def answered(question: str, template: str, monkeypatch: pytest.MonkeyPatch, **more: Any) -> Any:
    """What the page's Python returns, without a browser; afterwards, the working directory is restored."""
    monkeypatch.chdir(ROOT)
    files = {"chat_template.jinja": template, **more.pop("files", {})}
    return json.loads(answer(json.dumps({"ask": question, "name": "model", "files": files, "format": "", **more})))


def test_two_configurations_are_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = json.dumps({"chat_template": "{{ messages[0].content }}"})
    response = answered("inspect", whole, monkeypatch, files={"tokenizer_config.json": "{}"})
    assert response["error"].startswith("The template box contains a whole tokenizer_config.json")


def test_options_of_python_are_no_variables_of_a_template(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("self", "strategy", "now"):
        response = answered("render", "{{ messages[0].content }}", monkeypatch, variables=json.dumps({name: 1}))
        assert response["error"].startswith(f"Variables: '{name}' is not a template variable")


def test_a_long_answer_is_not_fed_character_by_character(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hundred thousands of elements bring the page to a halt, for minutes."""
    given = {"messages": '[{"role": "user", "content": "Hi"}]', "pieces": "characters"}
    read = [answered("read", "{{ messages[0].content }}", monkeypatch, **given, text="a" * n) for n in (10_000, 10_001)]
    assert len(read[0]["value"]["events"]) == 10_000
    assert read[1]["error"].startswith("Character by character, the limit is 10,000 characters")


def test_a_template_that_does_not_parse_is_reported_in_a_sentence(playground: Playground) -> None:
    playground.choose("broken")
    printed = playground.text("report") + playground.text("prompt")
    assert "TF002" in printed
    assert "Traceback" not in printed
    assert "syntax error" in playground.text("prompt")


def test_a_template_without_end_is_ended_and_the_next_one_works(playground: Playground) -> None:
    playground.open()
    playground.page.evaluate(_LISTEN)
    playground.page.evaluate(_SHORTEN)
    playground.inspect(template=_ENDLESS, tokenizer="", config="", generation="")
    playground.page.evaluate(_RESTORE)
    assert playground.text("report") == f"The template ran for more than {_LIMIT} seconds and was ended."
    statuses = playground.page.evaluate(_STATUS_LOG)
    assert statuses[statuses.index("Loading Python anew …") - 1] == "Inspecting …"
    playground.wait("document.getElementById('pg-status').innerText === 'Python is loaded.'")
    playground.choose("double-encoded")
    assert "TF014" in playground.text("report")


@pytest.mark.parametrize(
    "missing", ["pyodide.asm.wasm", "pyodide.mjs", "python_stdlib.zip", "python.tar.gz", "worker.js", "examples.json"]
)
def test_a_failed_download_is_reported_and_retried_at_the_next_click(
    playground: Playground, folder: Path, missing: str
) -> None:
    blocked = [missing]
    with served(folder, blocked) as address:
        mine = Playground(playground.page, address)
        mine.page.send("Page.navigate", url=address)
        mine.wait("document.getElementById('pg-status')?.className.includes('bad')")
        what = "The examples" if missing == "examples.json" else "Python"
        assert re.fullmatch(
            rf"{what} could not be loaded \(.+\): see whether this site can be reached, "
            r"then click Inspect to try again\.",
            mine.status(),
        )
        click = "document.getElementById('pg-inspect').click()"
        if missing != "examples.json":
            status = mine.status()
            mine.page.evaluate(click)
            mine.wait("document.getElementById('pg-status').innerText === 'Loading Python anew …'")
            mine.wait("document.getElementById('pg-report').innerText.includes('could not be loaded')")
            assert status == mine.status() == mine.text("report")
        blocked.clear()
        mine.page.evaluate(click)
        mine.wait("document.getElementById('pg-status').innerText.startsWith('Inspected in')")
        assert mine.text("found") == "glm4 (verified)"
        assert int(mine.page.evaluate("document.getElementById('pg-format').options.length")) > 10


@pytest.mark.parametrize("width", [400, 1400])
def test_nothing_is_wider_than_the_page_and_every_box_has_a_name(playground: Playground, width: int) -> None:
    playground.open(width)
    assert playground.page.evaluate("document.documentElement.scrollWidth") <= width
    unnamed = "[...document.querySelectorAll('#pg :is(textarea, select)')].filter((box) => !box.labels.length)"
    assert playground.page.evaluate(f"{unnamed}.length") == 0
    assert playground.page.complaints() == []


def test_the_ids_of_the_page_are_unique() -> None:
    """The site also makes an anchor of every heading."""
    page = (ROOT / "docs" / "playground.md").read_text(encoding="utf-8")
    anchors = [heading.lower().replace(" ", "-") for heading in re.findall(r"^#+ (.+)$", page, re.MULTILINE)]
    ids = Counter([*anchors, *re.findall(r'\bid="([^"]+)"', page)])
    assert {"playground", "pg", "pg-template"} <= set(ids)
    assert [name for name, times in ids.items() if times > 1] == []


def test_the_download_has_the_documented_size_and_no_source_maps(folder: Path) -> None:
    files = [file for file in (folder / "playground").rglob("*") if file.is_file()]
    assert [file.name for file in files if file.suffix == ".map"] == []
    page = (ROOT / "docs" / "playground.md").read_text(encoding="utf-8")
    documented = re.search(r"some (\d+) MB are loaded .*? \((\d+) MB\s+where", page)
    assert documented is not None
    plain = sum(file.stat().st_size for file in files)
    packed = sum(min(file.stat().st_size, len(gzip.compress(file.read_bytes(), 6))) for file in files)
    assert [round(plain / 1e6), round(packed / 1e6)] == [int(size) for size in documented.groups()]


def test_without_npm_one_line_shows_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(sys, "argv", ["playground_files", str(tmp_path / "site")])
    assert playground_files.main() == 2
    printed = capsys.readouterr().err
    assert printed == "npm is missing, which downloads Pyodide; install it (Debian: apt-get install npm)\n"


def test_a_folder_that_holds_something_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine", encoding="utf-8")
    with pytest.raises(NotBuilt, match="the folder is not empty"):
        write_alone(tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["mine"]


def test_an_unknown_package_is_rejected() -> None:
    with pytest.raises(NotBuilt, match="another one than that known here"):
        playground_files._checked(b"something else")
