"""Recorded outputs as messages, a batch of rows at a time: one function for every engine that passes batches.

A row has the text of an output under `text_key`; it gets the message that `toolfmt parse --jsonl` prints for it, as
JSON text: a table then has one type for it, whatever the outputs contain. A row without a text gets none.
`with_datasets.py` and `with_ray.py` call it.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Mapping
from typing import Any

import toolfmt


def read_rows(rows: Mapping[str, Any], format: str, tools: list[Any] | None, text_key: str) -> dict[str, Any]:
    """The columns of a batch, and the column `message`."""
    texts = list(rows[text_key])
    messages = iter(toolfmt.parse_many([text for text in texts if text is not None], format, tools=tools))
    read = [None if text is None else json.dumps(next(messages).to_dict()) for text in texts]
    return {**rows, "message": read}


def check_key(columns: Iterable[str], text_key: str) -> None:
    """Ends the program, in one line, if the rows have no such column: a worker's failure would be reported in many."""
    if text_key not in (held := list(columns)):
        print(f"no row has {text_key!r}: --text-key is one of {', '.join(map(repr, held))}", file=sys.stderr)
        raise SystemExit(2)


def arguments(what: str) -> Any:
    """The arguments of both programs; `tools` is the list from the file."""
    parser = argparse.ArgumentParser(description=what)
    parser.add_argument("recorded", help="a file with a JSON object a line")
    parser.add_argument(
        "output", help="where to write the rows with messages: a file for datasets, a directory for Ray"
    )
    parser.add_argument("--format", required=True, help="the tool-call format of the outputs, such as glm4")
    parser.add_argument("--tools", help="a JSON file of tool definitions")
    parser.add_argument("--text-key", default="text", help="the key of the output in a row (%(default)s)")
    parser.add_argument("--processes", type=int, default=2, help="how many read side by side (%(default)s)")
    given = parser.parse_args()
    if given.tools is not None:
        with open(given.tools, encoding="utf-8") as file:
            given.tools = json.load(file)
    return given
