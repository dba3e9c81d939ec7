"""`toolfmt diff`: compare two models, and select which differences are shown and count.

`toolfmt.cli.commands` creates a `Comparing` from the options. `DifferenceSelection.of` parses `select` and `ignore`,
and `apply` returns a comparison with the remaining differences. What is compared does not change.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from toolfmt._util.text_lists import listed, listed_first
from toolfmt.cli.input import name_models_below
from toolfmt.cli.output import complain, print_json, print_text, terminal
from toolfmt.cli.rules.configuration import Options, configuration_of
from toolfmt.cli.rules.selection import Selection
from toolfmt.inspect.checks import UnknownCode, keys_of, unknown
from toolfmt.inspect.comparison import PARTS, Comparison, Differences, compare, group_of, is_below
from toolfmt.inspect.report.report import Finding, FindingKey
from toolfmt.model.batch import Inspector

GROUPS = ("behavior", "settings")
_KINDS = ("findings", "prompts")
_MOST_NAMED = 30


@dataclass(frozen=True)
class Comparing:
    """The options of `toolfmt diff`, one field each."""

    a: str
    b: str
    as_json: bool
    select: tuple[str, ...]
    ignore: tuple[str, ...]
    runtimes: tuple[str, ...]
    config_file: str | None
    isolated: bool
    trusted: bool

    def status(self) -> int:
        """Compare, print, and return the exit status. Raises `ToolfmtError`."""
        selection = DifferenceSelection.of(self.select, self.ignore)
        places = (self.a, self.b)
        configuration = configuration_of(self.config_file, self.isolated, places, complain)
        options = [configuration.for_model(place) for place in places]
        runtimes = self.runtimes or _common(options)
        inspector = Inspector(trusted=self.trusted)
        a, b = (
            Selection.of(runtimes=runtimes, accepted=own.ignore, configuration=configuration.name).apply(
                inspector.comparable(place)
            )
            for place, own in zip(places, options, strict=True)
        )
        comparison = selection.apply(compare(a, b))
        for place in places:
            name_models_below(place, complain)
        if self.as_json:
            print_json(comparison.to_dict())
        else:
            from toolfmt.cli.printing.diff import comparison_text

            print_text(comparison_text(comparison, *terminal()))
        return int(comparison.differs)


def _common(options: Sequence[Options]) -> tuple[str, ...]:
    """Return the runtimes of both models; all of them, and so none by name, if one is about all."""
    named = [own.runtimes or () for own in options]
    return tuple(dict.fromkeys(name for names in named for name in names)) if all(named) else ()


@dataclass(frozen=True)
class _Typed:
    """The values of one option: names of parts (also of groups and kinds), and keys of findings."""

    parts: tuple[str, ...]
    keys: frozenset[FindingKey]

    def __bool__(self) -> bool:
        return bool(self.parts or self.keys)

    def names(self, group: str, kind: str) -> bool:
        """Return whether the whole kind in a group is selected."""
        return group in self.parts or kind in self.parts

    def finding(self, group: str, finding: Finding) -> bool:
        return finding.key in self.keys or self.names(group, "findings")

    def change(self, group: str, what: str) -> bool:
        return group in self.parts or is_below(what, self.parts)


@dataclass(frozen=True)
class DifferenceSelection:
    """What is shown if anything is selected, and what is not shown."""

    select: _Typed
    ignore: _Typed

    @classmethod
    def of(cls, select: Iterable[str] = (), ignore: Iterable[str] = ()) -> DifferenceSelection:
        """Parse the options, each with several comma-separated words.

        A word is a part (`capabilities`, `capabilities.system`, `runtimes`, `findings`, `prompts`, `behavior`,
        `settings`), or the code, the name or a code prefix of findings. What is both selected and ignored is ignored.
        Raises `UnknownCode` for any other word. Only `apply` can check what is below a part.
        """
        return cls(_typed(select), _typed(ignore))

    def apply(self, comparison: Comparison) -> Comparison:
        """Return the comparison with the remaining differences.

        Raises `UnknownCode` if a word names something that exists in no model or in neither of these two (a variable, a
        tool).
        """
        for word in (*self.select.parts, *self.ignore.parts):
            _check_part(word, comparison.names)
        kept = replace(
            comparison,
            behavior=self._kept("behavior", comparison.behavior),
            settings=self._kept("settings", comparison.settings),
            prompts=comparison.prompts if self._shows_prompts else (),
            ignored=tuple(one for one in comparison.ignored if self._shows(group_of(one), one)),
        )
        return replace(kept, left_out=_number(comparison) - _number(kept))

    @property
    def _shows_prompts(self) -> bool:
        selected = not self.select or self.select.names("behavior", "prompts")
        return selected and not self.ignore.names("behavior", "prompts")

    def _shows(self, group: str, one: Finding) -> bool:
        selected = not self.select or self.select.finding(group, one)
        return selected and not self.ignore.finding(group, one)

    def _kept(self, group: str, differences: Differences) -> Differences:
        def findings(those: Sequence[Finding]) -> tuple[Finding, ...]:
            return tuple(one for one in those if self._shows(group, one))

        changes = tuple(
            change
            for change in differences.changes
            if (not self.select or self.select.change(group, change.what))
            and not self.ignore.change(group, change.what)
        )
        return Differences(changes, findings(differences.removed), findings(differences.added))


def _number(comparison: Comparison) -> int:
    groups = (comparison.behavior, comparison.settings)
    return len(comparison.prompts) + sum(len(one.changes) + len(one.removed) + len(one.added) for one in groups)


def _typed(given: Iterable[str]) -> _Typed:
    words = [word.strip() for text in given for word in text.split(",")]
    parts = [word for word in words if word.partition(".")[0] in {*PARTS, *GROUPS, *_KINDS}]
    keys = [_keys(word) for word in words if word and word not in parts]
    return _Typed(tuple(parts), frozenset[FindingKey]().union(*keys))


def _keys(word: str) -> frozenset[FindingKey]:
    try:
        return keys_of(word)
    except UnknownCode:
        names = listed([*GROUPS, *_KINDS, *PARTS])
        message = f"{unknown(word, 'part or finding')}; the parts are {names}"
        raise UnknownCode(message) from None


def _check_part(word: str, names: Sequence[str]) -> None:
    """Raise `UnknownCode` if a word is neither the name of a compared part nor the prefix of one."""
    if word in (*GROUPS, *_KINDS) or any(is_below(name, [word]) for name in names):
        return
    part, _, below = word.partition(".")
    inside = [name.partition(".")[2] for name in names if name.startswith(f"{part}.")]
    near = difflib.get_close_matches(below, inside, n=1)
    hint = f"did you mean {part}.{near[0]}? " if near else ""
    there = f"{part} has {listed_first(inside, _MOST_NAMED)}" if inside else f"of these two {part} has no parts"
    raise UnknownCode(f"no part is called {word!r}; {hint}{there}")
