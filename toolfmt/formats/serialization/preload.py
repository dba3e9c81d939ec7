"""Importing this makes every format known, those of plug-ins too: for a process that can import nothing later."""

from toolfmt.formats.registry import formats
from toolfmt.formats.serialization import format_data  # noqa: F401 - reads the formats that the process is handed then

formats()
