"""The package templates: the content of a model directory, its errors, how a template renders and fails."""

from __future__ import annotations

import datetime
import hashlib
import json
import os
from pathlib import Path
from typing import Any

import jinja2
import pytest

from toolfmt.errors import BadMessages, BadModelDirectory, BadTools, TemplateError
from toolfmt.templates import FROZEN_NOW, LONGEST_SOURCE, ChatTemplate, ModelFiles, TemplateSource, load_files
from toolfmt.templates.analysis.tested_roles import tested_roles as roles_in
from toolfmt.templates.analysis.tested_texts import tested_texts as texts_in

USER = [{"role": "user", "content": "Hi"}]
MORE = "additional_chat_templates"
CONFIGS = ("config.json", "generation_config.json", "tokenizer_config.json", "special_tokens_map.json")


def directory(path: Path, files: dict[str, Any]) -> Path:
    for name, content in files.items():
        (path / name).parent.mkdir(exist_ok=True)
        text = content if isinstance(content, (str, bytes)) else json.dumps(content)
        (path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def load(path: Path, files: dict[str, Any]) -> ModelFiles:
    return load_files(directory(path, files))


def failure(make: Any, *arguments: Any, **named: Any) -> tuple[str, int | None]:
    """The message and the line of the error that loading or rendering raises."""
    with pytest.raises(BadModelDirectory if make in (load, load_files) else TemplateError) as caught:
        make(*arguments, **named)
    assert "\n" not in str(caught.value)
    return str(caught.value), getattr(caught.value, "line", None)


def render(source: str, **variables: Any) -> str:
    return ChatTemplate(source).render(USER, **variables)


# Finding


def test_every_place_is_found_best_first(tmp_path: Path) -> None:
    found = load(
        tmp_path,
        {
            "chat_template.json": {"chat_template": "processor"},
            "tokenizer_config.json": {"chat_template": [{"name": "default", "template": "listed"}]},
            "chat_template.jinja": "file",
            f"{MORE}/tool_use.jinja": "with tools",
            f"{MORE}/default.jinja": "additional",
            f"{MORE}/README.md": "not a template",
        },
    )
    assert found.templates == (
        TemplateSource("additional", f"{MORE}/default.jinja", "default"),
        TemplateSource("file", "chat_template.jinja", "default"),
        TemplateSource("with tools", f"{MORE}/tool_use.jinja", "tool_use"),
        TemplateSource("listed", "tokenizer_config.json", "default"),
        TemplateSource("processor", "chat_template.json", "default"),
    )
    assert found.templates[0].sha256 == hashlib.sha256(b"additional").hexdigest()
    assert found.problems == ()


@pytest.mark.parametrize(
    ("files", "without_tools", "with_tools"),
    [
        (
            {},
            None,
            f"neither chat_template.jinja, {MORE}/, tokenizer_config.json nor chat_template.json holds a chat template",
        ),
        ({"chat_template.jinja": ""}, "chat_template.jinja holds the only chat template", None),
        (
            {"tokenizer_config.json": {"chat_template": {"default": "a", "tool_use": "b"}}},
            "tokenizer_config.json holds the default one",
            "tokenizer_config.json contains tool_use, chosen over default because tools are given",
        ),
        (
            {"tokenizer_config.json": {"chat_template": {"tool_use": "b"}}},
            "tokenizer_config.json names tool_use but no default, so none is in force unless tools are given",
            "tokenizer_config.json contains tool_use, chosen because tools are given",
        ),
        (
            {"tokenizer_config.json": {"chat_template": {"rag": "a", "plain": "b"}}},
            "tokenizer_config.json names rag and plain but no default, so none is in force",
            None,
        ),
        (
            {
                "chat_template.jinja": "a",
                f"{MORE}/default.jinja": "b",
                "tokenizer_config.json": {"chat_template": "c"},
            },
            f"{MORE}/default.jinja overrides chat_template.jinja and comes before tokenizer_config.json",
            None,
        ),
        (
            {
                "chat_template.jinja": "a",
                "tokenizer_config.json": {"chat_template": "c"},
                "chat_template.json": {"chat_template": "d"},
            },
            "chat_template.jinja comes before tokenizer_config.json and chat_template.json",
            None,
        ),
        (
            {"chat_template.json": {"chat_template": "d"}},
            "chat_template.json holds the only chat template, though transformers reads it for processors only",
            None,
        ),
    ],
)
def test_the_reason_is_one_sentence(
    tmp_path: Path, files: dict[str, Any], without_tools: str | None, with_tools: str | None
) -> None:
    found = load(tmp_path, {"config.json": {}, **files})
    assert (found.reason(False), found.reason(True)) == (without_tools or with_tools, with_tools or without_tools)


def test_conflicts_are_one_name_with_two_texts_whatever_the_newlines(tmp_path: Path) -> None:
    found = load(
        tmp_path,
        {
            "chat_template.jinja": "a\r\nb\r\n",
            "tokenizer_config.json": {"chat_template": "a\nb"},
            "chat_template.json": {"chat_template": "a\nc"},
        },
    )
    file, config, processor = found.templates
    assert found.conflicts == ((file, processor), (config, processor))


def test_configuration_is_kept_and_the_model_types_are_read(tmp_path: Path) -> None:
    config = {"model_type": "gemma3", "text_config": {"model_type": "gemma3_text"}}
    found = load(tmp_path, {"config.json": config, "generation_config.json": {"eos_token_id": [1, 2]}})
    assert found == ModelFiles(tmp_path, "gemma3", config, {}, {"eos_token_id": [1, 2]}, (), {}, "gemma3_text", ())
    assert (found.template(False), found.template(True)) == (None, None)


def test_values_of_unexpected_types_are_recorded_and_count_as_absent(tmp_path: Path) -> None:
    found = load(
        tmp_path,
        {
            "config.json": {"model_type": ["qwen3"], "text_config": {"model_type": 3}},
            "tokenizer_config.json": {
                "chat_template": [{"name": "default", "template": ["x"]}, "x", {"name": None, "template": "x"}],
                "bos_token": 1,
                "add_bos_token": True,
            },
            "special_tokens_map.json": {"eos_token": {"id": 2}},
            "chat_template.json": {"chat_template": None},
        },
    )
    assert (found.templates, found.special_tokens, found.model_type, found.text_model_type) == ((), {}, None, None)
    assert found.problems == (
        "config.json: model_type is a list, not a string; it is ignored",
        "config.json: text_config: model_type is a number, not a string; it is ignored",
        "tokenizer_config.json: chat_template[2] is not a name with a template's text; it is ignored",
        "tokenizer_config.json: chat_template[1] is not a name with a template's text; it is ignored",
        "tokenizer_config.json: chat_template[0] is not a name with a template's text; it is ignored",
        "chat_template.json: chat_template is null, not a template's text; it is ignored",
        "tokenizer_config.json: bos_token is a number, not a token's text; it is ignored",
        "special_tokens_map.json: eos_token is an object, not a token's text; it is ignored",
    )


def test_special_tokens_are_what_a_tokenizer_gives_its_template(tmp_path: Path) -> None:
    tokens = {"bos_token": "<s>", "eos_token": {"content": "</s>"}, "pad_token": None, "image_token": "<image>"}
    tokens_map = {"bos_token": {"content": "<older>"}, "unk_token": "<unk>"}
    older = load(tmp_path, {"tokenizer_config.json": tokens, "special_tokens_map.json": tokens_map})
    newer = load(tmp_path, {"tokenizer_config.json": tokens | {"added_tokens_decoder": {}}})
    assert older.special_tokens == {
        "bos_token": "<older>",
        "eos_token": "</s>",
        "image_token": "<image>",
        "unk_token": "<unk>",
    }
    assert newer.special_tokens == {"bos_token": "<s>", "eos_token": "</s>", "image_token": "<image>"}


# A directory that cannot be read


GIVE = (
    "give a model directory (one that holds config.json, tokenizer_config.json or chat_template.jinja), a .gguf file, "
    "a .jinja file or a repository id (org/name)"
)


def test_a_place_that_is_none(tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    neither = "neither a directory nor a .gguf or .jinja file"
    assert failure(load_files, tmp_path / "absent")[0] == f"{tmp_path / 'absent'}: no such file or directory; {GIVE}"
    assert failure(load_files, __file__)[0] == f"{__file__}: {neither}; {GIVE}"
    assert failure(load_files, empty)[0] == f"{empty}: empty; {GIVE}"
    assert failure(load_files, tmp_path)[0] == f"{tmp_path}: holds no configuration and no chat template; {GIVE}"


@pytest.mark.parametrize("name", [*CONFIGS, "chat_template.json"])
@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (
            '{\n  "a": [,\n}',
            ", line 2, column 9: not JSON (Expecting value); fix the file or download it again",
        ),
        ("", ", line 1, column 1: not JSON (Expecting value); fix the file or download it again"),
        ("[1]", ": a list, where a JSON object is expected; fix the file"),
        ("null", ": null, where a JSON object is expected; fix the file"),
        (b'{"a": "\xff"}', ": not UTF-8 text (byte 0xff at offset 7); save it as UTF-8"),
    ],
    ids=["a comma too many", "empty", "a list", "null", "not UTF-8"],
)
def test_a_configuration_file_that_is_no_json_object(
    tmp_path: Path, name: str, content: str | bytes, complaint: str
) -> None:
    assert failure(load, tmp_path, {"config.json": {}, name: content})[0] == f"{tmp_path / name}{complaint}"


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ('{"a": ' + "[" * 100_000 + "}", "nested too deeply"),
        ('{"a": ' + "1" * 5_000 + "}", "an integer of more than 4300 digits"),
    ],
)
def test_json_that_python_will_not_read(tmp_path: Path, content: str, why: str) -> None:
    message, _ = failure(load, tmp_path, {"config.json": content})
    assert message == f"{tmp_path / 'config.json'}: JSON that cannot be read ({why}); fix the file"


@pytest.mark.parametrize("name", [*CONFIGS, "chat_template.json", "chat_template.jinja", f"{MORE}/default.jinja"])
def test_a_file_that_is_a_directory_a_dangling_link_or_unreadable(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = directory(tmp_path, {"config.json": {}, f"{MORE}/a.jinja": ""}) / name
    path.unlink(missing_ok=True)
    path.mkdir()
    assert failure(load_files, tmp_path)[0] == f"{path}: not a file; move it away or put the file there"
    path.rmdir()
    path.symlink_to("gone")
    check = "check that the file is there and readable"
    assert failure(load_files, tmp_path)[0] == f"{path}: cannot be read (No such file or directory); {check}"
    path.unlink()
    path.write_text("{}")
    opened = os.open

    def deny(file: Any, *args: Any, **kwargs: Any) -> Any:
        if file == path:
            raise PermissionError(13, "Permission denied")
        return opened(file, *args, **kwargs)

    monkeypatch.setattr(os, "open", deny)  # file modes do not stop root, under which tests may run
    assert failure(load_files, tmp_path)[0] == f"{path}: cannot be read (Permission denied); {check}"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_named_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "config.json")
    assert failure(load_files, tmp_path)[0].endswith("config.json: not a file; move it away or put the file there")


def test_a_template_file_that_is_not_utf_8(tmp_path: Path) -> None:
    message, _ = failure(load, tmp_path, {"chat_template.jinja": "größe".encode("latin-1")})
    assert message == f"{tmp_path / 'chat_template.jinja'}: not UTF-8 text (byte 0xf6 at offset 2); save it as UTF-8"


# Rendering


def test_what_a_template_sees() -> None:
    source = "{{ bos_token }}|{{ messages }}|{{ tools }}|{{ documents }}|{{ add_generation_prompt }}|{{ x }}"
    template = ChatTemplate(source, {"bos_token": "<s>"})
    assert template.render(USER) == "<s>|[{'role': 'user', 'content': 'Hi'}]|None|None|False|"
    assert template.render([], tools=[{"a": 1}], add_generation_prompt=True, documents=[], x="y", bos_token="b") == (
        "b|[]|[{'a': 1}]|[]|True|y"
    )


def test_reasoning_comes_under_the_names_that_templates_read() -> None:
    messages = [{"role": "assistant", "reasoning": "why"}]
    assert ChatTemplate("{{ messages[0] | tojson }}").render(messages) == (
        '{"thinking": "why", "role": "assistant", "reasoning": "why", "reasoning_content": "why"}'
    )


def test_tojson_neither_escapes_nor_sorts() -> None:
    value = {"b": "<é'\">", "a": [1, None]}
    assert render("{{ v | tojson }}", v=value) == '{"b": "<é\'\\">", "a": [1, null]}'
    assert render("{{ v | tojson(ensure_ascii=true, separators=(',', ':'), sort_keys=true) }}", v=value) == (
        '{"a":[1,null],"b":"<\\u00e9\'\\">"}'
    )
    assert render("{{ [1] | tojson(indent=1) }}") == "[\n 1\n]"


def test_blocks_take_their_whitespace_and_loops_can_be_left() -> None:
    source = "a\n  {% for i in range(9) %}\n  {% if i == 2 %}{% break %}{% endif %}\n{{ i }}\n  {% endfor %}\nb\n"
    assert render(source) == "a\n0\n1\nb"


def test_a_generation_block_renders_its_text_and_keeps_its_assignments() -> None:
    assert render("{% set x = 1 %}{% generation %}{{ x }}{% set x = 2 %}{{ x }}{% endgeneration %}{{ x }}") == "121"
    loop = ChatTemplate("{% for x in 'a' %}{% generation %}{% break %}{% endgeneration %}{% endfor %}")
    assert failure(loop.render, USER)[0] == "chat template: does not render: SyntaxError: 'break' outside loop"


def test_the_clock_is_a_parameter_and_is_frozen_without_one() -> None:
    template = ChatTemplate("{{ strftime_now('%d %b %Y %H:%M') }}")
    assert template.uses_clock
    assert template.render(USER) == template.render(USER, now=FROZEN_NOW) == "01 Jan 2025 12:00"
    assert template.render(USER, now=datetime.datetime(2026, 2, 3, 4, 5)) == "03 Feb 2026 04:05"
    assert not ChatTemplate("{# strftime_now() #}{{ 'strftime_now()' }}").uses_clock


def test_dict_builds_and_leads_nowhere() -> None:
    assert (
        render("{{ dict(a=1) }} {{ dict.fromkeys('a', 2) }} {{ dict.items is defined }}") == "{'a': 1} {'a': 2} False"
    )


def test_only_plain_values_reach_a_template() -> None:
    class Text(str):
        def secret(self) -> str:
            return "leaked"

    assert render("{{ x.secret is defined }} {{ x }} {{ y }}", x=Text("a"), y=object()) == "False a <object>"
    assert render("{{ x }}", x=TemplateSource("t", "o")) == "{'text': 't', 'origin': 'o', 'name': 'default'}"


def test_a_template_changes_neither_the_callers_messages_nor_the_next_render() -> None:
    messages = [{"role": "user", "content": ["a"]}]
    template = ChatTemplate("{{ messages[0].content }}{% set ns = namespace(n=1) %}{% set ns.n = 2 %}{{ ns.n }}")
    assert [template.render(messages) for _ in range(2)] == ["['a']2", "['a']2"]
    assert messages == [{"role": "user", "content": ["a"]}]
    message, _ = failure(ChatTemplate("{{ messages.append(1) }}").render, messages)
    assert "SecurityError" in message


def test_lines_are_found_in_any_newline_style() -> None:
    template = ChatTemplate("a\r\nb\rc\n  <tool_call>\n<tool_call>")
    assert [template.line_of(p) for p in ("a", "b", "<tool_call>", "^<tool_call>$", "absent")] == [1, 2, 4, 5, None]


def test_messages_and_tools_that_are_no_lists_of_objects() -> None:
    render = ChatTemplate("").render
    with pytest.raises(BadMessages, match=r"^messages must be a list of objects, not a string$"):
        render("Hi")  # type: ignore[arg-type]
    with pytest.raises(BadMessages, match=r"^messages\[1\] must be an object, not null$"):
        render([{}, None])  # type: ignore[list-item]
    with pytest.raises(BadTools, match=r"^tools must be a list of objects, not an object$"):
        render(USER, tools={})  # type: ignore[arg-type]
    with pytest.raises(BadTools, match=r"^tools\[0\] must be an object, not a string$"):
        render(USER, tools=["now"])  # type: ignore[list-item]


# Templates that fail


def test_a_syntax_error_is_raised_at_once_with_its_line() -> None:
    expected = "chat_template.jinja, line 2: syntax error: unexpected '}'"
    assert failure(ChatTemplate, "a\n{{ 'b' }{", origin="chat_template.jinja") == (expected, 2)


def test_a_source_over_the_limit_is_rejected_before_it_is_parsed() -> None:
    limit = "over the limit of 1 MB; chat templates have some thousand: check that this file is one"
    assert failure(ChatTemplate, "{" * 5_000_000) == (
        f"chat template: the source has 5,000,000 characters, {limit}",
        None,
    )
    assert ChatTemplate("a" * LONGEST_SOURCE).render([]) == "a" * LONGEST_SOURCE


@pytest.mark.parametrize(
    ("source", "message", "line"),
    [
        ("\n\n{{ raise_exception('No\nsystem role') }}", "the template raises: No system role", 3),
        ("\n{{ x.y.z }}", "does not render: UndefinedError: 'x' is undefined", 2),
        ("{% macro m() %}\n{{ 1 // 0 }}{% endmacro %}\n\n{{ m() }}", "does not render: ZeroDivisionError: integer", 2),
        ("\n{{ 10.0 ** 400 }}", "does not render: OverflowError: ", 2),
        ("\n{{ 1 + 'a' }}", "does not render: TypeError: unsupported operand", 2),
        ("\n{{ none | length }}", "does not render: TypeError: ", 2),
        ("\n{{ '%d' % 'a' }}", "does not render: TypeError: ", 2),
        ("\n{{ 'a' * 10 ** 15 }}", "a string or list repeated 1,000,000,000,000,000 times", 2),
        ("\n{{ 'a'.ljust(10 ** 15) }}", "memory ran out", 2),
        ("\n{{ range(10 ** 9) }}", "does not render: OverflowError: Range too big", 2),
        ("{% macro m() %}\n{{ m() }}{% endmacro %}{{ m() }}", "does not render: RecursionError: ", 2),
        ("\n{{ {1: 2} | tojson(indent='x', separators=3) }}", "does not render: TypeError: ", 2),
        ("\n{{ messages | sort }}{{ [1, 'a'] | sort }}", "does not render: TypeError: '<' not supported", 2),
        ("\n{{ strftime_now(3) }}", "does not render: TypeError: ", 2),
        ("\n{{ namespace(_x=1) }}", "does not render: SecurityError: a namespace takes no attribute", 2),
        (
            "\n{{ raise_exception((messages | length * 10) ** 5000) }}",
            "does not render: ValueError: Exceeds the limit",
            2,
        ),
        ("\n{{ ''.__class__.__mro__ }}", "does not render: SecurityError: access to attribute '__class__'", 2),
        ("\n{% include 'x' %}", "does not render: TypeError: no loader for this environment specified", 2),
        ("\n{{ 1 | absent }}", "does not render: No filter named 'absent'.", 2),
        ("\n{% break %}", "does not render: SyntaxError: 'break' outside loop", None),
        ("{% if a %}" * 150 + "{% endif %}" * 150, "does not render: IndentationError: too many levels", None),
        ("{{" + " + ".join(["a"] * 5_000) + "}}", "does not render: RecursionError: ", None),
    ],
)
def test_whatever_fails_in_a_render_is_one_line_with_the_templates_line(
    source: str, message: str, line: int | None
) -> None:
    where = "chat template" + (f", line {line}" if line else "")
    error, found = failure(ChatTemplate(source).render, USER)
    assert (error[: len(where) + 2 + len(message)], found) == (f"{where}: {message}", line)


@pytest.mark.parametrize("source", ["{{" + "(" * 50_000 + "}}", "{{" + "[" * 50_000 + "}}", "{{ " + "1" * 5_000 + "}}"])
def test_a_source_that_jinja2_chokes_on_is_one_line(source: str) -> None:
    assert failure(ChatTemplate, source)[0].startswith("chat template: syntax error: ")


def test_a_long_message_is_cut() -> None:
    message, _ = failure(ChatTemplate("{{ raise_exception('x' * 9999) }}").render, USER)
    assert message == "chat template, line 1: the template raises: " + "x" * 479 + "…"


def test_nothing_is_evaluated_before_the_first_render() -> None:
    # 9**(9**9) takes minutes if it is folded, which jinja2 does on compiling and in its own list of variables.
    template = ChatTemplate("{% if never %}{{ 9 ** (9 ** 9) }}{% endif %}\n{{ messages }}")
    assert (template.variables, template.uses_clock, template.line_of("messages")) == (("messages", "never"), False, 2)


# Variables


@pytest.mark.parametrize(
    ("source", "variables"),
    [
        ("{{ a }}{{ range(3) }}{{ namespace() }}{{ strftime_now('') }}{{ dict() }}", "a"),
        ("{% set a = b %}{{ a }}", "b"),
        ("{{ a }}{% set a = 1 %}", "a"),
        ("{% set a = a or 1 %}{{ a }}", "a"),
        ("{% if b %}{% set a = 1 %}{% endif %}{{ a }}", "a b"),
        ("{% if b %}{% set a = 1 %}{% else %}{% set a = 2 %}{% endif %}{{ a }}", "b"),
        ("{% if b %}{% set a = 1 %}{% elif c %}{% set a = 2 %}{% endif %}{{ a }}", "a b c"),
        ("{% if b %}{% set a = 1 %}{% else %}{{ raise_exception('') }}{% endif %}{{ a }}", "b"),
        ("{% for x in l %}{% if x %}{% continue %}{% else %}{% set a = 1 %}{% endif %}{{ a }}{% endfor %}", "l"),
        (
            "{% for x, y in l if x > z %}{{ loop.index }}{{ y }}{% set a = 1 %}{% else %}{{ x }}{% endfor %}{{ a }}",
            "a l x z",
        ),
        (
            "{% macro m(x, y=d) %}{{ x }}{{ y }}{{ later }}{{ free }}{{ caller() }}{% endmacro %}{% set later = 1 %}",
            "d free",
        ),
        ("{% call(x) m(y) %}{{ x }}{{ z }}{% endcall %}", "m y z"),
        ("{% generation %}{% set a = b %}{{ a }}{% endgeneration %}{{ a }}", "a b"),
        ("{% set ns.a = 1 %}{% set ns = namespace() %}{% set ns.b = ns.c %}", "ns"),
        ("{% set a | trim %}{{ b }}{% endset %}{{ a }}", "b"),
        ("{% with a = b %}{{ a }}{% endwith %}{{ a }}", "a b"),
        ("{% filter replace(a, b) %}{{ c }}{% endfilter %}", "a b c"),
        ("{{ a.b[c](d, e=f) | map(attribute=g) | join if h is defined else [i, {j: k}] }}", "a c d f g h i j k"),
        ("{% from a import b as c %}{% import d as e %}{{ c }}{{ e }}", "a d"),
        ("{% block x %}{{ a }}{% endblock %}{% autoescape b %}{{ c }}{% endautoescape %}", "a b c"),
    ],
)
def test_variables_are_the_names_read_before_the_template_assigns_them(source: str, variables: str) -> None:
    assert " ".join(ChatTemplate(source).variables) == variables


@pytest.mark.parametrize(
    ("source", "roles"),
    [
        ("{% if m.role == 'ipython' %}{% elif 'tool' != m['role'] %}{% endif %}", "ipython tool"),
        (
            "{% if m.role in ['tool', 'ipython'] or m.get('role') not in ('a', 'b') %}{% endif %}",
            "a b ipython tool",
        ),
        ("{% set role = m.role | lower %}{% if role == 'user' and m.role | trim == 'x' %}{% endif %}", "user x"),
        ("{{ {'user': 'human', 'reminder': 'note'}[m['role']] }}", "reminder user"),
        ("{{ messages | selectattr('role', 'equalto', 'tool') | rejectattr('name', 'in', ['f']) }}", "tool"),
        (
            "{{ m.role + '|user|' }}{% if m.content == 'tool' or m.get('name') == 'f' or m.role == other %}{% endif %}",
            "",
        ),
        ("{% if m.role == '' or m.role == '" + "x" * 41 + "' or m.role == 1 %}{% endif %}", ""),
    ],
)
def test_the_roles_that_a_template_tests_for(source: str, roles: str) -> None:
    assert " ".join(ChatTemplate(source).tested_roles) == roles


@pytest.mark.parametrize(
    "deep",
    [
        "{{ m.role" + " | trim" * 2_000 + " == 'x' }}{{ m.content | replace('y', '') }}",
        "{{ 'a'" + " | replace('y', '')" * 2_000 + " }}{% if m.role == 'x' %}{% endif %}",
        "{% if " + " and ".join(["m.role == 'x'"] * 2_000) + " or 'y' in m.content %}{% endif %}",
        "{{ m.role == 'x' }}{{ m" + ".split('y')" * 2_000 + " }}",
    ],
)
def test_what_a_template_tests_for_is_read_however_deep_it_nests(deep: str) -> None:
    """Such a template is not rendered; the report gives the reason."""
    tree = jinja2.Environment().parse(deep)
    assert (roles_in(tree), [tested.text for tested in texts_in(tree)]) == (("x",), ["y"])


def test_a_macro_is_no_variable_wherever_it_is_defined() -> None:  # GLM-5.1: in a branch, and it calls itself
    source = "{% if tools %}{% macro say(x) %}{{ say(x[1:]) if x }}{{ own }}{% endmacro %}{% endif %}{{ say('ab') }}"
    assert ChatTemplate(source).variables == ("own", "tools")


def test_what_is_read_of_a_template_is_the_same_once_it_has_rendered() -> None:
    # jinja2 makes one number of the sum in the tree that it compiles.
    new, rendered = (ChatTemplate("{{ messages[0].content[:40 + 2] }}") for _ in range(2))
    rendered.render([{"role": "user", "content": "Hello"}])
    assert new.cuts == rendered.cuts == {2: 1, 40: 1}
