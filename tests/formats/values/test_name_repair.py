"""Which declared tool an unknown name refers to: by the rules, and only if no other tool matches by the same rule."""

from __future__ import annotations

import pytest

from toolfmt.formats.values.name_repair import NameRepair


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("get-time", "get_time"),
        ("functions.get_time", "get_time"),
        ("functions:get_time_12", "get_time"),
        ("get_time:12", "get_time"),
        ("get_time.get_time", "get_time"),
        ("get_time_get_time", "get_time"),
        ("get_timejson", "get_time"),
        ("get_time<|channel|>commentary", "get_time"),
    ],
)
def test_a_name_is_repaired_by_rule(written: str, expected: str) -> None:
    assert NameRepair(["get_time", "get_weather"]).resolve(written) == expected


@pytest.mark.parametrize("written", ["get_tim", "get_time_12", "gettime", "Get_Time", "json", "functions.", ""])
def test_similarity_alone_does_not_repair_a_name(written: str) -> None:
    assert NameRepair(["get_time", "get_weather"]).resolve(written) == written


@pytest.mark.parametrize("names", [("a_b", "a-b"), ("a_b", "a.b", "a b")])
def test_a_name_that_two_tools_may_mean_is_none(names: tuple[str, ...]) -> None:
    assert NameRepair(names).resolve("functions.a_b:1") == "functions.a_b:1"
    assert NameRepair(names[:1]).resolve("functions.a_b:1") == "a_b"
