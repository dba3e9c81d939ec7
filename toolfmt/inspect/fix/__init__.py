"""Fixing: a setting or a small change of the template is written into a copy of a model, and verified.

`toolfmt.model.fix` calls `mend`. The room knows templates and the inspection's reports, nothing of prompts for users,
of printing or of processes: how a model is inspected and where untrusted templates are rendered is handed to it.
"""

from __future__ import annotations
