"""The template changes a list or an object in place, which the sandbox of transformers refuses.

Chat templates run in jinja2's immutable sandbox (transformers, vLLM, SGLang, mlx-lm, toolfmt): `.append`, `.pop`,
`.update` and their like fail there. llama.cpp's engine knows `.append` and `.pop` of lists
(common/jinja/value.cpp), so that a template made for it renders there all the same.

What to do: write `{% set ns.items = ns.items + [item] %}` instead of `.append`, or take the model's own template.
toolfmt's `render` writes the calls or results that come to that line into the text of messages.

Example: `{% set _ = ids.append(message.tool_call_id) %}`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from toolfmt.errors import TemplateError
from toolfmt.inspect.checks.diagnostic import Diagnostic
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.report.report import FixedBy, Severity

SEVERITY: Severity = "warning"
FIXED_BY: FixedBy = "render"


_REFUSED = re.compile(r"SecurityError: access to attribute '(\w+)' of '(list|dict|set)' object is unsafe\.")


def check(facts: Facts) -> Iterator[Diagnostic]:
    if facts.renders is None:
        return
    probed = facts.renders.errors
    empty = facts.renders.render([{"role": "user", "content": ""}])  # some change a list only at an empty beginning
    for error in (*probed, *([empty] if isinstance(empty, TemplateError) else [])):
        refused = _REFUSED.fullmatch(error.own_words) if error.kind == "not-rendered" else None
        if refused is not None:
            method, kind = refused.groups()
            known = method in ("append", "pop") and kind == "list"
            elsewhere = "llama.cpp renders it all the same" if known else "llama.cpp does not know it either"
            rarely = "" if error in probed else " when the first message is empty"
            yield Diagnostic(
                f"The template calls .{method} on a {kind}{rarely}, which the sandbox of transformers rejects; "
                f"{elsewhere}.",
                "Build a new value with + instead, or use the model's own template; `toolfmt render` avoids this.",
                error.line,
            )
            return
