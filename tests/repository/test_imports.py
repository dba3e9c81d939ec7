"""The direction of every import, dependency circles, and what importing a part of toolfmt pulls in.

Imports are read from the syntax trees: module-level imports, those inside functions and those for type checking.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "toolfmt"
MODULES = sorted(PACKAGE.rglob("*.py"))

# What each package may import. The command line may import everything; nothing may import the command line.
ALLOWED: dict[str, set[str]] = {
    "errors": set(),
    "_util": {"errors"},
    "messages": {"_util", "errors"},
    "formats": {"_util", "errors", "messages"},
    "grammars": {"_util", "errors", "formats", "messages"},
    "templates": {"_util", "errors", "messages"},
    "inspect": {"_util", "errors", "messages", "formats", "templates"},
    "render": {"_util", "errors", "messages", "formats", "templates", "inspect"},
    "training": {"errors", "messages", "formats", "templates", "inspect", "render"},
    "model": {"_util", "errors", "messages", "formats", "grammars", "templates", "inspect", "render", "training"},
    "agent": {"_util", "errors", "messages", "formats", "render", "model"},
    "integrations": {"errors", "messages", "formats", "grammars", "templates", "render", "model"},
    "testing": {"_util", "errors", "messages", "formats", "inspect"},
    "cli": {
        *("", "_util", "errors", "messages", "formats", "grammars", "templates", "inspect", "render", "model"),
        *("agent", "integrations", "testing", "training"),
    },
}
# The same inside a package: each layer may import those before it. A module of the package itself is listed separately.
LAYERS: dict[str, list[set[str]]] = {
    "formats": [
        {"scanner", "complete_calls", "runtime_parsers", "tolerances"},
        {"values"},
        {"engines"},
        {"markers"},
        {"format"},
        {"known", "plugins"},
        {"registry"},
        {"parser"},
        {"parse", "writing"},
        {"grammar", "prompting", "response_template", "serialization"},
    ],
    "templates": [{"analysis", "files"}, {"engine"}],
    "inspect": [
        {"report"},
        {"probe"},
        {"format"},
        {"facts"},
        {"stops", "token_names"},
        {"profiling"},
        {"derive_model"},
        {"runtimes", "sections"},
        {"checks"},
        {"inspection", "comparison", "shown_turns"},
        {"fix"},
    ],
    "render": [
        {"request"},
        {"verify"},
        {"adapt"},
        {"token_ids", "compiled_template"},
        {"budget", "attempts"},
        {"response_start"},
        {"backend"},
        {"prompt"},
    ],
    "model": [{"sandbox"}, {"jobs"}, {"model"}, {"conversation", "batch", "derive"}, {"fix"}],
}
# Parts of a package that do not import each other although they are in one layer.
APART = {
    "formats": ("grammar", "prompting", "response_template", "serialization"),
    "templates": ("analysis", "files"),
    "inspect": ("runtimes", "sections"),
}


@cache
def imported(module: Path) -> frozenset[str]:
    """The full names that a module imports."""
    return frozenset(_imported(module))


def _imported(module: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(module.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module.name}: a relative import, line {node.lineno}"
            assert node.module is not None
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            modules = [name for name in names if _file(name) is not None]
            yield from modules
            if len(modules) < len(names):
                yield node.module


@cache
def _file(name: str) -> Path | None:
    """The file of a module of toolfmt."""
    path = PACKAGE.parent.joinpath(*name.split("."))
    return next((file for file in (path.with_suffix(".py"), path / "__init__.py") if file.exists()), None)


def name_of(module: Path) -> str:
    return ".".join(module.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")


def is_below(name: str, parents: set[str]) -> bool:
    return any(name == parent or name.startswith(parent + ".") for parent in parents)


def part(name: str, depth: int) -> str:
    """The package or module at this depth: `part("toolfmt.inspect.probe.clock", 2)` is probe."""
    parts = name.split(".")
    return parts[depth] if len(parts) > depth else ""


def test_every_package_has_its_direction() -> None:
    packages = {part(name_of(module), 1) for module in MODULES} - {"", "__main__"}
    assert packages == ALLOWED.keys()


@pytest.mark.parametrize("package", ALLOWED)
def test_a_package_imports_only_what_it_may(package: str) -> None:
    wrong = {
        f"{name_of(module)} imports {name}"
        for module in MODULES
        if part(name_of(module), 1) == package
        for name in imported(module)
        if is_below(name, {"toolfmt"}) and part(name, 1) not in {package, *ALLOWED[package]}
    }
    assert wrong == set()


@pytest.mark.parametrize("package", LAYERS)
def test_inside_a_package_imports_go_down(package: str) -> None:
    level = {name: number for number, layer in enumerate(LAYERS[package]) for name in layer}
    apart = APART.get(package, ())
    wrong, seen = set(), set()
    for module in MODULES:
        own = name_of(module)
        if part(own, 1) != package or not part(own, 2):
            continue
        seen.add(part(own, 2))
        for name in imported(module):
            if part(name, 1) != package or not part(name, 2) or part(name, 2) == part(own, 2):
                continue
            up = level[part(name, 2)] > level[part(own, 2)]
            if up or (part(name, 2) in apart and part(own, 2) in apart):
                wrong.add(f"{own} imports {name}")
    assert wrong == set()
    assert seen == level.keys(), "name each new package and module in LAYERS"


def test_there_is_no_dependency_circle() -> None:
    graph = {name_of(module): {name for name in imported(module) if is_below(name, {"toolfmt"})} for module in MODULES}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(f"a dependency circle: {' <- '.join(error.args[1])}")


# --- other packages

# Where each library may be imported. What serves one job is imported by the module that does it.
LIBRARIES: Mapping[str, set[str]] = {
    "click": {"cli"},
    "rich": {"cli.printing"},
    "jinja2": {"templates", "inspect", "cli.printing"},
    "markupsafe": {"cli.printing"},
    "tokenizers": {"inspect.probe.tokenizer_file", "inspect.sections.tokens", "testing.peers"},
    "huggingface_hub": {"templates.files.hub"},
    "minijinja": {"inspect.sections.engines.minijinja_engine"},
    "wasmtime": {"inspect.sections.engines.llama_cpp_engine"},
    "gguf": {"templates.files.gguf_metadata"},
    "numpy": {"templates.files.gguf_metadata"},
    "llguidance": {"grammars.masks"},
    "pyarrow": {"cli.training.rows"},
    "openai": {"cli.measure.endpoints"},
    "hypothesis": {"testing.strategies"},
    "jsonschema": {"agent.validation", "agent.bounded_validation"},
    "referencing": {"agent.validation"},
    "pydantic": {"messages.python_tools", "agent"},
    "pydantic_core": {"agent"},
    "docstring_parser": {"messages.python_tools"},
    "langchain_core": {"integrations.langchain"},
    "llama_cpp": {"integrations.llama_cpp", "cli.measure.in_process"},
    "mlx": {"integrations.mlx", "cli.measure.in_process"},
    "mlx_lm": {"integrations.mlx", "integrations.mlx_server", "cli.measure.in_process", "testing.peers"},
    "sglang": {"integrations.sglang", "integrations.sglang_plugin", "testing.peers"},
    "smolagents": {"integrations.smolagents"},
    "torch": {"integrations.transformers"},
    "transformers": {
        *("integrations.transformers", "integrations.verified_templates", "cli.measure.in_process", "testing.peers"),
    },
    "vllm": {"integrations.vllm", "integrations.vllm_plugin", "testing.peers"},
    "xgrammar": {"integrations.sglang", "integrations.vllm", "testing.peers"},
}


def test_each_library_is_imported_where_its_job_is_done() -> None:
    wrong = {
        f"{name_of(module)} imports {name}"
        for module in MODULES
        for name in imported(module)
        if (library := name.partition(".")[0]) not in sys.stdlib_module_names and library != "toolfmt"
        if not is_below(name_of(module), {f"toolfmt.{place}" for place in LIBRARIES.get(library, ())})
    }
    assert wrong == set()


def test_no_module_is_named_like_a_standard_one() -> None:
    inside = [
        path for path in PACKAGE.rglob("*") if path.suffix == ".py" or (path.is_dir() and list(path.glob("*.py")))
    ]
    named = {str(path.relative_to(PACKAGE)) for path in inside if path.stem in sys.stdlib_module_names}
    # `inspect` has no `__init__.py`, so it never wins over the standard library's module.
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
        ("toolfmt.formats", ["toolfmt.templates", "jinja2", "tokenizers", "click", "rich", "toolfmt.model.model"]),
        ("toolfmt.model.model", ["tokenizers", "transformers", "gguf", "numpy", "huggingface_hub", "click", "rich"]),
        ("toolfmt.cli.printing.page", ["tokenizers", "click", "rich"]),
        (
            "toolfmt.cli.commands",
            ["toolfmt.formats", "toolfmt.model.model", "jinja2", "tokenizers", "rich", "gguf", "huggingface_hub"],
        ),
    ],
)
def test_importing_a_part_pulls_in_no_more_than_it_needs(name: str, unwanted: list[str]) -> None:
    assert run(f"import sys, {name}; print([name for name in {unwanted!r} if name in sys.modules])") == "[]"


NEEDED = [
    ("mlx", "mlx_lm", "mlx-lm", "'mlx-lm[cpu]'"),
    ("transformers", "transformers", "transformers", "transformers"),
    ("llama_cpp", "llama_cpp", "llama-cpp-python", "llama-cpp-python gguf"),
    ("smolagents", "smolagents", "smolagents", "smolagents"),
    ("langchain", "langchain_core", "langchain-core", "langchain-core"),
]


@pytest.mark.parametrize(("module", "package", "name", "install"), NEEDED)
def test_without_its_package_an_adapter_names_what_to_install(
    module: str, package: str, name: str, install: str
) -> None:
    printed = run(
        f"import sys; sys.modules[{package!r}] = None\ntry:\n import toolfmt.integrations.{module}\n"
        "except ModuleNotFoundError: raise\nexcept ImportError as error: print(error)"
    )
    assert printed.startswith(f"toolfmt.integrations.{module} needs {name}: pip install {install} (")


def test_without_mlx_lm_the_server_names_the_extra_in_one_line() -> None:
    code = (
        "import runpy, sys; sys.modules['mlx_lm'] = None; "
        "runpy.run_module('toolfmt.integrations.mlx_server', run_name='__main__')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=300)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.startswith("toolfmt.integrations.mlx_server needs mlx-lm: pip install 'mlx-lm[cpu]' (")


def test_the_standard_inspect_is_found_even_inside_the_package() -> None:
    assert run("import inspect; print(hasattr(inspect, 'signature'))", PACKAGE) == "True"


def test_every_public_name_is_there_once() -> None:
    import toolfmt

    assert sorted(set(toolfmt.__all__)) == sorted(toolfmt.__all__)
    assert [name for name in toolfmt.__all__ if not hasattr(toolfmt, name)] == []
