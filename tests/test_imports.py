"""The direction of every import, told by the syntax trees; and what importing a part of toolfmt pulls in."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "toolfmt"
MODULES = sorted(PACKAGE.rglob("*.py"))

# What each room may import besides the standard library; a name stands for everything below it.
_EVENTS_AND_TOOLS = {"toolfmt.errors", "toolfmt.events", "toolfmt.tools"}
# What reads one kind of place where a model lives: extras, each imported by one module when such a place is given.
_EXTRAS = {"gguf", "numpy", "huggingface_hub"}
ALLOWED = {
    "toolfmt/formats": {*_EVENTS_AND_TOOLS, "toolfmt.formats", "toolfmt.listing"},
    # Exporters write grammars of formats' nodes; they need no package.
    "toolfmt/grammars": {"toolfmt.errors", "toolfmt.formats", "toolfmt.grammars", "toolfmt.tools"},
    # Masks are an engine's; the package is imported when a grammar is checked or put to work.
    "toolfmt/grammars/masks.py": {"llguidance", "toolfmt.errors", "toolfmt.grammars"},
    "toolfmt/templates": {
        "jinja2",
        *_EXTRAS,
        "toolfmt.errors",
        "toolfmt.tools",
        "toolfmt.listing",
        "toolfmt.shell",
        "toolfmt.templates",
    },
    "toolfmt/inspect": {
        "jinja2",
        *_EVENTS_AND_TOOLS,
        "toolfmt.listing",
        "toolfmt.shell",
        "toolfmt.formats",
        "toolfmt.templates",
        "toolfmt.inspect",
    },
    # A format is derived from what a template renders; the registry and the deciding modules are not asked.
    "toolfmt/inspect/derivation": {
        "toolfmt.errors",
        "toolfmt.events",
        "toolfmt.formats",
        "toolfmt.inspect.derivation",
        "toolfmt.inspect.inference.read_back",
        "toolfmt.inspect.probe",
        "toolfmt.inspect.wording",
        "toolfmt.listing",
        "toolfmt.templates",
    },
    "toolfmt/mending": {"toolfmt.errors", "toolfmt.formats", "toolfmt.templates", "toolfmt.inspect", "toolfmt.mending"},
    # Libraries of one chapter each, imported inside the functions that use them.
    "toolfmt/inspect/chapters/portability.py": {"minijinja", "toolfmt.templates", "toolfmt.inspect"},
    "toolfmt/inspect/probe/tokenizer_file.py": {
        "tokenizers",
        "toolfmt.errors",
        "toolfmt.inspect.probe.added_tokens",
        "toolfmt.templates.opening",
    },
    "toolfmt/shapes": {"toolfmt.events", "toolfmt.formats", "toolfmt.message", "toolfmt.shapes"},
    "toolfmt/calling": {
        *_EVENTS_AND_TOOLS,
        "pydantic",
        "pydantic_core",
        "toolfmt.calling",
        "toolfmt.conversation",
        "toolfmt.formats",
        "toolfmt.message",
        "toolfmt.model",
        "toolfmt.python_tools",
        "toolfmt.readable_calls",
        "toolfmt.render",
    },
    # The validator is an extra, imported inside the functions that use it.
    "toolfmt/calling/validation.py": {
        "jsonschema",
        "referencing",
        "toolfmt.calling.bounded_judging",
        "toolfmt.errors",
        "toolfmt.plain_json",
    },
    "toolfmt/calling/bounded_judging.py": {"jsonschema"},
    # Each adaptor may import all of toolfmt below the command line, and the package it serves.
    "toolfmt/runtimes/for_langchain.py": {
        "langchain_core",
        "toolfmt.events",
        "toolfmt.formats",
        "toolfmt.message",
        "toolfmt.tools",
    },
    # An adaptor may import all of toolfmt but what is printed, and the package that it serves.
    "toolfmt/runtimes/for_transformers.py": {
        "torch",
        "transformers",
        "toolfmt.events",
        "toolfmt.formats",
        "toolfmt.grammars.masks",
        "toolfmt.render",
        "toolfmt.runtimes.proven_templates",
        "toolfmt.runtimes.streaming",
        "toolfmt.shapes",
    },
    "toolfmt/runtimes/proven_templates.py": {"transformers", "toolfmt.errors", "toolfmt.formats"},
    # What runs within limits is handed to it.
    "toolfmt/sandbox": {"toolfmt.errors", "toolfmt.sandbox", "toolfmt.typed_json"},
    "toolfmt/measuring": {
        "toolfmt.calling.asked",
        "toolfmt.calling.validation",
        "toolfmt.errors",
        "toolfmt.formats",
        "toolfmt.inspect.template_profile",
        "toolfmt.measuring",
        "toolfmt.message",
        "toolfmt.model",
        "toolfmt.render.prompt",
    },
    "toolfmt/measuring/endpoints.py": {
        "openai",
        "toolfmt.errors",
        "toolfmt.formats",
        "toolfmt.measuring",
        "toolfmt.message",
        "toolfmt.model",
    },
    "toolfmt/measuring/in_process.py": {
        "mlx",
        "mlx_lm",
        "transformers",
        "toolfmt.errors",
        "toolfmt.events",
        "toolfmt.measuring",
        "toolfmt.message",
        "toolfmt.model",
        "toolfmt.render.prompt",
        "toolfmt.runtimes",
    },
    # The fuzz kit; its extra is imported by the module of strategies alone.
    "toolfmt/testing": {
        *_EVENTS_AND_TOOLS,
        "toolfmt.formats",
        "toolfmt.message",
        "toolfmt.parsing",
        "toolfmt.sandbox.cpu_time",
        "toolfmt.shell",
        "toolfmt.testing",
    },
    "toolfmt/testing/strategies.py": {"hypothesis", "toolfmt.errors", "toolfmt.formats", "toolfmt.testing"},
    # What is there to be tested is imported when a reader of it is made.
    "toolfmt/testing/peers": {
        "mlx_lm",
        "sglang",
        "tokenizers",
        "transformers",
        "vllm",
        "toolfmt.errors",
        "toolfmt.formats",
        "toolfmt.inspect.support.parser_choice",
        "toolfmt.testing.peers",
    },
    # A bug report needs no package of its own; what is told of an exception, nothing but the masks.
    "toolfmt/bug_report": {
        *_EVENTS_AND_TOOLS,
        "toolfmt.__version__",
        "toolfmt.bug_report",
        "toolfmt.formats",
        "toolfmt.inspect.report",
        "toolfmt.model",
        "toolfmt.templates.model_files",
    },
    "toolfmt/bug_report/faults.py": {"toolfmt.bug_report.masking", "toolfmt.errors"},
    # What is written into a clone: a format as its template shows it, with its cases.
    "toolfmt/scaffolding": {
        "toolfmt.errors",
        "toolfmt.formats",
        "toolfmt.inspect",
        "toolfmt.jobs",
        "toolfmt.parsing",
        "toolfmt.scaffolding",
        "toolfmt.templates",
        "toolfmt.testing.corpus",
    },
    "toolfmt/typed_json.py": set[str](),
    "toolfmt/listing.py": set[str](),
    "toolfmt/shell.py": set[str](),
    "toolfmt/errors.py": set[str](),
    "toolfmt/events.py": set[str](),
    # The extra is imported inside the functions that use it, and the module when a tool is made of Python.
    "toolfmt/python_tools.py": {"toolfmt.errors", "toolfmt.tools", "pydantic", "docstring_parser"},
    "toolfmt/tools.py": {"toolfmt.errors", "toolfmt.plain_json", "toolfmt.python_tools"},
    "toolfmt/plain_json.py": set[str](),
    "toolfmt/message.py": {"toolfmt.events"},
    "toolfmt/readable_calls.py": {"toolfmt.errors", "toolfmt.events", "toolfmt.plain_json"},
}


@cache
def imported(module: Path) -> frozenset[str]:
    """The full names that a module imports, those for type checking included."""
    return frozenset(_imported(module))


def _imported(module: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(module.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module.name}: a relative import, line {node.lineno}"
            assert node.module is not None
            # What is imported from a package may be a module of it.
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            modules = [name for name in names if PACKAGE.parent.joinpath(*name.split(".")).with_suffix(".py").exists()]
            yield from (names if node.module == "toolfmt" else [node.module, *modules])


def is_below(name: str, parents: set[str]) -> bool:
    return any(name == parent or name.startswith(parent + ".") for parent in parents)


def _room(where: str) -> str | None:
    """The innermost place whose imports are told; a name stands for everything below it."""
    return max((room for room in ALLOWED if f"{where}/".startswith(f"{room}/")), key=len, default=None)


@pytest.mark.whole
@pytest.mark.parametrize("module", MODULES, ids=lambda module: str(module.relative_to(PACKAGE)))
def test_a_module_imports_only_what_its_room_may(module: Path) -> None:
    where = str(module.relative_to(PACKAGE.parent))
    if room := _room(where):
        outside = {name for name in imported(module) if name.partition(".")[0] not in sys.stdlib_module_names}
        assert set() == {name for name in outside if not is_below(name, ALLOWED[room])}


# What each adaptor serves; besides it, all of toolfmt but what is printed.
SERVED = {
    "for_langchain": {"langchain_core"},
    "for_llama_cpp": {"llama_cpp"},
    "for_mlx": {"mlx", "mlx_lm"},
    "for_sglang": {"sglang"},
    "for_smolagents": {"smolagents"},
    "for_transformers": {"torch", "transformers"},
    "for_vllm": {"vllm"},
    "proven_templates": {"transformers"},
}


@pytest.mark.parametrize(
    "module", [module for module in MODULES if module.parent.name == "runtimes"], ids=lambda module: module.stem
)
def test_an_adaptor_imports_what_it_serves_and_nothing_printed(module: Path) -> None:
    outside = {name for name in imported(module) if name.partition(".")[0] not in sys.stdlib_module_names}
    served = next((packages for begin, packages in SERVED.items() if module.stem.startswith(begin)), set())
    assert set() == {name for name in outside if not is_below(name, {"toolfmt", *served})}
    assert set() == {name for name in outside if is_below(name, {"toolfmt.printing", "toolfmt.cli"})}


def test_a_library_for_one_thing_is_imported_where_that_is_done() -> None:
    named = ["commands.py", "completion.py", "fuzzing.py", "group.py", "inspecting.py", "measuring.py", "reporting.py"]
    assert users("click") == named
    assert users("tokenizers") == ["tokenizer_file.py", "tokens.py"]
    homes = {"huggingface_hub": "hub.py"}
    homes |= {"minijinja": "portability.py", "openai": "endpoints.py", "hypothesis": "strategies.py"}
    homes |= dict.fromkeys(("gguf", "numpy"), "gguf_metadata.py")
    assert {library: [home] for library, home in homes.items()} == {library: users(library) for library in homes}


def test_only_the_printers_import_rich() -> None:
    importing = [module for module in MODULES if any(is_below(name, {"rich"}) for name in imported(module))]
    assert {module.parent.name for module in importing} == {"printing"}


# Rooms within the inspection that a room does not know.
WALLS = {
    "probe": {"inference", "derivation", "support", "chapters", "turns", "branches", "checks"},
    "derivation": {"support", "chapters", "turns", "branches", "checks"},
    "support": {"probe", "inference", "derivation", "chapters", "turns", "checks"},
    "inference": {"chapters", "turns", "checks"},
    "turns": {"inference", "derivation", "support", "chapters", "checks"},
    "chapters": {"derivation", "support", "branches", "checks"},
    "branches": {"inference", "derivation", "support", "chapters", "turns", "checks"},
}
# A chapter that was cut in two: who reads whom.
CHAPTERS_IN_TWO = {
    ("stability", "stability_script"),
    ("variables", "tool_variables"),
    ("variables", "variable_effects"),
    ("definitions", "escaping"),
    ("safety", "instructions"),
}


@pytest.mark.parametrize("room", WALLS)
def test_a_room_of_the_inspection_does_not_know_the_others(room: str) -> None:
    modules = [module for module in MODULES if module.parent == PACKAGE / "inspect" / room]
    assert len(modules) > 2
    forbidden = {f"toolfmt.inspect.{other}" for other in WALLS[room]}
    known = {(module.stem, name) for module in modules for name in imported(module) if is_below(name, forbidden)}
    assert known == set()


def test_chapters_do_not_know_each_other() -> None:
    above = "toolfmt.inspect.chapters."
    known = {
        (module.stem, name.removeprefix(above))
        for module in MODULES
        if module.parent.name == "chapters"
        for name in imported(module)
        if name.startswith(above)
    }
    assert known == CHAPTERS_IN_TWO


def test_what_renders_knows_the_profile_but_no_report_and_nothing_printed() -> None:
    inside = ("chapters", "checks", "support", "turns", "inference", "inspection", "profiling", "report", "facts")
    rooms = {f"toolfmt.inspect.{room}" for room in inside}
    modules = [module for module in MODULES if module.parent.name == "render"]
    known = {
        (module.stem, name)
        for module in modules
        for name in imported(module)
        if is_below(name, {*rooms, "toolfmt.printing", "toolfmt.cli", "toolfmt.sandbox"})
    }
    assert modules
    assert known == set()


def users(library: str) -> list[str]:
    """The modules that import a library."""
    return [module.name for module in MODULES if any(is_below(name, {library}) for name in imported(module))]


@pytest.mark.parametrize(
    ("room", "who"),
    [
        ("cli", {"cli", "__main__.py"}),
        ("bug_report", {"cli", "bug_report"}),
        ("printing", {"cli", "printing"}),
        ("scaffolding", {"cli", "scaffolding"}),
        ("testing", {"cli", "scaffolding", "testing"}),
    ],
)
def test_nothing_below_imports_what_is_printed_or_tests(room: str, who: set[str]) -> None:
    importing = {
        module.relative_to(PACKAGE).parts[0]
        for module in MODULES
        if any(is_below(name, {f"toolfmt.{room}"}) for name in imported(module))
    }
    assert importing <= who


def test_no_module_is_named_like_a_standard_one() -> None:
    inside = [
        path for path in PACKAGE.rglob("*") if path.suffix == ".py" or (path.is_dir() and list(path.glob("*.py")))
    ]
    named = {str(path.relative_to(PACKAGE)) for path in inside if path.stem in sys.stdlib_module_names}
    # The owner's name for the room; without an `__init__.py` it never wins over the standard library's module.
    assert {"inspect"} == named
    assert not (PACKAGE / "inspect" / "__init__.py").exists()


def run(code: str, directory: Path = PACKAGE.parent) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=directory, check=False, timeout=300
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.strip()


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("name", "unwanted"),
    [
        ("toolfmt", ["toolfmt.formats", "toolfmt.templates", "jinja2", "tokenizers", "click", "rich"]),
        ("toolfmt.formats", ["toolfmt.templates", "jinja2", "tokenizers", "click", "rich", "toolfmt.model"]),
        ("toolfmt.model", ["tokenizers", "transformers", "gguf", "numpy", "huggingface_hub", "click", "rich"]),
        ("toolfmt.printing.page", ["tokenizers", "click", "rich"]),
        (
            "toolfmt.cli.commands",
            ["toolfmt.formats", "toolfmt.model", "jinja2", "tokenizers", "rich", "gguf", "huggingface_hub"],
        ),
    ],
)
def test_importing_a_part_pulls_in_no_more_than_it_needs(name: str, unwanted: list[str]) -> None:
    assert run(f"import sys, {name}; print([name for name in {unwanted!r} if name in sys.modules])") == "[]"


NEEDED = [
    ("for_mlx", "mlx_lm", "mlx-lm", "'mlx-lm[cpu]'"),
    ("for_transformers", "transformers", "transformers", "transformers"),
    ("for_llama_cpp", "llama_cpp", "llama-cpp-python", "llama-cpp-python gguf"),
    ("for_smolagents", "smolagents", "smolagents", "smolagents"),
    ("for_langchain", "langchain_core", "langchain-core", "langchain-core"),
]


@pytest.mark.parametrize(("module", "package", "name", "install"), NEEDED)
def test_without_its_package_an_adapter_names_what_to_install(
    module: str, package: str, name: str, install: str
) -> None:
    told = run(
        f"import sys; sys.modules[{package!r}] = None\ntry:\n import toolfmt.runtimes.{module}\n"
        "except ModuleNotFoundError: raise\nexcept ImportError as error: print(error)"
    )
    assert told.startswith(f"toolfmt.runtimes.{module} needs {name}: pip install {install} (")


def test_without_mlx_lm_the_server_names_the_extra_in_one_line() -> None:
    code = (
        "import runpy, sys; sys.modules['mlx_lm'] = None; "
        "runpy.run_module('toolfmt.runtimes.for_mlx', run_name='__main__')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=300)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.startswith("toolfmt.runtimes.for_mlx needs mlx-lm: pip install 'mlx-lm[cpu]' (")


def test_the_standard_inspect_is_found_even_inside_the_package() -> None:
    assert run("import inspect; print(hasattr(inspect, 'signature'))", PACKAGE) == "True"


def test_every_public_name_is_there_once() -> None:
    import toolfmt

    assert sorted(set(toolfmt.__all__)) == sorted(toolfmt.__all__)
    assert [name for name in toolfmt.__all__ if not hasattr(toolfmt, name)] == []
