"""The command line: arguments in, printed report out; no decisions.

Exit status 0: done. 1: `inspect` found an error (or what --fail-on and --require say), `diff` a difference. 2: bad
input, told in one line on standard error. What a command needs is imported when it runs, so that `toolfmt --help` is
quick. Output is UTF-8 whatever the locale says; what UTF-8 has no bytes for (half a surrogate pair) is written as an
escape.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from toolfmt import __version__
from toolfmt.cli.input import counted, naming, pieces, read_json, recut, shown
from toolfmt.cli.output import (
    EventLines,
    OneMessage,
    OpenAIStream,
    check_printable,
    compact,
    print_json,
    print_text,
    tell,
    untold,
    write_page,
)
from toolfmt.errors import ToolfmtError

if TYPE_CHECKING:
    from toolfmt.batch import InspectionOutcome, Inspector
    from toolfmt.cli.baseline import Baseline
    from toolfmt.cli.beside import Beside
    from toolfmt.cli.failing import Failing
    from toolfmt.cli.recorded import Recorded
    from toolfmt.cli.request import RenderRequest
    from toolfmt.cli.selection import Selection
    from toolfmt.formats import Parser, ToolCallFormat
    from toolfmt.inspect.facts import Options
    from toolfmt.inspect.report import Report

_PIPE_WIDTH = 100
"""Columns of a text report that no terminal shows."""
_LAST_STANDARD_FILE = 2
_NARROWEST, _WIDEST, _WIDEST_TABLE = 60, 140, 1000


class _Command(click.Command):
    """A command whose every failure names it: click does not say whose option lacks its value."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            error.ctx = error.ctx or ctx
            raise

    def get_help(self, ctx: click.Context) -> str:
        check_printable()  # click prints nothing then, and calls it done
        return super().get_help(ctx)


class _Commands(click.Group):
    """The command group, whose every failure is one line and a status."""

    command_class = _Command

    def main(self, *args: Any, **kwargs: Any) -> NoReturn:
        kwargs["standalone_mode"] = False
        with _standard_files_taken():
            sys.exit(_status(lambda: super(_Commands, self).main(*args, **kwargs)))

    def get_help(self, ctx: click.Context) -> str:
        check_printable()
        return super().get_help(ctx)


@contextmanager
def _standard_files_taken() -> Iterator[None]:
    """Where a standard file is closed, nothing else that is opened gets its number: what a library prints would be
    written into that."""
    taken = []
    with suppress(OSError):  # no such device, or no more files: then there is nothing to be taken
        while (descriptor := os.open(os.devnull, os.O_RDWR)) <= _LAST_STANDARD_FILE:
            taken.append(descriptor)
        os.close(descriptor)
    try:
        yield
    finally:
        for descriptor in taken:
            os.close(descriptor)


def _status(run: Callable[[], Any]) -> int:
    """The exit status of what is run: 2 where standard error cannot be written, whatever the status would be."""
    status = _status_of(run)
    return 2 if untold() else status


def _status_of(run: Callable[[], Any]) -> int:
    try:
        status = run()
        if sys.stdout is not None:
            sys.stdout.flush()
        return status if isinstance(status, int) else 0
    except ToolfmtError as error:
        return _complain(str(error))
    except click.UsageError as error:
        command = error.ctx.command_path if error.ctx else "toolfmt"
        return _complain(f"{error.format_message().rstrip('.')}; see {command} --help")
    except click.ClickException as error:
        return _complain(error.format_message())
    except (click.Abort, KeyboardInterrupt):
        return 130
    except (BrokenPipeError, SystemExit):  # click makes a broken pipe an exit
        # Whoever read the output has enough of it. The interpreter flushes once more at its end, into nothing.
        if sys.stdout is not None:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        return _complain(f"standard output cannot be written ({error.strerror or error}); look at where it goes")


def _complain(message: str) -> int:
    from toolfmt.printing.layout import visible

    tell("toolfmt: " + visible(" ".join(message.split())))
    return 2


class _Count(click.IntRange):
    """A whole number of at least 1, whose failure says so."""

    def __init__(self) -> None:
        super().__init__(min=1)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        try:
            count = int(value)
        except ValueError:
            count = 0
        if count < 1:
            self.fail(f"{str(value)[:20]!r} is not a whole number of at least 1", param, ctx)
        return count


def _key(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    if value == "":
        raise click.BadParameter("a key is not empty; name the key, or leave the option out", ctx, param)
    return value


def _version(ctx: click.Context, param: click.Parameter, asked: bool) -> None:
    if asked and not ctx.resilient_parsing:
        print_text(f"{ctx.find_root().info_name} {__version__}\n")
        ctx.exit()


_trusted = click.option("--trusted", is_flag=True, help="Run the template in this process, without limits.")
_as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@click.group(
    cls=_Commands,
    no_args_is_help=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_version, help="Show the version and exit."
)
def main() -> None:
    """Inspect a model, render tools for it, parse what it answers.

    A MODEL is a model directory or a file of it, a .gguf file, a template's .jinja file, or a repository id of the
    Hugging Face hub (org/name), from the hub cache or fetched.
    """


@main.command()
@click.argument("places", metavar="PLACE...", nargs=-1, required=True)
@_as_json
@click.option(
    "--output-format", type=click.Choice(["text", "json", "sarif"]), help="How to print; text unless --json is given."
)
@click.option("--full", is_flag=True, help="Print every answer with its evidence (text, one place).")
@click.option(
    "--fail-on",
    type=click.Choice(["error", "warning", "note", "never"]),
    default="error",
    show_default=True,
    help="How bad a finding has to be for exit status 1.",
)
@click.option("--require", type=click.Choice(["tools"]), help="Fail where the verdict is prose or broken, too.")
@click.option("--baseline", "baseline_file", metavar="FILE", help="What --json printed before: only what is new fails.")
@click.option(
    "--select", multiple=True, metavar="CODES", help="Tell only these: TF012,tools-dropped,TF01,error. Repeatable."
)
@click.option("--ignore", multiple=True, metavar="CODES", help="Do not tell these. Repeatable.")
@click.option("--tools", "tools_file", metavar="FILE", help="A JSON list of tool definitions, to count their tokens.")
@click.option("--context", type=_Count(), metavar="N", help="The context size the tools must fit into.")
@click.option("--probe-seed", type=int, metavar="N", help="Ask the template in other words, drawn from this number.")
@click.option("--html", "html_file", metavar="FILE", help="Write web pages, too: FILE, and for several places FILE.d.")
@click.option(
    "--summary",
    "summary_file",
    metavar="FILE",
    help="Add a short Markdown for CI to FILE; - prints that instead.",
)
@click.option("--jobs", type=_Count(), metavar="N", help="Look at N places side by side; else as many as processors.")
@click.option(
    "--continue", "lines_file", metavar="FILE", help="Add the lines of --json to FILE, of places without one there."
)
@click.option("--fix", is_flag=True, help="Mend what can be mended in a copy, and print what changed (one place).")
@click.option("--output", metavar="DIR", help="Where --fix writes the copy: a directory that is new, or empty.")
@_trusted
def inspect(
    places: tuple[str, ...],
    as_json: bool,
    output_format: str | None,
    full: bool,
    fail_on: str,
    require: str | None,
    baseline_file: str | None,
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    tools_file: str | None,
    context: int | None,
    probe_seed: int | None,
    html_file: str | None,
    summary_file: str | None,
    jobs: int | None,
    lines_file: str | None,
    fix: bool,
    output: str | None,
    trusted: bool,
) -> int:
    """Tell what the model in a PLACE can do, which format it speaks, and what will go wrong.

    A place is a model directory or a file of it, a .gguf or .jinja file, or a repository id. Several places, or a
    folder of models, are told as a table, one line a model; with --json as a JSON object a line, as each is done.

    --continue FILE is for thousands of places: a run that was cut off goes on where it stopped.

    Exit status: 0 no error, 1 an error (see --fail-on and --require), 2 could not look.
    """
    if as_json and output_format not in (None, "json"):
        raise click.UsageError(f"give either --json or --output-format {output_format}")
    from toolfmt.batch import InspectionOutcome, Inspector, expanded
    from toolfmt.cli.failing import Failing, severity_of
    from toolfmt.cli.selection import Selection
    from toolfmt.inspect.facts import Options

    selection = Selection.of(select, ignore)
    options = Options(_tools(tools_file), context, probe_seed)
    form = "json" if as_json else output_format or "text"
    meant, several = expanded(places)
    printed = _printed_instead(form, {"--html": html_file, "--summary": summary_file})
    if full and form != "text":
        raise click.UsageError(f"--full is for text, and {form} tells everything; give one of the two")
    if lines_file is not None and (form != "json" or html_file is not None or summary_file is not None):
        raise click.UsageError("--continue writes the lines of --json; give it with --json and nothing else to write")
    if fix != (output is not None):
        raise click.UsageError("--fix and --output DIR go together")
    if fix:
        files = {"--html": html_file, "--summary": summary_file, "--baseline": baseline_file, "--continue": lines_file}
        _check_fix(several, form, {"--full": full, **files})
    if several and full:
        raise click.UsageError("--full shows one model; give one place")
    if several and html_file == "-":
        raise click.UsageError("--html - prints one page, and several places get one each; name a file")
    baseline = _baseline(baseline_file, meant)
    failing = Failing(severity_of(fail_on), require == "tools", baseline)
    inspector = Inspector(options, trusted=trusted)
    if output is not None:
        return _fix(meant[0], output, inspector, selection, failing, form)
    from toolfmt.cli.beside import Pages, SummaryFile

    beside: list[Beside] = [SummaryFile(summary_file)] if summary_file is not None else []
    if several or lines_file is not None:
        beside += [Pages(html_file)] if html_file is not None else []
        form = "" if printed else form
        return _inspect_several(meant, inspector, selection, failing, form, jobs, lines_file, beside)
    looked = _told(InspectionOutcome(meant[0], inspector.report(meant[0])), selection, baseline)
    report = looked.report
    assert report is not None
    if uncounted := _uncounted(options, looked):
        _complain(uncounted)
    if html_file is not None:
        _web_page(report, html_file)
    for file in beside:
        file.add(looked)
        file.finish()
    if printed:
        pass
    elif form == "json":
        print_json(report.to_dict())
    elif form == "sarif":
        from toolfmt.printing.sarif import sarif

        print_json(sarif([looked]))
    else:
        from toolfmt.printing.report import report_text

        asked = bool(select) or fail_on == "note"
        print_text(report_text(report, *_terminal(), full=full, notes=asked, whole=not _is_terminal()))
    return int(failing.fails(looked))


def _printed_instead(form: str, files: dict[str, str | None]) -> bool:
    """Whether one of the files is printed in place of the report; they cannot both be, nor beside another form."""
    printed = [name for name, file in files.items() if file == "-"]
    if printed and (form != "text" or len(printed) > 1):
        other = form if form != "text" else printed[1]
        raise click.UsageError(
            f"only one of {other} and {printed[0]} can be printed; give {printed[0]} the name of a file"
        )
    return bool(printed)


def _baseline(file: str | None, places: Sequence[str]) -> Baseline | None:
    """The earlier reports to compare with, told of the places that are not among them."""
    if file is None:
        return None
    from toolfmt.cli.baseline import read_baseline

    baseline = read_baseline(file, places)
    missing = [place for place in places if not baseline.holds(place)]
    if missing:
        others = f" and {len(missing) - 1:,} more are" if missing[1:] else " is"
        _complain(f"{missing[0]}{others} not in {shown(file)}: whatever is found there counts as new")
    return baseline


def _told(looked: InspectionOutcome, selection: Selection, baseline: Baseline | None) -> InspectionOutcome:
    """What became of a place, with what is new marked and what is not asked about left out."""
    return selection.applied(looked if baseline is None else baseline.compared(looked))


def _check_fix(several: bool, form: str, others: dict[str, object]) -> None:
    """--fix is for one place, and prints what changed as text or JSON; the `others` do not go with it."""
    if several:
        raise click.UsageError("--fix mends one model; give one place")
    if given := [name for name, value in {"sarif": form == "sarif", **others}.items() if value]:
        raise click.UsageError(f"--fix prints what it changed, as text or JSON; leave {given[0]} out")


def _fix(place: str, output: str, inspector: Inspector, selection: Selection, failing: Failing, form: str) -> int:
    """Write the mended copy and tell what changed; the exit status is that of the copy."""
    from toolfmt.batch import InspectionOutcome
    from toolfmt.fixing import fixed_copy

    mended = fixed_copy(place, output, inspector, selection.codes_for)
    mended = mended.telling(selection.apply(mended.report))
    if form == "json":
        print_json(mended.to_dict())
    else:
        from toolfmt.printing.mended import mended_text

        print_text(mended_text(mended, *_terminal()))
    return int(failing.fails(InspectionOutcome(output, mended.report)))


def _uncounted(options: Options, looked: InspectionOutcome) -> str:
    """What those who asked what their tools cost are told where nothing was counted; else empty."""
    asked = options.tools is not None or options.context is not None
    if not asked or looked.report is None or looked.report.sections.tokens is not None:
        return ""
    return f"{looked.place}: no tokens are counted: there is no tokenizer.json that can be read"


def _web_page(report: Report, file: str) -> None:
    from toolfmt.printing.page import report_page

    page = report_page(report)
    if file == "-":
        print_text(page)
    else:
        write_page(file, page)


def _inspect_several(
    places: list[str],
    inspector: Inspector,
    selection: Selection,
    failing: Failing,
    form: str,
    jobs: int | None,
    lines_file: str | None,
    beside: Sequence[Beside],
) -> int:
    """Inspect the places side by side; one that cannot be read does not stop the others."""
    from toolfmt.cli.several import Outcomes, go_on, tell_several
    from toolfmt.printing.models import models_text

    def look(at: Sequence[str]) -> Iterator[InspectionOutcome]:
        return (_told(one, selection, failing.baseline) for one in inspector.looked_at(at, jobs))

    outcomes = Outcomes(failing.fails, lambda one: _uncounted(inspector.options, one), _complain)
    if lines_file is not None:
        return go_on(lines_file, places, look, outcomes)
    width, colour = _terminal(_WIDEST_TABLE)
    bounded = _is_terminal() or bool(os.environ.get("COLUMNS"))

    def table(looked: Sequence[InspectionOutcome]) -> str:
        return models_text(looked, width if bounded else None, colour, cut=_is_terminal())

    return tell_several(places, look, outcomes, form, table, beside)


def _tools(file: str | None) -> list[dict[str, Any]] | None:
    """The tool definitions in a file, checked; None where none is given."""
    if file is None:
        return None
    from toolfmt.errors import BadTools
    from toolfmt.tools import canonical_tools

    tools = read_json(file)
    with naming(file, BadTools):
        return canonical_tools(tools)


@main.command()
@click.argument("a", metavar="A")
@click.argument("b", metavar="B")
@_as_json
@click.option(
    "--select", multiple=True, metavar="WORDS", help="Tell only these: capabilities,prompts,TF012. Repeatable."
)
@click.option("--ignore", multiple=True, metavar="WORDS", help="Do not tell these. Repeatable.")
@_trusted
def diff(a: str, b: str, as_json: bool, select: tuple[str, ...], ignore: tuple[str, ...], trusted: bool) -> int:
    """Tell how the model in B behaves otherwise than the one in A, whatever their templates look like.

    What only the other files make different (where the template stands, a declared parser, what runtimes have to be
    told) is told apart, as settings, and does not count.

    WORDS are parts (behaviour, settings, findings, prompts, capabilities, capabilities.system, variables, runtimes, …)
    and the codes and names of findings, with commas between them.

    Exit status: 0 the same behaviour, 1 another one, 2 could not look.
    """
    from toolfmt.batch import Inspector
    from toolfmt.cli.differences import DifferenceSelection
    from toolfmt.inspect.comparison import compare

    selection = DifferenceSelection.of(select, ignore)
    inspector = Inspector(trusted=trusted)
    comparison = selection.apply(compare(inspector.comparable(a), inspector.comparable(b)))
    if as_json:
        print_json(comparison.to_dict())
    else:
        from toolfmt.printing.diff import comparison_text

        print_text(comparison_text(comparison, *_terminal()))
    return int(comparison.differs)


@main.command()
@click.argument("directory", metavar="MODEL")
@click.option("--messages", "messages_file", metavar="FILE", help="A JSON list of chat messages.")
@click.option("--tools", "tools_file", metavar="FILE", help="A JSON list of tool definitions.")
@click.option(
    "--request", "request_file", metavar="FILE", help="A request as a server takes it, messages and tools in it."
)
@click.option("--strategy", type=click.Choice(["auto", "template", "prose"]), default="auto", show_default=True)
@click.option(
    "--var",
    "typed",
    multiple=True,
    metavar="NAME=JSON",
    help="A variable of the template: enable_thinking=true. Repeatable.",
)
@click.option("--continue-final-message", "continued", is_flag=True, help="Leave the answer that stands last open.")
@click.option("--lossy", is_flag=True, help="Render even what the template loses a part of, and tell which.")
@click.option(
    "--output",
    type=click.Choice(["prompt", "messages"]),
    default="prompt",
    show_default=True,
    help="The prompt, or what a chat endpoint has to be sent to render it.",
)
@_as_json
@_trusted
def render(
    directory: str,
    messages_file: str | None,
    tools_file: str | None,
    request_file: str | None,
    strategy: Any,
    typed: tuple[str, ...],
    continued: bool,
    lossy: bool,
    output: str,
    as_json: bool,
    trusted: bool,
) -> None:
    """Print the prompt for the messages, exactly, with no newline added.

    The tools go in through the template of the MODEL or as prose, never both. FILE may be - for standard input.

    --request takes what a client sends to a server: messages, tools, chat_template_kwargs, Anthropic's system, the
    instructions and input of OpenAI's Responses. --output messages prints such a request, whose messages are as the
    template needs them.
    """
    from toolfmt.cli.request import variables
    from toolfmt.errors import BadMessages, BadTools
    from toolfmt.model import load

    if as_json and output == "messages":
        raise click.UsageError("give either --json or --output messages")
    asked = _asked(messages_file, tools_file, request_file)
    options = {**asked.options, **variables(typed)}
    options |= dict.fromkeys([*["continue_final_message"] * continued, *["lossy"] * lossy], True)
    model = load(directory, trusted=trusted)
    with naming(asked.name, BadMessages), naming(tools_file or asked.name, BadTools):
        prompt = model.render(asked.messages, asked.tools, strategy, **options)
    for line in (line for variable, line in asked.not_passed_on if variable not in options):
        _complain(line)
    for lost in prompt.lost:
        _complain(f"{lost} is lost")
    if as_json:
        print_json(prompt.to_dict())
    elif output == "messages":
        print_json(prompt.request())
    else:
        print_text(prompt.text)


def _asked(messages_file: str | None, tools_file: str | None, request_file: str | None) -> RenderRequest:
    """What is to be rendered, from the files that are named."""
    from toolfmt.cli.request import RenderRequest, read_request
    from toolfmt.errors import BadMessages, BadTools

    if request_file is not None:
        if messages_file is not None or tools_file is not None:
            other = "--messages" if messages_file is not None else "--tools"
            raise click.UsageError(f"--request holds messages and tools; leave {other} out")
        return read_request(request_file)
    if messages_file is None:
        raise click.UsageError("give --messages FILE, or --request FILE")
    if messages_file == tools_file == "-":
        raise click.UsageError("only one of --messages and --tools can be standard input")
    messages = read_json(messages_file)
    if isinstance(messages, dict) and not messages.keys().isdisjoint(("messages", "input")):
        what = "this is a whole request, not a list of messages; give it as --request"
        raise BadMessages(f"{shown(messages_file)}: {what}")
    tools = read_json(tools_file) if tools_file is not None else None
    if tools_file is not None and tools is None:
        raise BadTools(f"{shown(tools_file)}: tools must be a list of tool definitions, not null")
    return RenderRequest(shown(messages_file), messages, tools)


@main.command()
@click.argument("file", metavar="[FILE]", required=False)
@click.option("--format", "format_name", metavar="NAME", help="The format to read; see toolfmt formats.")
@click.option("--model", "directory", metavar="MODEL", help="Read the format of this model.")
@click.option("--tools", "tools_file", metavar="FILE", help="A JSON list of tool definitions.")
@click.option(
    "--prefix", metavar="TEXT", help="The tail of the prompt. With --model: by default what its template begins."
)
@click.option("--chunk", type=_Count(), metavar="N", help="Feed the parser N characters at a time.")
@click.option("--strict", is_flag=True, help="Reject what is usually read generously.")
@click.option(
    "--output", type=click.Choice(["events", "message", "openai"]), help="By default events; with --jsonl messages."
)
@click.option("--jsonl", "jsonl_file", metavar="FILE", help="Recorded answers: a JSON object a line; - for input.")
@click.option("--text-key", callback=_key, metavar="KEY", help="Where a line of --jsonl has the answer; else text.")
@click.option(
    "--tools-key",
    callback=_key,
    metavar="KEY",
    help="Where a line of --jsonl has its own tool definitions: a list, or a string that is read as JSON.",
)
@click.option("--processes", type=_Count(), metavar="N", help="Read --jsonl in N processes.")
def parse(
    file: str | None,
    format_name: str | None,
    directory: str | None,
    tools_file: str | None,
    prefix: str | None,
    chunk: int | None,
    strict: bool,
    output: str | None,
    jsonl_file: str | None,
    text_key: str | None,
    tools_key: str | None,
    processes: int | None,
) -> int:
    """Parse what a model answered, from FILE or standard input.

    Input is read as it arrives, events are printed as they happen. The exit status is 0 for every answer: rejected
    calls are part of the output. Bytes that are no UTF-8 are read as U+FFFD; a line on standard error says so.

    --jsonl reads many recorded answers, a JSON object a line, and prints a message for each line that can be read, in
    their order. Any other line is named on standard error and skipped (of lines without the text's key the first 20 are
    named, the others counted); the exit status is then 2, and everything else is printed.
    """
    _check_one_way(
        file,
        jsonl_file,
        only_one={"--chunk": chunk, "--output " + (output or ""): output not in (None, "message")},
        only_many={"--text-key": text_key, "--tools-key": tools_key, "--processes": processes},
    )
    if (format_name is None) == (directory is None):
        raise click.UsageError("give either --format or --model")
    if tools_file == "-" == (jsonl_file or file or "-"):
        raise click.UsageError("the answer and --tools cannot both be standard input")
    from toolfmt.errors import BadTools

    tools = None
    if tools_file is not None:
        with naming(tools_file, BadTools):
            tools = counted(read_json(tools_file), shown(tools_file), _complain)
    if jsonl_file is not None:
        from toolfmt.cli.recorded import Recorded

        recorded = Recorded(jsonl_file, text_key or "text", tools_key, tools, _complain)
        return _parse_recorded(recorded, *_reading(format_name, directory, prefix), strict, processes or 1)
    parser = _parser(format_name, directory, tools, prefix, strict)
    name = format_name or Path(directory or "").resolve().name
    printers = {"events": EventLines, "message": OneMessage, "openai": OpenAIStream}
    printer = printers[output or "events"](parser, name)
    for text in recut(pieces(file or "-", _complain), chunk):
        printer.print(parser.feed(text))
    printer.print(parser.finish())
    printer.finish()
    return 0


def _check_one_way(
    file: str | None, jsonl_file: str | None, only_one: dict[str, Any], only_many: dict[str, Any]
) -> None:
    """One answer or many: each way has options of its own."""
    if jsonl_file is None:
        if given := [name for name, value in only_many.items() if value]:
            raise click.UsageError(f"{given[0]} goes with --jsonl")
    elif file is not None:
        raise click.UsageError("give either a FILE with one answer or --jsonl with many")
    elif given := [name for name, value in only_one.items() if value]:
        raise click.UsageError(f"{given[0]} is for one answer; --jsonl prints a message a line")


@main.command()
@click.argument("name", metavar="[NAME]", required=False)
@_as_json
def formats(name: str | None, as_json: bool) -> None:
    """List the formats, or show the page of one."""
    from toolfmt import formats as registry

    chosen = registry.formats() if name is None else (registry.get(name),)
    if as_json:
        from toolfmt.printing.format_record import described

        print_json([described(format) for format in chosen] if name is None else described(chosen[0]))
        return
    from toolfmt.printing.formats import format_text, formats_text

    print_text(formats_text(chosen, *_terminal()) if name is None else format_text(chosen[0], *_terminal()))


@main.command()
@click.argument("code", metavar="[CODE]", required=False)
def explain(code: str | None) -> None:
    """Print the page of a finding, by its code (TF012) or its name (tools-dropped); without one, list them all."""
    from toolfmt.printing.findings import findings_table, page_text

    if code is None:
        print_text(findings_table(*_terminal()))
        return
    from toolfmt.inspect.checks import explain as page

    print_text(page_text(page(code), *_terminal()))


def _parse_recorded(recorded: Recorded, format: ToolCallFormat, prefix: str, strict: bool, processes: int) -> int:
    """A message a line for every recorded answer; what is none is named, and makes the status 2."""
    from toolfmt.parsing import messages_of
    from toolfmt.printing.progress import Progress

    watched = sys.stderr is not None and sys.stderr.isatty() and not _is_terminal()
    with Progress("parsing", recorded.size(), watched) as progress:
        asked = recorded.answers(progress.update)
        for message in messages_of(asked, format, prefix=prefix, strict=strict, processes=processes):
            print_text(compact(message.to_dict()) + "\n")
    return 2 if recorded.skipped else 0


def _reading(format_name: str | None, directory: str | None, prefix: str | None) -> tuple[ToolCallFormat, str]:
    """The format of many answers, and what their prompts began."""
    from toolfmt.formats import get

    if directory is None:
        return get(format_name or ""), prefix or ""
    from toolfmt.model import load

    model = load(directory)
    return model.parser().format, model.profile.prefill if prefix is None else prefix


def _parser(format_name: str | None, directory: str | None, tools: Any, prefix: str | None, strict: bool) -> Parser:
    if directory is not None:
        from toolfmt.model import load

        return load(directory).parser(tools=tools, prefix=prefix, strict=strict)
    from toolfmt.formats import Parser

    return Parser(format_name or "", tools=tools, prefix=prefix or "", strict=strict)


# --- the terminal


def _terminal(widest: int = _WIDEST) -> tuple[int, bool]:
    """Width of what is printed as text, at most `widest` columns, and whether it may be coloured."""
    width = shutil.get_terminal_size((_PIPE_WIDTH, 24)).columns
    colour = _is_terminal() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return min(max(width, _NARROWEST), widest), colour


def _is_terminal() -> bool:
    return sys.stdout is not None and sys.stdout.isatty()


if __name__ == "__main__":
    main()
