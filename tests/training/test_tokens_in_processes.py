"""Conversations are tokenized in several processes: those of Python, of `datasets` and of Ray.

The model is pickled with the function, or loaded in the process. The result is the same as in one process.
"""

from __future__ import annotations

import concurrent.futures
import multiprocessing
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from model_cases import MODELS
from small_tokenizers import by_bytes
from training_rows import ROWS, TOOLS, Row, conversation, tokens, tokens_of_a_loaded_model
from transformers import PreTrainedTokenizerFast

import toolfmt
from toolfmt.errors import BadMessages, LimitHit


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return PreTrainedTokenizerFast(tokenizer_object=by_bytes())  # type: ignore[no-untyped-call]  # theirs


@pytest.fixture(scope="module")
def expected(tokenizer: Any) -> list[Row]:
    model = toolfmt.load(MODELS / "json-frames", trusted=True)
    found = [tokens(row, model, tokenizer) for row in ROWS]
    assert all(any(row["assistant_masks"]) for row in found)
    return found


@pytest.fixture(params=["trusted", "untrusted", "used before", "loaded in the process"])
def function(request: pytest.FixtureRequest, tokenizer: Any) -> Callable[[Row], Row]:
    if request.param == "loaded in the process":
        return partial(tokens_of_a_loaded_model, tokenizer=tokenizer)
    model = toolfmt.load(MODELS / "json-frames", trusted=request.param == "trusted")
    if request.param == "used before":
        model.inspect()
        model.render_training(conversation(0), TOOLS).tokenize(tokenizer)
    return partial(tokens, model=model, tokenizer=tokenizer)


@pytest.fixture
def datasets() -> Any:
    return pytest.importorskip("datasets", reason="datasets is not a dependency of the tests")


@pytest.fixture(scope="module")
def ray() -> Iterator[Any]:
    ray = pytest.importorskip("ray", reason="ray is large")
    pytest.importorskip("ray.data", reason="ray.data needs pandas and pyarrow")
    path = os.pathsep.join(filter(None, sys.path))  # the processes import this module
    ray.init(
        num_cpus=2,
        include_dashboard=False,
        log_to_driver=False,
        object_store_memory=100 << 20,
        runtime_env={"env_vars": {"PYTHONPATH": path}},
    )
    yield ray
    ray.shutdown()


@pytest.mark.parametrize("method", sorted({"fork", "spawn"} & {*multiprocessing.get_all_start_methods()}))
def test_in_a_pool(method: str, function: Callable[[Row], Row], expected: list[Row]) -> None:
    context = multiprocessing.get_context(method)
    with concurrent.futures.ProcessPoolExecutor(2, mp_context=context) as pool:
        assert list(pool.map(function, ROWS, timeout=60)) == expected


def test_an_error_in_a_pool_is_raised(tokenizer: Any) -> None:
    model = toolfmt.load(MODELS / "json-frames", trusted=True)
    function = partial(tokens, model=model, tokenizer=tokenizer)
    with concurrent.futures.ProcessPoolExecutor(2) as pool, pytest.raises(BadMessages, match="a list of objects"):
        list(pool.map(function, [*ROWS, {"messages": "{}"}], timeout=60))


def test_datasets_map(datasets: Any, function: Callable[[Row], Row], expected: list[Row]) -> None:
    rows = datasets.Dataset.from_list(ROWS)
    assert rows.map(function, num_proc=2, remove_columns=rows.column_names).to_list() == expected


@pytest.mark.parametrize("trusted", [True, False])
def test_datasets_reuses_a_result_only_for_the_same_template(
    trusted: bool, datasets: Any, tokenizer: Any, tmp_path: Path
) -> None:
    """`map` reuses the file of an earlier run if the function has the same hash, which includes that of the model."""

    def hash_now() -> str:
        model = toolfmt.load(tmp_path / "model", trusted=trusted)
        return str(datasets.fingerprint.Hasher.hash(partial(tokens, model=model, tokenizer=tokenizer)))

    shutil.copytree(MODELS / "json-frames", tmp_path / "model")
    first = hash_now()
    assert hash_now() == first
    template = tmp_path / "model" / "chat_template.jinja"
    template.write_text(template.read_text("utf-8").replace("at your disposal", "yours"), "utf-8")
    assert hash_now() != first


def test_datasets_raises_the_limit_that_a_template_reaches(datasets: Any, tokenizer: Any, tmp_path: Path) -> None:
    """An error that cannot be unpickled blocks `map` forever."""
    shutil.copytree(MODELS / "json-frames", tmp_path / "model")
    template = tmp_path / "model" / "chat_template.jinja"
    long = "{% for _ in range(99999) %}{{ ' ' * 9999 }}{% endfor %}"
    added = f"{{% if 'cat 4' in messages[0].content %}}{long}{{% endif %}}"
    template.write_text(template.read_text("utf-8") + added, "utf-8")
    function = partial(tokens, model=toolfmt.load(tmp_path / "model"), tokenizer=tokenizer)
    with pytest.raises(LimitHit) as raised:
        datasets.Dataset.from_list(ROWS).map(function, num_proc=2)
    assert raised.value.limit == "output"


def test_ray_data_map(ray: Any, function: Callable[[Row], Row], expected: list[Row]) -> None:
    found = ray.data.from_items(ROWS).map(lambda row: {"number": row["number"], **function(row)}).take_all()
    assert [
        {"input_ids": list(row["input_ids"]), "assistant_masks": list(row["assistant_masks"])}
        for row in sorted(found, key=lambda row: row["number"])
    ] == expected
