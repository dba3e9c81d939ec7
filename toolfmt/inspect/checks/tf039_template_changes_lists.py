"""The template changes a list or an object in place, which the sandbox of transformers refuses.

Chat templates run in jinja2's immutable sandbox (transformers, vLLM, SGLang, mlx-lm, toolfmt): `.append`, `.pop`,
`.update` and their like fail there. llama.cpp's engine knows `.append` and `.pop` of lists
(common/jinja/value.cpp), so that a template made for it renders there all the same.

What to do: write `{% set ns.items = ns.items + [item] %}` instead of `.append`, or take the model's own template.

Example: `{% set _ = ids.append(message.tool_call_id) %}`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from toolfmt.inspect.checks.found import Found
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.report import Severity

SEVERITY: Severity = "error"


_REFUSED = re.compile(r"access to attribute '(\w+)' of '(list|dict|set)' object is unsafe")


def check(facts: Facts) -> Iterator[Found]:
    for error in facts.renders.errors if facts.renders is not None else ():
        refused = _REFUSED.search(str(error))
        if refused is not None:
            method, kind = refused.groups()
            elsewhere = "llama.cpp renders it all the same" if method in ("append", "pop") else "no runtime renders it"
            yield Found(
                f"The template calls .{method} on a {kind}, which transformers' sandbox refuses; {elsewhere}.",
                "Build a new value with + instead, or take the model's own template.",
                error.line,
            )
            return
