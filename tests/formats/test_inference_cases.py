"""`../shared/cases/inference.jsonl`, if present: a template's text or a declared parser's name, and the format."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import pytest
from decided_differently import INFERRED_DIFFERENTLY

import toolfmt
from toolfmt.formats import names

CASES = Path(__file__).parents[3] / "shared" / "cases" / "inference.jsonl"
pytestmark = pytest.mark.outside


def cases() -> list[Any]:
    """The cases whose format exists here, or that name none."""
    found = [json.loads(line) for line in CASES.read_text(encoding="utf-8").splitlines()] if CASES.is_file() else []
    known = [case for case in found if case["expected"] is None or case["expected"].lower() in names()]
    return [pytest.param(case, id=f"{case['kind']}-{number}") for number, case in enumerate(known)]


def template_of(case: Any) -> str | None:
    """The template in force in a case's files, as its runtime picks it: with tools, `tool_use` before `default`."""
    if "chat_template.jinja" in case["files"]:
        return str(case["files"]["chat_template.jinja"])
    try:
        template = json.loads(case["files"].get("tokenizer_config.json", "{}")).get("chat_template")
    except json.JSONDecodeError:
        return None
    if isinstance(template, list):
        named = {entry["name"]: entry["template"] for entry in template}
        template = named.get("tool_use", named.get("default"))
    return template if isinstance(template, str) else None


@pytest.mark.parametrize("case", cases())
def test_inference(case: Any) -> None:
    if case["kind"] == "template":
        found = toolfmt.infer(template=case["template"])
    elif case["kind"] == "tool_parser_type":
        found = toolfmt.infer(tool_parser_type=case["name"])
    else:
        declared = None
        with contextlib.suppress(json.JSONDecodeError):
            declared = json.loads(case["files"].get("tokenizer_config.json", "{}")).get("tool_parser_type")
        # What that runtime's code knows of a model is its model type here.
        model_types = toolfmt.get(case["model_format"]).model_types if case["model_format"] else ()
        known = next(iter(model_types), None)
        found = toolfmt.infer(template=template_of(case), tool_parser_type=declared, model_type=known)
    expected = None if case["expected"] is None else toolfmt.get(case["expected"]).name
    if case.get("note", "") in INFERRED_DIFFERENTLY:
        assert (found.name if found else None) != expected, "it comes out as expected: take it off the list"
    else:
        assert (found.name if found else None) == expected
