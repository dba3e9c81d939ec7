"""Tool parsers of other projects as targets of the fuzz kit: one module per project, one factory per parser.

A target is named `toolfmt.testing.peers.for_mlx_lm:json_tools` (module:factory); `factories()` of a module lists its
own. A factory takes the tools of a request (a list in OpenAI's format, or None) and creates a reader of one output. A
reader is an object with `feed(text)` and `finish()`, which return events like `toolfmt.messages.events` writes them
(`to_dict`), or a function that takes the whole text and returns a message in OpenAI's format.

`factory.formats` are the names of the formats that the parser supports (`factory.variants` with their variants).
`factory.version` is its package's version. A reader does what the project's own server does around its parser; unclear
cases are decided in the parser's favor. An exception that the server would not catch is raised. A package is imported
when a factory is taken from its module. If it is missing, that raises `ImportError` with how to install it, and
`factories()` still lists the factories.
"""
