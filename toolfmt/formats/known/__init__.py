"""The formats there are: the one list that names them. Each knows the rest itself."""

from toolfmt.formats.known import gemma, glm4, json_tool_call, lfm2, xml_function

DEFAULT = json_tool_call.FORMAT
"""For a model of which nothing is known: the format that most models have seen."""

KNOWN = tuple(module.FORMAT for module in (gemma, glm4, json_tool_call, lfm2, xml_function))
