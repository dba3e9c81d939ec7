"""Findings that a setting fixes: the declared parser in tokenizer_config.json, or the location of a template.

`attempts` yields changes of a copy's files that may fix a finding; the caller inspects the changed copy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from toolfmt.formats import get
from toolfmt.formats.runtime_parsers import parser_name
from toolfmt.inspect.checks import ALL_OUTCOMES
from toolfmt.inspect.checks.diagnostic import Setting
from toolfmt.inspect.fix.contents import replaced_template
from toolfmt.inspect.fix.json_text import with_member, without_member
from toolfmt.inspect.fix.known_fixes import everything
from toolfmt.inspect.report.report import FindingKey, Report
from toolfmt.inspect.runtimes.advice import NONE
from toolfmt.inspect.runtimes.runtime_support import DECLARING_KEY
from toolfmt.inspect.runtimes.template_choice import MLX_LM, same_text
from toolfmt.templates import CHAT_TEMPLATE_FILE, ModelFiles

_CONFIG = "tokenizer_config.json"


@dataclass(frozen=True)
class SettingFix:
    """A change of one file that may fix the findings with these keys, with the new bytes of the file."""

    keys: tuple[FindingKey, ...]
    file: str
    data: bytes
    texts: tuple[str, str] | None = None
    """The template's text before and after, if a template inside the file changes."""


def keys_with(*settings: Setting) -> frozenset[FindingKey]:
    """Return the keys of the findings that one of these settings may fix, or any setting if none is passed."""
    return frozenset(
        key for key, one in ALL_OUTCOMES.items() if one.setting and (one.setting in settings or not settings)
    )


def attempts(
    report: Report, files: ModelFiles, contents: Mapping[str, bytes], keys: frozenset[FindingKey]
) -> Iterator[SettingFix]:
    """Yield changes that may fix the report's findings with these keys, the most likely first."""
    reported = {finding.key for finding in everything(report)} & keys
    for setting, tried in _TRIED.items():
        found = tuple(key for key in ALL_OUTCOMES if key in reported & keys_with(setting))
        if found:
            for attempt in tried(report, files, contents):
                yield replace(attempt, keys=found)


def _parser(report: Report, files: ModelFiles, contents: Mapping[str, bytes]) -> Iterator[SettingFix]:
    """Yield mlx-lm's name for the format that the template renders, then no name at all."""
    if _CONFIG not in contents:
        return
    text = contents[_CONFIG].decode("utf-8")
    for name in _names(report):
        yield SettingFix((), _CONFIG, with_member(text, DECLARING_KEY, name).encode("utf-8"))
    if DECLARING_KEY in files.tokenizer_config:
        yield SettingFix((), _CONFIG, without_member(text, DECLARING_KEY).encode("utf-8"))


def _names(report: Report) -> Iterator[str]:
    """Yield mlx-lm's parser names for the formats that were read back, except parsers that misread the calls."""
    advice = report.runtimes.get(MLX_LM, "")
    read = [evidence.format for evidence in report.format.evidence if evidence.source == "verified"]
    decided = None if report.format.derived is not None else report.format.name
    for name in dict.fromkeys([*read, decided]):
        called = None if name is None else parser_name(get(name), MLX_LM)
        if called is not None and not advice.startswith(f"{NONE}{called} "):
            yield called


def _template_file(report: Report, files: ModelFiles, contents: Mapping[str, bytes]) -> Iterator[SettingFix]:
    """Yield the template as chat_template.jinja if that file is missing, then the removal of an empty entry."""
    source = files.template(False)
    if source is not None and CHAT_TEMPLATE_FILE not in contents:
        yield SettingFix((), CHAT_TEMPLATE_FILE, source.text.encode("utf-8", "surrogatepass"))
    entry = files.tokenizer_config.get("chat_template")
    if _CONFIG in contents and "chat_template" in files.tokenizer_config and not entry:
        yield SettingFix(
            (), _CONFIG, without_member(contents[_CONFIG].decode("utf-8"), "chat_template").encode("utf-8")
        )


def _same_template(report: Report, files: ModelFiles, contents: Mapping[str, bytes]) -> Iterator[SettingFix]:
    """Yield the current template in place of others with its name, if it is the one that shows tools."""
    source = files.template(True)
    if source is None or report.strategy != "template":
        return
    for other in files.templates:
        same_name = other.name == source.name and not same_text(other, source)
        if same_name and other.origin in contents:
            data = replaced_template(contents[other.origin], other, source.text)
            yield SettingFix((), other.origin, data, (other.text, source.text))


_TRIED: Mapping[Setting, Callable[[Report, ModelFiles, Mapping[str, bytes]], Iterator[SettingFix]]] = {
    "parser": _parser,
    "template-file": _template_file,
    "same-template": _same_template,
}
