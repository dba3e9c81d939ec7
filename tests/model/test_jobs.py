"""Prompts of templates that are not trusted: made in the process with limits, the same as those made here."""

from __future__ import annotations

import copy
import pickle
import resource
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any

import depth
import pytest
from model_cases import MODELS, directories, made
from small_tokenizers import by_bytes

import toolfmt
from benchmarks.attacks import HONEST, files
from toolfmt._util.typed_json import packed
from toolfmt.errors import BadTools, LimitHit, NotDelivered, NotHeld, ToolfmtError
from toolfmt.model import jobs
from toolfmt.model.jobs import MAKE, ROLES, WorkerBackend, new_worker
from toolfmt.model.model import Model
from toolfmt.model.sandbox import pool
from toolfmt.model.sandbox.pool import Limits, Worker
from toolfmt.render.backend import RenderResult
from toolfmt.render.request.messages import checked_messages
from toolfmt.render.request.opaque_objects import given_back, handed_over, numbered
from toolfmt.templates import load_files

linux = pytest.mark.skipif(sys.platform != "linux", reason="the limits on memory and CPU time are those of Linux")
NOW = datetime(2026, 1, 2)
USER = {"role": "user", "content": "Will it rain in Oslo?"}
CALL = {"id": "call00001", "type": "function", "function": {"name": "get_weather", "arguments": {"city": "Oslo"}}}
TALK: list[Any] = [
    {"role": "system", "content": "Be brief."},
    USER,
    {"role": "assistant", "content": "", "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "call00001", "content": "rain <|im_end|>"},
]
TOOL: dict[str, Any] = {
    "name": "get_weather",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
}
OTHER: dict[str, Any] = {"name": "other", "description": "x"}


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    made = new_worker(Limits(processor_seconds=1, memory=300 << 20))
    yield made
    made.close()


def both(directory: Path, worker: Worker | None = None) -> tuple[Model, Model]:
    """The model in a directory, with its template run in both processes."""
    found = load_files(directory)
    here = Model(found, trusted=True)
    return here, Model(found, worker=worker, profile=here.profile)


def rendered(model: Model, *given: Any, **options: Any) -> Any:
    """The prompt, or the error if there is none."""
    try:
        return model.render(*given, now=NOW, **options)
    except ToolfmtError as error:
        return type(error), str(error)


@pytest.mark.sample(0)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"strategy": "prompt"},
        {"strategy": "template"},
        {"lossy": True},
        {"neutralize": True},
        {"neutralize": True, "markers": ["rain"]},
        {"narrow": lambda tools, messages: [tools[0]]},
        {"narrow": lambda tools, messages: []},
        {"sort_tools": True, "sort_properties": True},
        {"add_generation_prompt": False},
        {"nobody_reads_this": 1},
    ],
)
def test_a_prompt_made_there_is_the_prompt_made_here(options: dict[str, Any], worker: Worker) -> None:
    compared = 0
    for directory in directories()[:: 1 if depth.every else 3]:
        here, there = both(directory, worker)
        for talk, tools in (([USER], None), (TALK, [OTHER, TOOL])):
            expected = rendered(here, talk, tools, **options)
            assert expected == rendered(there, talk, tools, **options)
            compared += isinstance(expected, toolfmt.Prompt)
            if isinstance(expected, toolfmt.Prompt):
                again = there.render(talk, tools, now=NOW, **options)
                assert again.request() == expected.request()
                assert again.spans == expected.spans
    assert compared >= (20 if depth.every else 6) or "nobody_reads_this" in options


def test_a_response_that_is_continued_and_a_prompt_that_is_rendered_again(worker: Worker) -> None:
    here, there = both(MODELS / "json-frames", worker)
    partial = [USER, {"role": "assistant", "content": "It"}]
    more: dict[str, Any]
    for more in ({"continue_final_message": True}, {"neutralize": True}):
        assert here.render(partial, None, "auto", now=NOW, **more) == there.render(
            partial, None, "auto", now=NOW, **more
        )
    prompt = there.render(partial, now=NOW)
    assert prompt.render_again(continue_final_message=True) == here.render(
        partial, now=NOW, continue_final_message=True
    )
    assert pickle.loads(pickle.dumps(prompt)) == prompt


def test_a_model_that_has_rendered_can_be_pickled() -> None:
    model = toolfmt.load(MODELS / "json-frames")
    expected = model.render([USER], [TOOL], now=NOW, neutralize=True)
    model.inspect()
    model.parser()
    for again in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert again.render([USER], [TOOL], now=NOW, neutralize=True) == expected


def test_a_conversation_goes_on_there_as_it_does_here(worker: Worker) -> None:
    turns = []
    for model in both(MODELS / "json-frames", worker):
        talk = toolfmt.Conversation(model, [USER], [TOOL], now=NOW)
        talk.prompt()
        message = talk.answered('<tool_call>{"name": "get_weather", "arguments": {"city":"Oslo"}}</tool_call>')
        talk.result(message.tool_calls[0].id, "rain")
        turns.append(talk.prompt(raw=True))
    assert turns[0] == turns[1]
    assert turns[1].raw


def test_tokens_are_counted_by_the_models_own_tokenizer_there_and_by_a_given_one_here(
    tmp_path: Path, worker: Worker
) -> None:
    directory = made(tmp_path, HONEST).files.home
    by_bytes().save(str(directory / "tokenizer.json"))
    here, there = both(directory, worker)
    expected = here.render([USER], context=3, now=NOW)
    assert expected.budget is not None
    assert expected.budget.used > 3
    assert there.render([USER], context=3, now=NOW) == expected
    given = by_bytes(lower=True)
    assert (
        there.render([USER], context=3, tokenizer=given).budget
        == here.render([USER], context=3, tokenizer=given).budget
    )
    assert there.render([USER], neutralize=True, now=NOW) == here.render([USER], neutralize=True, now=NOW)
    with pytest.raises(ToolfmtError, match="no tokenizer"):
        both(MODELS / "json-frames", worker)[1].render([USER], context=3)


@dataclass
class Picture:
    """A client object that is not JSON; it describes itself, and cannot be pickled."""

    path: str

    def __reduce__(self) -> Any:
        raise TypeError("not this one")


class Array:
    def __str__(self) -> str:
        return "[1 2 3]"


IMAGES = "{% for m in messages %}{% for p in m.content %}{{ p.text or p.image }}{% endfor %}{% endfor %}"


def test_objects_of_the_caller_stay_here_and_come_back_on_the_prompt(tmp_path: Path, worker: Worker) -> None:
    here, there = both(made(tmp_path, IMAGES).files.home, worker)
    parts: list[Any] = [{"type": "text", "text": "look"}, {"type": "image", "image": Picture("a.png"), "size": Array()}]
    messages = [{"role": "user", "content": parts}]
    one, other = (model.render(messages, now=NOW) for model in (here, there))
    assert one == other
    assert "look{'path': 'a.png'}" in other.text
    (message,) = other.messages
    assert message["content"][1]["image"] is parts[1]["image"]
    assert message["content"][1]["size"] is parts[1]["size"]


@pytest.mark.parametrize("value", [{"a": [1, "x", None, 1.5, True]}, "text", [], {"n": {"toolfmt stand-in": 0}}])
def test_what_is_plain_is_handed_over_as_it_is(value: Any) -> None:
    objects: list[Any] = []
    assert handed_over(value, objects) == value
    assert objects == []
    assert given_back(numbered(handed_over(value, objects)), objects) == value


class Word(str):
    """A string of a class that the other process does not have."""


class Size(int):
    pass


class Part(float):
    pass


def test_what_is_plain_but_for_its_class_is_handed_over_as_plain() -> None:
    objects: list[Any] = []
    given = MappingProxyType({Word("a"): [Word("x"), Size(2), Part(0.5)]})
    there = handed_over(given, objects)
    assert (there, objects) == ({"a": ["x", 2, 0.5]}, [])
    (key,) = there
    assert [type(there), type(key), *map(type, there["a"])] == [dict, str, str, int, float]


def test_an_invalid_object_number_is_kept_as_it_is() -> None:
    picture = Array()
    objects: list[Any] = []
    given = [
        picture,
        {"toolfmt stand-in": 2},
        {"toolfmt stand-in": True},
        {"toolfmt stand-in": 0, "more": 1},
        (picture,),
    ]
    back = given_back(numbered(handed_over(given, objects)), objects)
    assert back == [picture, *given[1:4], [objects[1]]]
    assert objects == [picture, picture]
    assert str(handed_over(picture, [])) == "[1 2 3]"


# Costs


WAITING = "{% if messages[-1].content | length > 5000 %}{% set x = namespace(v='a') %}"
WAITING += "{% for i in range(60) %}{% set x.v = x.v + x.v %}{% endfor %}{% endif %}"


@pytest.mark.sample(0)
@linux
def test_a_template_that_waits_for_a_long_message_takes_nothing_of_the_callers_memory(worker: Worker) -> None:
    model = Model(files(WAITING + HONEST), worker=worker)
    assert model.render([USER]).text == "<|user|>Will it rain in Oslo?"
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(LimitHit) as hit:
        model.render([{"role": "user", "content": "x" * 6000}])
    assert hit.value.limit == "memory"
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000
    assert model.render([USER]).text == "<|user|>Will it rain in Oslo?"


@pytest.mark.sample(0)
@linux
def test_a_template_that_waits_for_a_long_message_to_hang_is_ended(worker: Worker) -> None:
    hang = "{% if messages[-1].content | length > 5000 %}{% for a in range(99999) %}{% for b in range(99999) %}"
    model = Model(files(hang + "{% endfor %}{% endfor %}{% endif %}" + HONEST), worker=worker)
    with pytest.raises(LimitHit) as hit:
        model.render([{"role": "user", "content": "x" * 6000}])
    assert hit.value.limit == "CPU time"
    assert model.render([USER]).text == "<|user|>Will it rain in Oslo?"


def test_a_limit_that_is_hit_with_tools_does_not_fall_back_to_the_prompt_strategy(tmp_path: Path) -> None:
    waits = "{% if tools and messages[-1].content == 'now' %}{{ 'a' * (messages | length * 10 ** 10) }}{% endif %}"
    source = waits + (MODELS / "json-frames" / "chat_template.jinja").read_text("utf-8")
    model = Model(made(tmp_path, source).files, trusted=True)
    assert model.render([USER], [TOOL]).strategy == "template"
    with pytest.raises(LimitHit) as hit:
        model.render([{"role": "user", "content": "now"}], [TOOL])
    assert hit.value.limit == "memory"


def test_without_tools_calls_in_an_unknown_format_are_rendered_as_content(tmp_path: Path) -> None:
    plain = "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% endfor %}"
    prompt = Model(made(tmp_path, plain).files, trusted=True).render([USER, *TALK[2:]])
    assert {"calls-as-content", "default-format"} <= set(prompt.adaptations)


def test_no_roles_are_read_off_templates_of_which_one_cannot_be_probed(tmp_path: Path) -> None:
    home = made(tmp_path, "{% for m in messages %}{% if m.role == 'ipython' %}{{ m.content }}{% endif %}").files.home
    (home / "additional_chat_templates").mkdir()
    sound = (
        "{{ tools | tojson }}{% for m in messages %}{% if m.role == 'ipython' %}!{% endif %}{{ m.content }}{% endfor %}"
    )
    (home / "additional_chat_templates" / "tool_use.jinja").write_text(sound, "utf-8")
    model = Model(load_files(home), trusted=True)
    assert model.profile.failure is None
    assert model._making.roles() == ()
    (home / "chat_template.jinja").write_text(sound, "utf-8")
    assert Model(load_files(home), trusted=True)._making.roles() == ("ipython",)


def test_an_error_of_a_template_is_the_error_made_here(tmp_path: Path, worker: Worker) -> None:
    raising = (
        "{% for m in messages %}{{ m.content if m.role == 'user' else raise_exception('no ' ~ m.role) }}{% endfor %}"
    )
    here, there = both(made(tmp_path, raising).files.home, worker)
    for talk in (TALK, [USER, {"role": "user", "content": None}]):
        assert rendered(here, talk, [TOOL]) == rendered(there, talk, [TOOL])
    half = "{% for m in messages[-2:] %}{{ m.content }}{% endfor %}"
    here, there = both(made(tmp_path, half).files.home, worker)
    talk = [USER, {"role": "assistant", "content": "yes"}, USER]
    expected = rendered(here, talk)
    assert expected[0] is NotDelivered
    assert expected == rendered(there, talk)


# What is cached there


def sent(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """The jobs that are requested from now on, with the lengths of their data."""
    jobs: list[tuple[str, int]] = []
    pack = pool._request

    def noted(function: Any, given: Any) -> bytes:
        request = pack(function, given)
        _, job, *_ = given  # after the formats that this process knows
        jobs.append((job.__name__, len(request)))
        return request

    monkeypatch.setattr(pool, "_request", noted)
    return jobs


@pytest.mark.sample(0)
def test_the_files_of_a_model_are_handed_over_once(monkeypatch: pytest.MonkeyPatch) -> None:
    worker = new_worker()
    large = replace(files(HONEST), config={"text": "x" * 1_000_000})
    model = Model(large, worker=worker)
    model.profile  # noqa: B018 - probed before what is counted
    jobs = sent(monkeypatch)
    model.render([USER])
    assert [(name, length > 1_000_000) for name, length in jobs] == [
        ("roles_for", False),
        ("roles_for", True),
        ("made_of", False),
    ]
    jobs.clear()
    model.render([USER])
    Model(large, worker=worker, profile=model.profile).render([USER])  # loaded again
    assert [name for name, _ in jobs] == ["made_of", "roles_for", "made_of"]
    assert max(length for _, length in jobs) < 5_000
    jobs.clear()
    worker.close()  # what it knew is gone
    model.render([USER])
    assert [(name, length > 1_000_000) for name, length in jobs] == [("made_of", False), ("made_of", True)]
    worker.close()


def test_another_template_or_profile_is_another_model(worker: Worker) -> None:
    one, other = (Model(files(source), worker=worker) for source in (HONEST, HONEST + "!"))
    assert (one.render([USER]).text + "!", one._making) != (one.render([USER]).text, other._making)
    assert other.render([USER]).text == one.render([USER]).text + "!"
    named = Model(one.files, worker=worker, profile=replace(one.profile, stop=("<stop>",)))
    assert (named.render([USER]).stop, one.render([USER]).stop) == (("<stop>",), ())


def test_of_many_models_the_last_ones_are_kept() -> None:
    for number in range(jobs._MOST_HELD + 2):
        jobs.held(str(number), (number,))
        assert jobs.held("0" if number < jobs._MOST_HELD else "2", None) is not None
    assert jobs.held("9", None) == (9,)
    assert len(jobs._held) == jobs._MOST_HELD
    with pytest.raises(NotHeld):
        jobs.held("1", None)
    jobs._held.clear()


def test_a_process_that_never_remembers_is_given_up() -> None:
    class Forgetful(Worker):
        def run(self, job: Any, *given: Any) -> Any:
            raise NotHeld("once more")

    profile = Model(files(HONEST), trusted=True).profile
    with pytest.raises(LimitHit) as hit:
        WorkerBackend(files(HONEST), profile, Forgetful).roles()
    assert hit.value.limit == "crash"


@pytest.mark.parametrize(
    "change",
    [
        {"text": 1},
        {"strategy": "luck"},
        {"spans": ({"begin": 0, "end": 999, "message": 0, "role": "user"},)},
        {"spans": ({"begin": -1, "end": 1, "message": 0, "role": "user"},)},
        {"spans": ({"begin": 2, "end": 1, "message": 0, "role": "user"},)},
        {"spans": ({"begin": 1, "end": 1, "message": -2, "role": "user"},)},
        {"messages": ["text"]},
        {"messages": [{"content": "x"}]},
        {"messages": [{"role": 1}]},
        {"tools": ["tool"]},
        {"more": 1},
    ],
)
def test_what_is_no_prompt_is_a_crash(change: dict[str, Any]) -> None:
    sound = RenderResult("text", "template", "", (), (), (), False, False, [{"role": "user", "content": "x"}], None, ())
    assert pool._result(MAKE, pool.DONE + packed(sound)) == sound
    with pytest.raises(LimitHit) as hit:
        pool._result(MAKE, pool.DONE + packed({**sound.__dict__, **change}))
    assert hit.value.limit == "crash"


def test_several_threads_ask_one_process(worker: Worker) -> None:
    models = [Model(files(HONEST + str(number)), worker=worker) for number in range(3)]
    found: list[str] = []

    def ask(model: Model) -> None:
        found.extend(model.render([USER]).text for _ in range(5))

    threads = [threading.Thread(target=ask, args=[model]) for model in models for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == sorted(f"<|user|>{USER['content']}{number}" for number in range(3) for _ in range(10))


def test_roles_that_the_template_tests_for_are_known(tmp_path: Path, worker: Worker) -> None:
    source = "{% for m in messages %}{% if m.role == 'ipython' %}!{% endif %}{{ m.content }}{% endfor %}"
    _, there = both(made(tmp_path, source).files.home, worker)
    assert there.render([USER, {"role": "ipython", "content": "1"}]).text == "Will it rain in Oslo?!1"
    assert worker.run(ROLES, WorkerBackend(there.files, there.profile, lambda: worker)._digest, None) == ("ipython",)
    with pytest.raises(toolfmt.BadMessages):
        there.render([USER, {"role": "python", "content": "1"}])


def test_bad_tools_are_reported_before_anything_is_rendered(worker: Worker) -> None:
    with pytest.raises(BadTools):
        Model(files(HONEST), worker=worker).render([USER], [1])
    assert checked_messages([USER]) == [USER]
