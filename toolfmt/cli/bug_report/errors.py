"""Show an exception in a bug report: its class, where toolfmt's code raised it, and its message, masked.

The message keeps the words of the interpreter, of the system, and of toolfmt's code on the traceback. Modules are named
if they belong to toolfmt, the standard library, or a package that toolfmt uses.
"""

from __future__ import annotations

import errno
import os
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import CodeType, FrameType, TracebackType

from toolfmt.cli.bug_report.masking import Masking, words_of
from toolfmt.errors import FailedInProcess

_PACKAGE = Path(__file__).parents[2]
_PACKAGES = ("click", "gguf", "huggingface_hub", "jinja2", "minijinja", "rich", "tokenizers", "transformers")
"""Packages whose modules and exceptions are named; the name of any other may be private."""
_INTERPRETER = (
    "a an and argument arguments as at attribute base be been but bool bytes call called can cannot character codec "
    "concatenate could decode decoding depth dict during empty encode encoding end error exceeded expected expecting "
    "float for found from got has have hashable in index indices input instance int integer invalid is it item items "
    "iterable key keyword length limit list literal maximum missing module more must no not object of only operand "
    "operands or out over pop position positional range read recursion referenced required requires return sequence "
    "set slice start str string subscriptable supported surrogates take takes than the to too tuple type types "
    "unexpected unhashable unpack unsupported utf value values was with without zero MODEL path NoneType Undefined"
)
_PATH = re.compile(r"[^\s:,;()'\"]*[/\\][^\s:,;()'\"]*")
_LONGEST_MESSAGE = 600
_MOST_CAUSES = 4
_MOST_PLACES = 30


def error_lines(error: BaseException, model: str = "") -> list[str]:
    """Return lines on the exception and its causes: the innermost code locations, then class and message.

    `model` is the path of the model, which becomes MODEL.
    """
    lines: list[str] = []
    cause: BaseException | None = error
    for number in range(_MOST_CAUSES):
        if cause is None:
            break
        frames = list(_frames(cause.__traceback__))
        places = [_place(frame, line) for frame, line in frames[-_MOST_PLACES:]]
        if isinstance(cause, FailedInProcess):
            places += ["in the process for templates:", *cause.places]
        words = _fixed_words().union(*(_words_of(frame.f_code) for frame, _ in frames if _is_own(frame)))
        message = Masking(words=words).masked(_without_paths(_text(cause), model))
        lines += [*["caused by"] * bool(number), *places, f"{_class(type(cause))}: {message}"]
        cause = cause.__cause__ or (None if cause.__suppress_context__ else cause.__context__)
    return lines


def where(error: BaseException) -> str:
    """Return the innermost code location in toolfmt, such as `toolfmt/model/model.py:120`, or an empty string."""
    own = [_place(frame, line) for frame, line in _frames(error.__traceback__) if _is_own(frame)]
    return own[-1].partition(" ")[0] if own else ""


def _text(error: BaseException) -> str:
    try:
        return " ".join(str(error).split())[:_LONGEST_MESSAGE]
    except Exception:  # noqa: BLE001 - an exception without a message is still reported
        return ""


def _without_paths(text: str, model: str) -> str:
    """Return the text without paths. Even a masked path would show the lengths of its names."""
    model = " ".join(model.split())
    if model not in ("", "."):
        text = re.sub(rf"(?<!\w){re.escape(model)}(?!\w)", "MODEL", text)
    return _PATH.sub(lambda found: "(path)" if re.search(r"\w", found[0]) else found[0], text)


def _frames(traceback: TracebackType | None) -> Iterator[tuple[FrameType, int]]:
    while traceback is not None:
        yield traceback.tb_frame, traceback.tb_lineno
        traceback = traceback.tb_next


def _is_own(frame: FrameType) -> bool:
    return Path(frame.f_code.co_filename).is_relative_to(_PACKAGE)


def _place(frame: FrameType, line: int) -> str:
    code, module = frame.f_code, str(frame.f_globals.get("__name__"))
    if _is_own(frame):
        return f"toolfmt/{Path(code.co_filename).relative_to(_PACKAGE).as_posix()}:{line} {code.co_name}"
    if code.co_filename in ("<template>", "<unknown>"):
        return f"the template, line {line}"
    return f"{module}:{line} {code.co_name}" if _is_public(module) else "other code"


def _is_public(module: str) -> bool:
    top = module.partition(".")[0]
    return top in ("toolfmt", *_PACKAGES) or top in sys.stdlib_module_names


def _class(kind: type[BaseException]) -> str:
    if kind.__module__ == "builtins":
        return kind.__qualname__
    public = _is_public(kind.__module__)
    return f"{kind.__module__}.{kind.__qualname__}" if public else "an exception of another package"


@cache
def _fixed_words() -> frozenset[str]:
    system = " ".join(os.strerror(number) for number in errno.errorcode)
    return words_of(f"{_INTERPRETER} {system} Errno")


def _words_of(code: CodeType) -> Iterator[str]:
    """Yield the names and strings in the code, including those of the functions in it."""
    yield from (*code.co_names, *code.co_varnames, *code.co_freevars)
    for constant in code.co_consts:
        if isinstance(constant, str):
            yield from words_of(constant)
        elif isinstance(constant, CodeType):
            yield from _words_of(constant)
