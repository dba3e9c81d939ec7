"""The template changes a list or an object in place, which the sandbox of transformers rejects.

What it checks: whether rendering a tested conversation fails at a method such as `.append`, `.pop` or `.update`.

Why it matters: chat templates run in jinja2's immutable sandbox, where these methods fail. The request then raises an
error.

Affected runtimes: transformers, vLLM, SGLang, mlx-lm and toolfmt. llama.cpp's engine supports `.append` and `.pop` of
lists, so a template written for llama.cpp renders there.

Example:

    {% set _ = ids.append(message.tool_call_id) %}

Fix: build a new list, or use the model's own template. `toolfmt render` writes the calls or results that reach this
line into the text of messages.

    {% set ns.ids = ns.ids + [message.tool_call_id] %}

References: llama.cpp (common/jinja/value.cpp).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from toolfmt.errors import TemplateError
from toolfmt.inspect.checks.diagnostic import Diagnostic
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.report.report import FixedBy, Severity
from toolfmt.inspect.runtimes.request_handling import REQUEST_HANDLING
from toolfmt.inspect.runtimes.runtime_verdicts import concerned

SEVERITY: Severity = "warning"
FIXED_BY: FixedBy = "render"


_UNSAFE_METHOD = re.compile(r"SecurityError: access to attribute '(\w+)' of '(list|dict|set)' object is unsafe\.")


def check(facts: Facts) -> Iterator[Diagnostic]:
    if facts.renders is None:
        return
    probed = facts.renders.errors
    empty = facts.renders.render([{"role": "user", "content": ""}])  # some change it only if the message is empty
    for error in (*probed, *([empty] if isinstance(empty, TemplateError) else [])):
        unsafe = _UNSAFE_METHOD.fullmatch(error.engine_message) if error.kind == "not-rendered" else None
        if unsafe is not None:
            method, kind = unsafe.groups()
            known = method in ("append", "pop") and kind == "list"
            elsewhere = "llama.cpp accepts it" if known else "llama.cpp does not support it either"
            rarely = "" if error in probed else " when the first message is empty"
            yield Diagnostic(
                f"The template calls .{method} on a {kind}{rarely}, which the sandbox of transformers rejects; "
                f"{elsewhere}.",
                "Build a new value with + instead, or use the model's own template; `toolfmt render` avoids this.",
                error.line,
                runtimes=tuple(one for one in concerned(facts) if REQUEST_HANDLING[one].engine == "jinja2"),
            )
            return
