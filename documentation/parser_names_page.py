"""The page that lists what each runtime calls its parser for each format."""

from __future__ import annotations

from documentation.markdown import inline, span, table
from toolfmt.formats import formats
from toolfmt.inspect.runtimes.parser_registries import VERSIONS, WITHOUT_FORMAT

RUNTIMES = ("vLLM", "SGLang", "llama.cpp", "mlx-lm", "mlx-swift-lm", "transformers", "Ollama")
_INTRODUCTION = """\
---
search:
  boost: 4
hide:
  - toc
---

# Parser names by runtime

Find your model family, then pass the name to your runtime:

| runtime | setting |
|---|---|
| vLLM | `--enable-auto-tool-choice --tool-call-parser NAME` |
| SGLang | `--tool-call-parser NAME` |
| llama.cpp | `auto`: `--jinja` is enough, it takes the parser from the template |
| mlx-lm | `"tool_parser_type": "NAME"` in tokenizer_config.json, if it does not detect the parser |
| mlx-swift-lm | `toolCallFormat` of the model configuration, if it does not detect the format |
| transformers, Ollama | see [Choose settings](../choose_settings.md) |

An empty cell means that toolfmt knows no parser of the runtime for the format. A name can be right for the family and
wrong for one model: `toolfmt inspect MODEL` compares it with the calls that the template renders.

"""
_WITHOUT_FORMAT = f"""
## Names without a format

Every other name that {", ".join(f"{runtime} {version}" for runtime, version in VERSIONS.items())} register is in the
table above.

"""


def pages() -> dict[str, str]:
    """The page by its path in the site."""
    shown = [runtime for runtime in RUNTIMES if any(runtime in format.runtime_parsers for format in formats())]
    rows = [
        [
            f"[{span(format.name)}](formats/{format.name}.md)",
            inline(", ".join(format.families)),
            *(inline(str(format.runtime_parsers.get(runtime, ""))) for runtime in shown),
        ]
        for format in formats()
    ]
    others = [[runtime, span(name), inline(why)] for (runtime, name), why in WITHOUT_FORMAT.items()]
    text = _INTRODUCTION + table(("format", "models", *shown), rows)
    return {"reference/parser_names.md": text + _WITHOUT_FORMAT + table(("runtime", "name", "why"), others)}
