"""The commands: arguments in, printed report out. Decisions are made in other modules.

Exit status 0: done. 1: `inspect` found an error (or what --fail-on and --require select), `diff` a difference, `dev
fuzz` a bug. 2: invalid input, reported in one line on standard error. Commands import what they need when they run, so
that `toolfmt --help` is fast. Output is UTF-8, whatever the locale is. Text without a UTF-8 form (half a surrogate
pair) is written as an escape.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from toolfmt import __version__
from toolfmt.cli.dev_commands import dev
from toolfmt.cli.group import (
    Commands,
    Count,
    Seconds,
    Tolerances,
    config_option,
    isolated_option,
    json_option,
    runtime_option,
    temperature,
    trusted_option,
)
from toolfmt.cli.input import counted, name_models_below, naming, pieces, read_json, recut, shown
from toolfmt.cli.output import (
    EventLines,
    OneMessage,
    OpenAIStream,
    complain,
    print_json,
    print_text,
    terminal,
)
from toolfmt.cli.output_targets import targets

if TYPE_CHECKING:
    from toolfmt.cli.request import RequestInput
    from toolfmt.formats import Parser, ToolCallFormat
    from toolfmt.formats.tolerances import Tolerate


def _key(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    if value == "":
        raise click.BadParameter("a key is not empty; name the key, or leave the option out", ctx, param)
    return value


def _version(ctx: click.Context, param: click.Parameter, requested: bool) -> None:
    if requested and not ctx.resilient_parsing:
        print_text(f"{ctx.find_root().info_name} {__version__}\n")
        ctx.exit()


@click.group(
    cls=Commands,
    sections={
        "A model": ("inspect", "explain", "diff", "doctor", "measure"),
        "Prompts and outputs": ("render", "parse", "grammar", "training"),
        "Formats": ("formats",),
        "Development": ("report-bug", "dev"),
    },
    no_args_is_help=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_version, help="Show the version and exit."
)
def main() -> None:
    """Inspect a model, render prompts with tools, parse the output.

    Start with toolfmt inspect MODEL. A MODEL is a model directory or a file in it, a .gguf file, a .jinja file, or a
    Hugging Face repository id (org/name), which is read from the cache or downloaded.
    """


@main.command(short_help="Report what a model does with tools, and its problems.")
@click.argument("places", metavar="MODEL...", nargs=-1, required=True)
@click.option("--json", "as_json", is_flag=True, help="Same as --output-format json.")
@click.option(
    "--output-format",
    "outputs",
    metavar="FORMAT[=FILE]",
    multiple=True,
    callback=targets,
    help="Write text (the default), json, sarif, html, markdown, github or junit. Repeatable.",
)
@click.option("--full", is_flag=True, help="Print every result of one model with its evidence, as text.")
@click.option("--statistics", is_flag=True, help="Print how many models have each finding, as text or JSON.")
@click.option(
    "--fail-on",
    type=click.Choice(["error", "warning", "note", "never"]),
    help="Lowest severity of a finding that gives exit status 1. [default: error]",
)
@click.option(
    "--require",
    type=click.Choice(["tools"]),
    help="Also fail if the verdict is prompt-only or broken, or tools do not work in a --runtime.",
)
@runtime_option
@click.option("--baseline", "baseline_file", metavar="FILE", help="An earlier --json output: only new findings fail.")
@click.option(
    "--select",
    multiple=True,
    metavar="CODES",
    help="Show only these findings: codes (TF014), code prefixes (TF01), names or severities. Repeatable.",
)
@click.option("--ignore", multiple=True, metavar="CODES", help="Neither show nor count these. Repeatable.")
@config_option
@isolated_option
@click.option("--tools", "tools_file", metavar="FILE", help="A JSON list of tool definitions, to count their tokens.")
@click.option("--context", type=Count(), metavar="N", help="Context size in tokens; shows which tools to leave out.")
@click.option("--jobs", type=Count(), metavar="N", help="Inspect N models at once. [default: one per CPU, at most 8]")
@click.option(
    "--continue", "lines_file", metavar="FILE", help="Append --json lines to FILE; skip models already in it."
)
@click.option("--fix", is_flag=True, help="Write a fixed copy of one model to --output and print the diff.")
@click.option("--output", metavar="DIR", help="Directory for the copy of --fix; new or empty.")
@click.option(
    "--time-limit",
    type=Seconds(least=1),
    metavar="SECONDS",
    help="Give up on a model whose process uses no CPU time for this many seconds (on macOS and Windows: this many "
    "seconds after its start). [default: 600]",
)
@click.option("--for", "purpose", type=click.Choice(["training"]), help="Inspect loss masks for training instead.")
@click.option("--keep-reasoning", is_flag=True, help="With --for training --fix: keep the reasoning of earlier turns.")
@trusted_option
def inspect(**given: Any) -> int:
    """Report what MODEL does with tools, which tool-call format it uses, and its problems.

    MODEL is a model directory or a file in it, a .gguf or .jinja file, or a repository id. Several models, or a folder
    with models in it or below it, are shown as a table with one row per model. With --json, each model is printed as
    one JSON line when it is done.

    --output-format is repeatable. Without =FILE, an output goes to standard output; only one can go there. html needs a
    FILE. An existing FILE is overwritten only if it is empty or an earlier output in the same format (for html, any web
    page); Markdown is appended to FILE instead. For several models, html=FILE is an index, and the page of each model
    is in the directory FILE.d.

    --continue FILE is for thousands of models: an interrupted run continues where it stopped.

    --for training verifies loss masks and {% generation %} tags. --fix writes correct tags (docs/training.md).

    Options of toolfmt.toml, or of [tool.toolfmt] in pyproject.toml, apply if the command line does not set them
    (docs/in_ci.md).

    Exit status: 0 no errors, 1 at least one error (see --fail-on, --require), 2 no errors, but some models were not
    inspected. An output that cannot be written also gives 2.
    """
    from toolfmt.cli.inspect_command import Inspecting

    return Inspecting(**given).status()


@main.command(short_help="Compare the behavior of two models.")
@click.argument("a", metavar="A")
@click.argument("b", metavar="B")
@json_option
@click.option("--select", multiple=True, metavar="WORDS", help="Compare only these: prompts,TF014. Repeatable.")
@click.option("--ignore", multiple=True, metavar="WORDS", help="Do not compare these. Repeatable.")
@runtime_option
@config_option
@isolated_option
@trusted_option
def diff(**given: Any) -> int:
    """Compare the behavior of model A and model B, not the text of their templates.

    Some differences are listed as settings and do not affect the exit status: which file contains the template, the
    declared parser, and the flags for runtimes.

    WORDS is a comma-separated list: codes or names of findings, or parts of the comparison (behavior, settings,
    findings, prompts, capabilities, capabilities.system, variables, runtimes ...). Of a configuration, `runtimes` and
    `ignore` apply.

    Exit status: 0 the same behavior, 1 different behavior, 2 a model cannot be read.
    """
    from toolfmt.cli.diff_command import Comparing

    return Comparing(**given).status()


@main.command(short_help="Print the prompt for messages and tools.")
@click.argument("directory", metavar="MODEL")
@click.option("--messages", "messages_file", metavar="FILE", help="A JSON list of chat messages.")
@click.option("--tools", "tools_file", metavar="FILE", help="A JSON list of tool definitions.")
@click.option(
    "--request", "request_file", metavar="FILE", help="A JSON request as sent to a server, with messages and tools."
)
@click.option(
    "--strategy",
    type=click.Choice(["auto", "template", "prompt"]),
    default="auto",
    show_default=True,
    help="How the prompt shows the tools: the template renders them, the system prompt describes them, or (auto) the "
    "first way that works.",
)
@click.option(
    "--var",
    "typed",
    multiple=True,
    metavar="NAME=JSON",
    help="A variable of the template: enable_thinking=true. Repeatable.",
)
@click.option("--continue-final-message", "continued", is_flag=True, help="Let the model continue the last message.")
@click.option("--lossy", is_flag=True, help="Render even if something is lost, and list it on standard error.")
@click.option(
    "--output",
    type=click.Choice(["prompt", "messages"]),
    default="prompt",
    show_default=True,
    help="Print the prompt, or a chat request that the server's template renders to this prompt.",
)
@json_option
@trusted_option
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
    """Print the exact prompt for the messages, without an added newline.

    The tools are rendered by MODEL's template or described in the system prompt, never both. FILE may be - for standard
    input.

    --request reads what a client sends to a server: messages, tools, chat_template_kwargs, Anthropic's system, or
    instructions and input of OpenAI's Responses API. --output messages prints a request for a chat endpoint, with the
    messages in the form that the template needs.
    """
    from toolfmt.cli.request import variables
    from toolfmt.errors import BadMessages, BadTools
    from toolfmt.model.model import load

    if as_json and output == "messages":
        raise click.UsageError("give either --json or --output messages")
    request = _request_input(messages_file, tools_file, request_file)
    options = {**request.options, **variables(typed)}
    options |= dict.fromkeys([*["continue_final_message"] * continued, *["lossy"] * lossy], True)
    model = load(directory, trusted=trusted)
    name_models_below(directory, complain)
    with naming(request.name, BadMessages), naming(tools_file or request.name, BadTools):
        prompt = model.render(request.messages, request.tools, strategy, **options)
    for line in (line for variable, line in request.not_passed_on if variable not in options):
        complain(line)
    for lost in prompt.lost:
        complain(f"{lost} is lost")
    if as_json:
        print_json(prompt.to_dict())
    elif output == "messages":
        print_json(prompt.request(arguments_as_text=True))
    else:
        print_text(prompt.text)


def _request_input(messages_file: str | None, tools_file: str | None, request_file: str | None) -> RequestInput:
    """Return the request to render, read from the files that the options name."""
    from toolfmt.cli.request import RequestInput, read_request
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
    return RequestInput(shown(messages_file), messages, tools)


@main.command(short_help="Parse content, reasoning and calls from an output.")
@click.argument("file", metavar="[FILE]", required=False)
@click.option("--format", "format_name", metavar="NAME|FILE", help="The format, or auto; see toolfmt formats.")
@click.option("--model", "directory", metavar="MODEL", help="Use the format of this model.")
@click.option("--tools", "tools_file", metavar="FILE", help="A JSON list of tool definitions.")
@click.option(
    "--prefix",
    metavar="TEXT",
    help="The part of the response that the prompt already contains, such as <think>. [default with --model: from its "
    "template]",
)
@click.option("--chunk", type=Count(), metavar="N", help="Feed the parser N characters at a time.")
@click.option("--strict", is_flag=True, help="Reject calls with mistakes: same as --tolerate none.")
@click.option(
    "--tolerate",
    type=Tolerances(),
    default="all",
    metavar="NAMES",
    help="The mistakes that a call may have: all, none, or names of tolerances, separated by commas. [default: all]",
)
@click.option(
    "--output",
    type=click.Choice(["events", "message", "openai"]),
    help="What to print. [default: events; with --jsonl message]",
)
@click.option(
    "--jsonl", "jsonl_file", metavar="FILE", help="Recorded outputs, one JSON object per line; - for standard input."
)
@click.option(
    "--text-key", callback=_key, metavar="KEY", help="The key of the output in a line of --jsonl. [default: text]"
)
@click.option(
    "--tools-key",
    callback=_key,
    metavar="KEY",
    help="The key of a line's own tool definitions in --jsonl: a list, or a JSON string.",
)
@click.option("--processes", type=Count(), metavar="N", help="Parse --jsonl in N processes.")
def parse(
    file: str | None,
    format_name: str | None,
    directory: str | None,
    tools_file: str | None,
    prefix: str | None,
    chunk: int | None,
    strict: bool,
    tolerate: Tolerate,
    output: str | None,
    jsonl_file: str | None,
    text_key: str | None,
    tools_key: str | None,
    processes: int | None,
) -> int:
    """Parse a model's output, from FILE or standard input.

    Input is parsed as it arrives, and events are printed immediately. The exit status is 0 for every output, even with
    rejected calls. Bytes that are not UTF-8 become U+FFFD, with a warning on standard error.

    --jsonl reads recorded outputs, one JSON object per line, and prints one message for each valid line, in order.
    Invalid lines are skipped; the exit status is then 2. The first 20 of them are reported on standard error, the
    others only counted.
    """
    _check_one_way(
        file,
        jsonl_file,
        only_one={"--chunk": chunk, "--output " + (output or ""): output not in (None, "message")},
        only_many={"--text-key": text_key, "--tools-key": tools_key, "--processes": processes},
    )
    if (format_name is None) == (directory is None):
        raise click.UsageError("give either --format or --model")
    if strict and tolerate not in ("all", "none"):
        raise click.UsageError("give either --strict or --tolerate")
    tolerate = "none" if strict else tolerate
    if tools_file == "-" == (jsonl_file or file or "-"):
        raise click.UsageError("the output and --tools cannot both be standard input")
    from toolfmt.errors import BadTools

    tools = None
    if tools_file is not None:
        with naming(tools_file, BadTools):
            tools = counted(read_json(tools_file), shown(tools_file), complain)
    if jsonl_file is not None:
        from toolfmt.cli.recorded_outputs import Recorded, print_messages

        recorded = Recorded(jsonl_file, text_key or "text", tools_key, tools, complain)
        return print_messages(recorded, *_reading(format_name, directory, prefix), tolerate, processes or 1)
    from toolfmt.cli.detection import Hint

    parser = _parser(format_name, directory, tools, prefix, tolerate)
    name = parser.format.name if directory is None else Path(directory).resolve().name
    printers = {"events": EventLines, "message": OneMessage, "openai": OpenAIStream}
    printer = printers[output or "events"](parser, name)
    hint = Hint(parser.format.name, complain)
    for text in recut(pieces(file or "-", complain), chunk):
        events = parser.feed(text)
        hint.add(text, events)
        printer.print(events)
    events = parser.finish()
    hint.add("", events)
    printer.print(events)
    printer.finish()
    hint.finish()
    return 0


def _check_one_way(
    file: str | None, jsonl_file: str | None, only_one: dict[str, Any], only_many: dict[str, Any]
) -> None:
    """Raise if options for one output and for many outputs are combined."""
    if jsonl_file is None:
        if given := [name for name, value in only_many.items() if value]:
            raise click.UsageError(f"{given[0]} goes with --jsonl")
    elif file is not None:
        raise click.UsageError("give either a FILE with one output or --jsonl with many")
    elif given := [name for name, value in only_one.items() if value]:
        raise click.UsageError(f"{given[0]} is for one output; --jsonl prints one message per line")


@main.command(short_help="Measure how often and how well a model calls tools.")
@click.argument("place", metavar="[MODEL]", required=False)
@click.option("--endpoint", metavar="URL", help="URL of an OpenAI-compatible endpoint, with /v1.")
@click.option("--model", "model_name", metavar="NAME", help="The model's name at the endpoint.")
@click.option(
    "--completions",
    is_flag=True,
    help="Render prompts with MODEL's template, and use /completions.",
)
@click.option(
    "--format",
    "format_name",
    metavar="NAME|FILE",
    help="The format of the endpoint's model, if there is no MODEL.",
)
@click.option("--runtime", type=click.Choice(["mlx-lm", "transformers", "llama.cpp"]), help="The runtime for MODEL.")
@click.option("--runs", type=Count(), default=5, show_default=True, metavar="N", help="Ask every question N times.")
@click.option(
    "--prompt",
    "wordings",
    type=click.Choice(["direct", "neutral", "no-tool"]),
    multiple=True,
    help="Ask only questions with this wording. Repeatable.",
)
@click.option(
    "--strategy",
    "strategies",
    type=click.Choice(["template", "prompt"]),
    multiple=True,
    help="Pass tools only in this way. Repeatable.",
)
@click.option(
    "--tool-choice",
    "choices",
    type=click.Choice(["left-out", "auto", "required"]),
    multiple=True,
    help="Use only this tool_choice. Repeatable.",
)
@click.option(
    "--grammar",
    "grammars",
    type=click.Choice(["none", "auto", "required", "named"]),
    multiple=True,
    help="Use this grammar when MODEL runs here; the default is none. Repeatable.",
)
@click.option(
    "--scenario",
    "scenarios",
    metavar="NAME",
    multiple=True,
    help="Ask only the questions of this scenario, such as forecast; an unknown NAME lists all. Repeatable.",
)
@click.option(
    "--temperature",
    callback=temperature,
    default="0.7",
    show_default=True,
    metavar="T",
    help="A number, or the word unset to send none.",
)
@click.option("--seed", type=int, default=0, show_default=True, metavar="N", help="The seed of the first run.")
@click.option(
    "--max-tokens", type=Count(), default=512, show_default=True, metavar="N", help="Maximum tokens of a response."
)
@click.option("--var", "typed", multiple=True, metavar="NAME=JSON", help="A variable of the template. Repeatable.")
@click.option(
    "--parallel",
    type=Count(),
    default=1,
    show_default=True,
    metavar="K",
    help="Send K requests to an endpoint at once.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=300,
    show_default=True,
    metavar="SECONDS",
    help="Seconds to wait for the start of a response, and then for its end.",
)
@click.option("--api-key", envvar="OPENAI_API_KEY", show_envvar=True, metavar="KEY", help="The endpoint's key.")
@json_option
@trusted_option
def measure(**given: Any) -> int:
    """Measure how often a model calls tools, and whether the calls are correct.

    The model is served by an --endpoint, or runs here: a MODEL directory in mlx-lm or transformers, or a .gguf file in
    llama.cpp. A question names a tool (direct), describes a need (neutral), or needs no tool (no-tool). The tools are
    rendered by the template or described in the system prompt (--strategy). tool_choice is left-out, auto or required.
    Every combination is tested; --prompt, --strategy and --tool-choice select some. --grammar constrains the responses
    of a model that runs here: to text or calls (auto), to a call (required), or to a call of the right tool (named).
    With --endpoint, MODEL does not run; it provides the tool-call format and the text that describes the tools in the
    system prompt.

    If it is interrupted, it prints what was measured so far.

    Exit status: 0 measured, 1 some requests failed, 2 nothing was measured, 130 interrupted.
    """
    from toolfmt.cli.measure_command import Measuring

    return Measuring(**given).status()


@main.command(short_help="Check tool calling of a running server.")
@click.option(
    "--endpoint",
    required=True,
    metavar="URL",
    help="The server: its base URL, or the URL of .../chat/completions, .../messages (Anthropic) or .../api/chat "
    "(Ollama).",
)
@click.option("--model", "model_name", metavar="NAME", help="The model's name there. [default: the only one]")
@click.option(
    "--directory", metavar="MODEL", help="The directory of the model, for its format and the settings of the server."
)
@click.option(
    "--time-limit",
    type=Seconds(least=1),
    default=600,
    show_default=True,
    metavar="SECONDS",
    help="Stop after this time, and print what was found so far.",
)
@json_option
@trusted_option
def doctor(**given: Any) -> int:
    """Check the tool calls of a running server, and explain what is wrong with them.

    Sends a short series of requests, each whole and streamed: one call, parallel calls, no call, nested values, forced
    calls, results, reasoning, markers inside a value, and a response that max_tokens cuts. About 28 requests are sent,
    and never more than 60.

    A check is not decided if the model does something else, for example calls no tool.

    The key is read from the environment: OPENAI_API_KEY, or ANTHROPIC_API_KEY for Anthropic's protocol.

    Exit status: 0 no problems, 1 problems, 2 the server cannot be checked, or the model called no tool.
    """
    from toolfmt.cli.doctor.command import Examining

    return Examining(**given).status()


@main.command(short_help="List the formats, or show the page of one.")
@click.argument("name", metavar="[NAME|FILE]", required=False)
@click.option("--detect", "output_file", metavar="FILE", help="Show which formats find calls in this output.")
@json_option
def formats(name: str | None, output_file: str | None, as_json: bool) -> int:
    """List the formats, or show the page of one. A JSON FILE may define a format (docs/own_formats.md).

    --detect lists the formats that find calls in an output, the best match first. The exit status is 1 if no format
    finds a call.
    """
    from toolfmt import formats as registry

    if output_file is not None:
        if name is not None:
            raise click.UsageError("give either a format or --detect")
        from toolfmt.cli.detection import print_detected

        return print_detected(output_file, as_json)
    from toolfmt.formats.serialization.files import named_format

    chosen = registry.formats() if name is None else (named_format(name),)
    if as_json:
        from toolfmt.cli.printing.format_record import described

        print_json([described(format) for format in chosen] if name is None else described(chosen[0]))
        return 0
    from toolfmt.cli.printing.formats import format_text, formats_text

    print_text(formats_text(chosen, *terminal()) if name is None else format_text(chosen[0], *terminal()))
    return 0


@main.command(short_help="Print the page of a finding, or list them all.")
@click.argument("code", metavar="[CODE]", required=False)
def explain(code: str | None) -> None:
    """Print the page of a finding. Without an argument, list all findings.

    CODE is the code of a finding (TF014), its name (arguments-form), or an outcome that it reports (object-rejected).
    """
    from toolfmt.cli.printing.findings import findings_table, page_text

    if code is None:
        print_text(findings_table(*terminal()))
        return
    from toolfmt.inspect.checks import explain as page
    from toolfmt.inspect.checks import moved

    if where := moved(code):
        print_text(f"{where}\n\n")
    print_text(page_text(page(code), *terminal()))


@main.command(short_help="Print a grammar for constrained decoding.")
@click.argument("place", metavar="MODEL|FORMAT|FILE")
@click.option("--tools", "tools_file", required=True, metavar="FILE", help="A JSON list of tool definitions.")
@click.option(
    "--for",
    "syntax",
    type=click.Choice(["llguidance", "gbnf", "xgrammar", "lark", "structural-tag"]),
    help="The grammar syntax. [default: that of --request, or llguidance]",
)
@click.option(
    "--choice",
    default="auto",
    show_default=True,
    metavar="auto|required|NAME",
    help="Whether a tool must be called, or which one.",
)
@click.option("--single", is_flag=True, help="Allow one call only.")
@click.option(
    "--prefix", metavar="TEXT", help="The part of the response that the prompt already contains, such as <think>."
)
@click.option(
    "--request",
    "runtime",
    type=click.Choice(["vllm", "sglang", "llama.cpp"], case_sensitive=False),
    help="Print the fields of a request to this runtime, as JSON.",
)
@trusted_option
def grammar(**given: Any) -> None:
    """Print a grammar of the outputs that are valid with these tools, for constrained decoding.

    The argument is a MODEL whose format is used, the name of a FORMAT, or a .json FILE that defines a format. For a
    MODEL, the grammar contains the ids of markers that are single tokens.

    The grammar allows only valid calls: declared tools with arguments that satisfy their schemas. Two exceptions: the
    choice `auto` allows free text, in which the parser may find a call; and an object with arbitrary keys may repeat a
    key (the parser rejects the call if the values differ). If a schema cannot be expressed as a grammar, an error names
    the tool and the argument, and the exit status is 2.

    If the grammar rejects some valid calls, a line on standard error names its restrictions (docs/grammars.md).
    """
    from toolfmt.cli.grammar_command import Constraining

    Constraining(**given).print()


@main.command(short_help="Render a dataset for training, with loss masks.")
@click.argument("place", metavar="MODEL")
@click.option(
    "--dataset", required=True, metavar="FILE", help="Conversations, one JSON object per line; - for standard input."
)
@click.option("--tools", "tools_file", metavar="FILE", help="The tool definitions of lines without tools.")
@click.option(
    "--tokenizer", "tokenizer_place", metavar="DIR", help="The directory of a tokenizer.json. [default: MODEL]"
)
@click.option("--output", metavar="FILE", help="Write rows to a new FILE: .jsonl or .parquet; - for standard output.")
@click.option("--html", metavar="FILE", help="Write a web page that highlights the trained text.")
@click.option(
    "--train",
    type=click.Choice(["all", "last", "turns"]),
    default="all",
    show_default=True,
    help="Train all assistant messages, those after the last user message, or one sample per user message.",
)
@click.option("--no-reasoning", is_flag=True, help="Do not train reasoning.")
@click.option("--max-length", type=Count(), metavar="N", help="Cut rows after N tokens.")
@click.option("--jobs", type=Count(), metavar="N", help="Use N processes. [default: one per CPU, at most 8]")
@trusted_option
def training(**given: Any) -> int:
    """Render the conversations of a dataset, and find the tokens that the model writes.

    Each line has messages, and optionally tools and chat_template_kwargs, like a Chat Completions request. messages and
    tools may be JSON text. A message with "weight": 0 is not trained.

    A row has input_ids, assistant_masks and labels (-100 if not trained). Without a tokenizer.json, it has text and
    spans. Rows without a trained token are left out. Lines that fail are skipped (docs/training.md).

    Exit status: 0 all lines were rendered, 2 bad input or skipped lines.
    """
    from toolfmt.cli.training_command import RenderingDataset

    return RenderingDataset(**given).status()


@main.command("report-bug", short_help="Print a bug report to paste into an issue.")
@click.argument("place", metavar="[MODEL]", required=False)
@click.option(
    "--model-output", "answer_file", metavar="FILE", help="An output that is parsed wrong; - for standard input."
)
@click.option("--format", "format_name", metavar="NAME|FILE", help="Its format. [default: the format of MODEL]")
@click.option("--tools", "tools_file", metavar="FILE", help="Its tools: a JSON list of tool definitions.")
@trusted_option
def report_bug(**given: Any) -> int:
    """Print a bug report to paste into an issue. Nothing is sent anywhere.

    The report lists the versions of toolfmt, Python and the packages. With a MODEL, it shows the verdict, the format
    and the codes of the findings. With --model-output, it shows the output, with letters and digits replaced, and the
    events that the parser emits. It contains no names, no paths, and no text of the template. Read it before you paste
    it.

    Exit status: 0 the report was printed, even if part of it is missing, 2 bad input.
    """
    from toolfmt.cli.report_bug_command import Reporting

    return Reporting(**given).status()


def _reading(format_name: str | None, directory: str | None, prefix: str | None) -> tuple[ToolCallFormat, str]:
    """Return the format of the outputs, and the prefix that their prompts contain."""
    if directory is None:
        from toolfmt.cli.detection import parsed_format

        return parsed_format(format_name or ""), prefix or ""
    from toolfmt.model.model import load

    model = load(directory)
    name_models_below(directory, complain)
    return model.parser().format, model.profile.prefill if prefix is None else prefix


def _parser(
    format_name: str | None, directory: str | None, tools: Any, prefix: str | None, tolerate: Tolerate
) -> Parser:
    if directory is not None:
        from toolfmt.model.model import load

        model = load(directory)
        name_models_below(directory, complain)
        return model.parser(tools=tools, prefix=prefix, tolerate=tolerate)
    from toolfmt.cli.detection import parsed_format
    from toolfmt.formats import Parser

    return Parser(parsed_format(format_name or ""), tools=tools, prefix=prefix or "", tolerate=tolerate)


main.add_command(dev)

if __name__ == "__main__":
    main()
