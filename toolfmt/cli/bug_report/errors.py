"""An exception as a report tells it: what was raised and where in toolfmt, without what it says of the user's.

The message is masked but for the words of the interpreter and of the code that it came through. Of files only those of
toolfmt, of the standard library and of packages that toolfmt stands on are named; no line of anybody's code is shown.
"""

from __future__ import annotations

import errno
import os
import re
import sys
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import CodeType, TracebackType

from toolfmt.cli.bug_report.masking import Masking, words_of
from toolfmt.errors import FailedInProcess

_PACKAGE = Path(__file__).parents[2]
_PACKAGES = ("click", "gguf", "huggingface_hub", "jinja2", "minijinja", "rich", "tokenizers", "transformers")
"""Packages whose modules and exceptions are named; of any other, nobody knows whether its name is public."""
_INTERPRETER = (
    "a an and argument arguments as at attribute base be been but bool bytes call called can cannot character codec "
    "codepoint concatenate could decode decoding depth dict dictionary during encode encoding end escape exceeded "
    "expected expecting expression float found for from function get given got has have hashable in index indices "
    "initialize input instance int integer invalid is it item items iterable keyword key length less limit list "
    "literal local maximum memory method missing module more most must name named no not object of old only "
    "open operand operands or out over pop position positional range read recursion required requires result "
    "return sequence set size slice start str string subscriptable supported surrogates take takes than the to "
    "too tuple type types unexpected unhashable unpack unsupported utf value values variable was were where which "
    "with without wrong byte start NoneType Undefined number numbers exception while comparison iteration changed "
    "referenced before assignment access associated assign support does division by zero zip longer shorter"
)
_LONGEST_MESSAGE = 600
_MOST_PLACES = 30


@dataclass(frozen=True)
class Fault:
    """What was raised: the class and the masked message; where, the outermost call first; and what led to it."""

    kind: str
    message: str
    places: tuple[str, ...]
    led_by: Fault | None = None


def fault(error: BaseException, deepest: int = 3, place: str = "") -> Fault:
    """The exception as a report tells it, with those that led to it, so many at most; `place` is the model's, for which
    there stands `the MODEL`, and nothing of its length."""
    frames = list(_frames(error.__traceback__))
    masking = Masking(words=_words(code for code, _ in frames) | _constants(error.__traceback__))
    said, own = _placeless(_said(error), place)
    message = own + masking.masked(said)
    cause = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    led_by = fault(cause, deepest - 1, place) if cause is not None and deepest else None
    places = [_place(code, line) for code, line in frames]
    if isinstance(error, FailedInProcess):
        places += ["in the process for templates:", *error.places]
    return Fault(_kind(type(error)), message, _shortened(places), led_by)


def where(error: BaseException) -> str:
    """The innermost place in toolfmt, as `toolfmt/model/model.py:120`; empty where it was raised elsewhere."""
    own = [place for code, line in _frames(error.__traceback__) if (place := _own_place(code, line))]
    return own[-1] if own else ""


def _said(error: BaseException) -> str:
    try:
        return " ".join(str(error).split())[:_LONGEST_MESSAGE]
    except Exception:  # noqa: BLE001 - an exception that cannot be told is one to be reported, too
        return ""


def _placeless(said: str, place: str) -> tuple[str, str]:
    """What is said without the model's place, and what stands for that at the beginning: there messages name it, or a
    file in it, up to a colon."""
    if not place:
        return said, ""
    known = {place, str(Path(place)), str(Path(place).parent), os.path.abspath(place), os.path.realpath(place)} - {"."}
    shapes = sorted({" ".join(shape.split()) for shape in known if len(shape) > 1}, key=len, reverse=True)
    own = ""
    for shape in shapes:
        if said.startswith(shape) and (colon := said.find(": ", len(shape))) >= 0:
            said, own = said[colon:], "the MODEL"
    for shape in shapes:
        said = re.sub(re.escape(shape) + r"[^\s:,;)]*", "MODEL", said) if os.sep in shape else said
    return said, own


def _constants(traceback: TracebackType | None) -> frozenset[str]:
    """The words of the texts that modules of toolfmt, which the exception came through, hold beside their functions."""
    words = set[str]({"MODEL"})
    while traceback is not None:
        frame, traceback = traceback.tb_frame, traceback.tb_next
        if Path(frame.f_code.co_filename).is_relative_to(_PACKAGE):
            texts = (text for name, text in frame.f_globals.items() if name.isupper() and isinstance(text, str))
            words.update(word for text in texts for word in words_of(text))
    return frozenset(words)


def _frames(traceback: TracebackType | None) -> Iterator[tuple[CodeType, int]]:
    while traceback is not None:
        yield traceback.tb_frame.f_code, traceback.tb_lineno
        traceback = traceback.tb_next


def _place(code: CodeType, line: int) -> str:
    if own := _own_place(code, line):
        return f"{own} {code.co_name}"
    file = code.co_filename
    if file in ("<template>", "<unknown>"):
        return f"the template, line {line}"
    for library in {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}:
        if file.startswith(library + os.sep):
            inside = Path(file).relative_to(library)
            known = inside.parts[0] in _PACKAGES
            return f"{inside.as_posix()}:{line} {code.co_name}" if known else "another package"
    standard = sysconfig.get_path("stdlib")
    if file.startswith(standard + os.sep) and "site-packages" not in file:
        return f"{Path(file).relative_to(standard).as_posix()}:{line} {code.co_name}"
    return f"{file}:{line}" if re.fullmatch(r"<frozen [a-z_.]+>", file) else "elsewhere"


def _own_place(code: CodeType, line: int) -> str:
    """The place where the code is toolfmt's own; else empty."""
    file = Path(code.co_filename)
    if not file.is_relative_to(_PACKAGE):
        return ""
    return f"toolfmt/{file.relative_to(_PACKAGE).as_posix()}:{line}"


def _kind(kind: type[BaseException]) -> str:
    room = kind.__module__.partition(".")[0]
    if room in ("builtins", "toolfmt", *_PACKAGES) or room in sys.stdlib_module_names:
        return kind.__qualname__ if room == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    return "an exception of another package"


def _words(codes: Iterator[CodeType]) -> frozenset[str]:
    """The words that a message may hold as they are: those of the interpreter, of the system, and of the code of
    toolfmt that the exception came through."""
    words = set(_fixed_words())
    for code in codes:
        if Path(code.co_filename).is_relative_to(_PACKAGE):
            words |= set(_words_of(code))
    return frozenset(words)


@cache
def _fixed_words() -> frozenset[str]:
    system = " ".join(os.strerror(number) for number in errno.errorcode)
    return words_of(f"{_INTERPRETER} {system} Errno")


def _words_of(code: CodeType) -> Iterator[str]:
    """The names and the texts in a piece of code, those of the functions inside it too."""
    yield from (*code.co_names, *code.co_varnames, *code.co_freevars)
    for constant in code.co_consts:
        if isinstance(constant, str):
            yield from words_of(constant)
        elif isinstance(constant, CodeType):
            yield from _words_of(constant)


def _shortened(places: list[str]) -> tuple[str, ...]:
    """The places, of a long row the two ends."""
    if len(places) <= _MOST_PLACES:
        return tuple(places)
    half = _MOST_PLACES // 2
    return (*places[:half], f"({len(places) - 2 * half:,} more)", *places[-half:])
