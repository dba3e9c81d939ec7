"""Importing this makes every format known, those of plug-ins too: for a process that can import nothing later."""

from toolfmt.formats import stored  # noqa: F401 - reads the formats that the process is handed then
from toolfmt.formats.registry import formats

formats()
