"""What a setting heals: the parser that tokenizer_config.json names, a template where a runtime does not look for it.

`attempts` gives changes of a copy's files that may heal a finding; whoever tries them inspects the changed copy.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from toolfmt.formats import get
from toolfmt.formats.parser_names import parser_name
from toolfmt.inspect.fix.contents import replaced_template
from toolfmt.inspect.fix.json_text import with_member, without_member
from toolfmt.inspect.fix.remedies import everything
from toolfmt.inspect.report.report import Report
from toolfmt.inspect.runtimes.advice import NONE
from toolfmt.inspect.runtimes.runtime_support import DECLARING_KEY
from toolfmt.inspect.runtimes.template_choice import MLX_LM, same_text
from toolfmt.templates import CHAT_TEMPLATE_FILE, ModelFiles

_CONFIG = "tokenizer_config.json"
ABOUT_THE_PARSER = ("TF022", "TF023", "TF061", "TF062", "TF064")
_NOT_FOUND = ("TF060",)
_CONFLICT = ("TF021",)
FIXED_BY_SETTINGS = (*ABOUT_THE_PARSER, *_NOT_FOUND, *_CONFLICT)


@dataclass(frozen=True)
class SettingFix:
    """A change of one file that may heal the findings of these codes: the file's bytes as they would be."""

    codes: tuple[str, ...]
    file: str
    data: bytes
    texts: tuple[str, str] | None = None
    """The template's text before and after, where it is a template that changes inside the file."""


def attempts(
    report: Report, files: ModelFiles, contents: Mapping[str, bytes], codes: frozenset[str]
) -> Iterator[SettingFix]:
    """What may heal the report's findings of these codes, what is most likely right first."""
    told = {finding.code for finding in everything(report)} & codes
    for about, tried in ((ABOUT_THE_PARSER, _parser), (_NOT_FOUND, _template_file), (_CONFLICT, _same_template)):
        found = tuple(code for code in about if code in told)
        if found:
            for attempt in tried(report, files, contents):
                yield replace(attempt, codes=found)


def _parser(report: Report, files: ModelFiles, contents: Mapping[str, bytes]) -> Iterator[SettingFix]:
    """mlx-lm's name for the format that the template renders; no name at all."""
    if _CONFIG not in contents:
        return
    text = contents[_CONFIG].decode("utf-8")
    for name in _names(report):
        yield SettingFix((), _CONFIG, with_member(text, DECLARING_KEY, name).encode("utf-8"))
    if DECLARING_KEY in files.tokenizer_config:
        yield SettingFix((), _CONFIG, without_member(text, DECLARING_KEY).encode("utf-8"))


def _names(report: Report) -> Iterator[str]:
    """What mlx-lm calls its parser for the format of the calls that were read back, but for one that misreads them."""
    told = report.runtimes.get(MLX_LM, "")
    read = [evidence.format for evidence in report.format.evidence if evidence.source == "verified"]
    decided = None if report.format.derived is not None else report.format.name
    for name in dict.fromkeys([*read, decided]):
        called = None if name is None else parser_name(get(name), MLX_LM)
        if called is not None and not told.startswith(f"{NONE}{called} "):
            yield called


def _template_file(report: Report, files: ModelFiles, contents: Mapping[str, bytes]) -> Iterator[SettingFix]:
    """The template in chat_template.jinja, where that is not there yet; no entry that holds none."""
    source = files.template(False)
    if source is not None and CHAT_TEMPLATE_FILE not in contents:
        yield SettingFix((), CHAT_TEMPLATE_FILE, source.text.encode("utf-8", "surrogatepass"))
    entry = files.tokenizer_config.get("chat_template")
    if _CONFIG in contents and "chat_template" in files.tokenizer_config and not entry:
        yield SettingFix(
            (), _CONFIG, without_member(contents[_CONFIG].decode("utf-8"), "chat_template").encode("utf-8")
        )


def _same_template(report: Report, files: ModelFiles, contents: Mapping[str, bytes]) -> Iterator[SettingFix]:
    """The template in force in the place of another one of its name, where it is the one that shows tools."""
    source = files.template(True)
    if source is None or report.strategy != "template":
        return
    for other in files.templates:
        alike = other.name == source.name and not same_text(other, source)
        if alike and other.origin in contents:
            data = replaced_template(contents[other.origin], other, source.text)
            yield SettingFix((), other.origin, data, (other.text, source.text))
