"""The page of the benchmarks and what it is made of; that its tables show the figures is in `test_pages.py`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks import page, peer_reading, situations
from benchmarks.peer_reading import Output, PeerParser
from benchmarks.runtime_parsers import TOOLS, Answer
from toolfmt.formats import FORMATS, get, write

ROOT = Path(__file__).parents[2]
PARTS = ("read-back", "situations", "speed")
PARIS = ("get_weather", {"city": "Paris", "days": 2})


def figures(**changed: Any) -> dict[str, Any]:
    return {"versions": {"toolfmt": "1", "vLLM": "0.9"}, **changed}


def test_a_table_is_regenerated_and_the_text_around_it_is_kept() -> None:
    other = "between\n\n| kept |\n"
    text = "before\n<!-- table: situations, of a run -->\n| old |\n|---|\n" + other
    results = {
        "formats": {"toolfmt": 3, "vLLM": 2},
        "table": [{"row": "one call", **_right(3, 3), **_right(1, 2, "vLLM")}],
    }
    assert page.with_tables(text, figures(situations=results)) == (
        "before\n<!-- table: situations, of a run -->\n| situation | toolfmt | vLLM 0.9 |\n|---|---|---|\n"
        "| one call | 3 of 3 | 1 of 2 |\n" + other
    )


def test_a_table_that_there_is_not_is_no_table_that_stays_as_it_is() -> None:
    with pytest.raises(KeyError, match="'situation'"):
        page.with_tables("<!-- table: situation -->\n| old |\n", figures())


def _right(right: int, total: int, name: str = "toolfmt") -> dict[str, Any]:
    return {name: {"right": right, "asked": total}}


def test_a_runtime_that_was_not_measured_has_a_dash() -> None:
    counted = {"templates": 2, "repositories": 7}
    table = [{"row": "format found", "of": counted, "vLLM": counted}, {"row": "null", "of": counted}]
    results = figures(**{"read-back": {"table": table}})
    assert page.TABLES["read back"](results).splitlines()[-2:] == [
        "| format found | 2 (7) | 2 (7) |",
        "| null | 2 (7) | – |",
    ]


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["--results", "nowhere/a.json"], "nowhere/a.json cannot be written"),
        (["--results", "a.json", "--page", "docs"], "docs cannot be written"),
        (["--quick", "--results", "a.json", "--page", "docs/benchmarks.md"], "a sample is not the project's page"),
    ],
)
def test_where_it_cannot_write_nothing_is_measured(options: list[str], why: str) -> None:
    """It would take half an hour; `--page` is a path relative to the working directory."""
    command = [sys.executable, "-m", "benchmarks", *options]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 2
    assert why in done.stderr
    assert "…" not in done.stderr  # the measured parts are reported
    assert not (ROOT / "a.json").exists()


def test_the_committed_figures_are_of_everything() -> None:
    committed = page.results()
    assert sorted(committed["measured"]) == sorted(PARTS)
    assert committed["speed"]["formats"] == committed["speed"]["table"][0]["toolfmt"]["formats"] == len(FORMATS)
    assert committed["read-back"]["all templates"]["templates"] == 786
    assert set(committed["situations"]["formats"]) <= set(committed["versions"])
    assert {name for name in page.TABLES if f"<!-- table: {name} -->" in page.PAGE.read_text(encoding="utf-8")} == {
        name for name in page.TABLES if "short" not in name or name == "short calls"
    }


def test_a_sample_is_not_written_over_the_page() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", "--quick"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=1200,
    )
    assert (done.returncode, "give --results FILE and --page FILE" in done.stderr) == (2, True)


def test_parts_are_only_kept_where_there_are_some(tmp_path: Path) -> None:
    arguments = ["--quick", "--only", "speed", "--results", str(tmp_path / "r.json"), "--page", str(tmp_path / "p.md")]
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=1200,
    )
    assert done.returncode == 2
    assert "has no figures of situations, read-back to keep" in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "held",
    [
        b"",
        b"{",
        b"no",
        b"[]",
        b'"a"',
        b"\xff",
        b"[" * 100_000,
        b'{"measured": 1}',
        b'{"versions": []}',
        b'{"speed": 1}',
    ],
    ids=lambda held: repr(held[:16]),
)
def test_a_file_without_figures_is_named_before_anything_is_measured(held: bytes, tmp_path: Path) -> None:
    file = tmp_path / "r.json"
    file.write_bytes(held)
    arguments = ["--only", "speed", "--results", str(file), "--page", str(tmp_path / "p.md")]
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    message = f"python -m benchmarks: error: {file} contains no figures to keep: omit --only, or name another file"
    assert (done.returncode, done.stderr.splitlines()[-1]) == (2, message)
    assert "Traceback" not in done.stderr
    assert (file.read_bytes(), [one.name for one in tmp_path.iterdir()]) == (held, ["r.json"])


def peer(name: str, format: str) -> PeerParser:
    pytest.importorskip({"mlx-lm": "mlx_lm"}.get(name, name))
    (found,) = (one for one in peer_reading.installed() if one.name == name)
    return found.parsers(get(format))[0]


@pytest.mark.parametrize("name", ["mlx-lm", "transformers"])
def test_a_peer_reads_a_call_whole_and_in_pieces(name: str) -> None:
    text = "Well. " + write("json", [PARIS], TOOLS)
    parser = peer(name, "json")
    for response in (parser.read(text, TOOLS), parser.stream(situations.pieces(text), TOOLS)):
        assert (response.content.strip(), peer_reading.as_objects(response.calls)) == ("Well.", [PARIS])


def test_arguments_that_are_no_json_stay_the_text_that_a_client_gets() -> None:
    assert peer_reading.as_objects([("f", "{"), ("g", "[1]")]) == [("f", "{"), ("g", [1])]


def test_an_answer_is_right_if_every_way_of_reading_it_is() -> None:
    answer = Answer("one", write("json", [PARIS], TOOLS), "", (PARIS,))
    right = Output("", [(PARIS[0], json.dumps(PARIS[1]))])
    ways = [lambda _: right, lambda _: Output("", [])]
    assert situations.tried([answer], ways[:1]) == {"one": ""}
    assert situations.tried([answer], ways) == {"one": "'' []"}


def test_what_raises_has_read_nothing() -> None:
    def broken(text: str) -> Output:
        raise RecursionError("deep")

    assert situations.tried([Answer("one", "x", "x")], [broken]) == {"one": "raised RecursionError('deep')"}


def test_toolfmt_is_measured_on_every_variant_and_peers_on_their_formats() -> None:
    format = get("json")
    by_runtime = situations.measured([format])
    ours = by_runtime.pop("toolfmt")
    assert sorted(ours) == sorted(f"json {variant}".strip() for variant in ("", *format.variants))
    assert [title for outcomes in ours.values() for title, instead in outcomes.items() if instead] == []
    assert {name: list(rows) for name, rows in by_runtime.items()} == {name: ["json"] for name in by_runtime}
    # an end marker in a string ends mlx-lm's and transformers' calls: docs/faults.md lists both
    for name, rows in by_runtime.items():
        if name in ("mlx-lm", "transformers"):
            assert rows["json"]["end markers in a string"] != ""
