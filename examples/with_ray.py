"""Recorded outputs parsed by Ray Data, on one machine or many.

python examples/with_ray.py recorded.jsonl messages --format glm4 --tools tools.json --processes 8
"""

from __future__ import annotations

import ray
from read_rows import arguments, check_key, read_rows


def main() -> None:
    """Read the file, map its rows, write them."""
    parsed = arguments("Parse recorded outputs with Ray Data.")
    ray.init(num_cpus=parsed.processes, include_dashboard=False)
    options = {"format": parsed.format, "tools": parsed.tools, "text_key": parsed.text_key}
    # Blocks are read in parallel: a single file is one, and is split into some for each processor.
    recorded = ray.data.read_json(parsed.recorded).repartition(4 * parsed.processes)
    check_key(recorded.columns() or (), parsed.text_key)
    recorded.map_batches(read_rows, fn_kwargs=options).write_json(parsed.output)


if __name__ == "__main__":
    main()
