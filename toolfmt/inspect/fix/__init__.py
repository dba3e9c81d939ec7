"""Fix a model: write a setting or a small change of the template into a copy, and verify it.

`toolfmt.model.fix` calls `fix_copy`. This package knows templates and reports, but not users' prompts, printing or
processes. Its callers pass in how to inspect a model and where to render untrusted templates.
"""

from __future__ import annotations
