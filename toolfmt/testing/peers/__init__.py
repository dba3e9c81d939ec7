"""Other projects' tool parsers as targets of the fuzz kit: one module a project, one factory a parser.

A target is named `toolfmt.testing.peers.for_mlx_lm:json_tools` (module:factory); `factories()` of a module lists its
own. A factory takes the tools of a request (a list as OpenAI's API has it, or None) and makes a reader of one answer:
an object with `feed(text)` and `finish()`, which return events as `toolfmt.messages.events` writes them (`to_dict`), or
a function of the whole text that returns a message as OpenAI's API has it. `factory.formats` are the names of the
formats that the parser is said to read (`factory.variants` with the ways of writing each), `factory.version` is its
package's. A reader does what the project's own server does around its parser and decides doubts for it; what the parser
raises where its server would not catch it is raised. A package is imported when a factory is taken from its module;
without it that raises `ImportError` with the way out, and `factories()` still lists what there is.
"""
