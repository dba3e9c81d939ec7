"""Import every format, including those of plug-ins, for a process that cannot import anything later."""

from toolfmt.formats.registry import formats
from toolfmt.formats.serialization import format_data  # noqa: F401 - decodes the formats that the process receives later

formats()
