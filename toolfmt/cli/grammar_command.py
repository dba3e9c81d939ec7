"""`toolfmt grammar`: print the grammar of a model or a format, or the fields of a request."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from toolfmt.cli.input import counted, name_models_below, naming, read_json, shown
from toolfmt.cli.output import complain, print_json, print_text
from toolfmt.errors import BadModelDirectory, BadTools, UnknownFormat
from toolfmt.formats import get
from toolfmt.formats.serialization.files import SUFFIX, format_from_file
from toolfmt.grammars.grammar import SYNTAX_OF, Grammar, GrammarSyntax, Runtime, grammar
from toolfmt.model.model import Model, load

_NARROWER = "the grammar rejects some outputs that the format allows"
_NAMES = "docs/grammars.md explains these names"


@dataclass(frozen=True, kw_only=True)
class Constraining:
    """The options as given."""

    place: str
    tools_file: str
    syntax: GrammarSyntax | None
    choice: str
    single: bool
    prefix: str | None
    runtime: Runtime | None
    trusted: bool

    def print(self) -> None:
        made = self._made()
        fields = None if self.runtime is None else made.request(self.runtime)
        if made.narrower:
            complain(f"{_NARROWER}: {', '.join(made.narrower)}; {_NAMES}")
        if made.tokens is None and made.syntax == "llguidance":
            complain(
                "without a MODEL it is unknown which markers are a single token; llguidance treats all of them as text"
            )
        if fields is None:
            print_text(made.text)
        else:
            print_json(fields)

    def _made(self) -> Grammar:
        with naming(self.tools_file, BadTools):
            tools: Any = counted(read_json(self.tools_file), shown(self.tools_file), complain)
            options: dict[str, Any] = {"choice": self.choice, "parallel": not self.single, "syntax": self._syntax()}
            try:
                format = format_from_file(self.place) if self.place.endswith(SUFFIX) else get(self.place)
                return grammar(format, tools, prefix=self.prefix or "", **options)
            except UnknownFormat as unknown:
                return self._model(unknown).grammar(tools, prefix=self.prefix, **options)

    def _model(self, unknown: UnknownFormat) -> Model:
        try:
            model = load(self.place, trusted=self.trusted)
        except BadModelDirectory as error:
            if Path(self.place).exists():
                raise
            raise BadModelDirectory(f"{error}; or give the name of a format ({unknown})") from None
        name_models_below(self.place, complain)
        if model.broken:
            complain(f"{self.place}: {model.broken}; so the format is not verified")
        return model

    def _syntax(self) -> GrammarSyntax:
        return self.syntax or (SYNTAX_OF[self.runtime] if self.runtime else "llguidance")
