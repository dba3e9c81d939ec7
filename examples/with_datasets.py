"""Recorded outputs parsed by Hugging Face's datasets, in several processes.

python examples/with_datasets.py recorded.jsonl messages.jsonl --format glm4 --tools tools.json --processes 8
"""

from __future__ import annotations

from datasets import load_dataset
from read_rows import arguments, check_key, read_rows


def main() -> None:
    """Read the file, map its rows, write them."""
    parsed = arguments("Parse recorded outputs with datasets.")
    recorded = load_dataset("json", data_files=parsed.recorded, split="train")
    check_key(recorded.column_names, parsed.text_key)
    options = {"format": parsed.format, "tools": parsed.tools, "text_key": parsed.text_key}
    read = recorded.map(read_rows, batched=True, num_proc=parsed.processes, fn_kwargs=options)
    read.to_json(parsed.output)


if __name__ == "__main__":
    main()
