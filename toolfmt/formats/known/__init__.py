"""The formats there are: the one list that names them. Each knows the rest itself."""

from toolfmt.formats.known import gemma, glm4, json_tool_call, lfm2, xml_function

KNOWN = tuple(module.FORMAT for module in (gemma, glm4, json_tool_call, lfm2, xml_function))
