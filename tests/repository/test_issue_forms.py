"""The issue forms are valid for a code host: its schema as far as the forms use it, and what they ask for exists."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import click
import pytest
import yaml  # type: ignore[import-untyped]  # PyYAML carries no types

from toolfmt.cli.commands import main

FOLDER = Path(__file__).parents[2] / ".github" / "ISSUE_TEMPLATE"
FORMS = sorted(path for path in FOLDER.glob("*.yml") if path.name != "config.yml")
ATTRIBUTES = {
    "markdown": ({"value"}, set[str]()),
    "textarea": ({"label"}, {"description", "placeholder", "value", "render"}),
    "input": ({"label"}, {"description", "placeholder", "value"}),
    "dropdown": ({"label", "options"}, {"description", "multiple", "default"}),
    "checkboxes": ({"label", "options"}, {"description"}),
}
"""The required keys of each kind of field, and the allowed ones."""


def form(path: Path) -> dict[str, Any]:
    read: dict[str, Any] = yaml.safe_load(path.read_text("utf-8"))
    return read


def test_there_is_a_form_for_each_kind_of_issue() -> None:
    assert [path.stem for path in FORMS] == ["new-format", "parser-bug", "wrong-report"]


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_a_form_is_one(path: Path) -> None:
    read = form(path)
    assert read.keys() <= {"name", "description", "title", "labels", "assignees", "projects", "body", "type"}
    assert all(isinstance(read[key], str) and read[key] for key in ("name", "description"))
    assert all(isinstance(label, str) for label in read.get("labels", []))
    fields = [field for field in read["body"] if field["type"] != "markdown"]
    assert fields
    assert len({field["attributes"]["label"] for field in fields}) == len(fields)
    ids = [field["id"] for field in fields]
    assert len(set(ids)) == len(ids)
    assert all(re.fullmatch(r"[A-Za-z0-9_-]+", id) for id in ids)


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_a_field_has_exactly_the_keys_of_its_kind(path: Path) -> None:
    for field in form(path)["body"]:
        needed, more = ATTRIBUTES[field["type"]]
        attributes = field["attributes"]
        assert needed <= attributes.keys() <= needed | more, field
        assert field.keys() <= {"type", "id", "attributes", "validations"}
        assert field.get("validations", {}).keys() <= {"required"}
        assert all(isinstance(required, bool) for required in field.get("validations", {}).values())
        assert ("id" in field) == (field["type"] != "markdown")
        options = attributes.get("options", [])
        if field["type"] == "dropdown":
            assert len(set(options)) == len(options) > 1
        if field["type"] == "checkboxes":
            assert all(option.keys() <= {"label", "required"} and option["label"] for option in options)


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_commands_and_options_in_a_form_exist(path: Path) -> None:
    """Commands and their options; each form asks for the output of `report-bug` or `dev derive`."""
    text = path.read_text("utf-8")
    typed = re.findall(r"`toolfmt ((?:dev )?[a-z-]+)([^`]*)`", text)
    assert typed
    dev = main.commands["dev"]
    assert isinstance(dev, click.Group)
    commands = {**main.commands, **{f"dev {name}": command for name, command in dev.commands.items()}}
    for name, rest in typed:
        command = commands[name]
        options = {option for one in command.params if isinstance(one, click.Option) for option in one.opts}
        assert set(re.findall(r"--[a-z-]+", rest)) <= options
    assert {name for name, _ in typed} & {"report-bug", "dev derive"}


def test_the_chooser_names_no_address_that_is_not_there() -> None:
    config = form(FOLDER / "config.yml")
    assert config.keys() <= {"blank_issues_enabled", "contact_links"}
    assert isinstance(config["blank_issues_enabled"], bool)
    links = config.get("contact_links", [])
    assert all(link.keys() == {"name", "url", "about"} for link in links)
    assert "example" not in str(links)
