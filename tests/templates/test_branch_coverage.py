"""The results of conditions, also in renders that do not count as tests of them."""

from __future__ import annotations

from toolfmt.templates import ChatTemplate


def test_a_condition_that_a_render_apart_made_false_was_not_always_true() -> None:
    template = ChatTemplate("{% if messages[0].content == 'x' %}{% endif %}")
    coverage = template.watch
    (condition,) = coverage.conditions
    template.render([{"role": "user", "content": "x"}])
    assert (coverage.met(condition), coverage.always_true(condition)) == (frozenset({True}), True)
    coverage.apart(lambda: template.render([{"role": "user", "content": "y"}]))
    assert (coverage.met(condition), coverage.always_true(condition)) == (frozenset({True}), False)


def test_the_values_of_computed_operands_are_kept_by_their_position() -> None:
    template = ChatTemplate("{% if messages[0].content | trim == 'a' ~ 'b' %}{% endif %}")
    coverage = template.watch
    template.render([{"role": "user", "content": " c "}])
    (operands,) = coverage.compared.values()
    assert {position: list(values) for position, values in operands.items()} == {0: ["c"], 1: ["ab"]}
