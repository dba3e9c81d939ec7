"""Recorded answers parsed by Ray Data, on one machine or many.

python examples/with_ray.py recorded.jsonl messages --format glm4 --tools tools.json --processes 8
"""

from __future__ import annotations

import ray
from read_rows import arguments, check_key, read_rows


def main() -> None:
    """Read the file, map its rows, write them."""
    asked = arguments("Parse recorded answers with Ray Data.")
    ray.init(num_cpus=asked.processes, include_dashboard=False)
    options = {"format": asked.format, "tools": asked.tools, "text_key": asked.text_key}
    # Blocks are read side by side: a file alone is one, and is cut into some for each processor.
    recorded = ray.data.read_json(asked.recorded).repartition(4 * asked.processes)
    check_key(recorded.columns() or (), asked.text_key)
    recorded.map_batches(read_rows, fn_kwargs=options).write_json(asked.output)


if __name__ == "__main__":
    main()
