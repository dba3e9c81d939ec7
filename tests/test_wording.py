"""How a text is cut for a sentence."""

from __future__ import annotations

import pytest

from toolfmt.inspect.wording import shortened


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param("1234", "1234", id="shorter"),
        pytest.param("12345", "12345", id="as long as may be"),
        pytest.param("123456", "1234…", id="longer by one"),
        pytest.param("1234567", "1234…", id="longer"),
    ],
)
def test_what_is_shortened_is_as_long_as_may_be_its_sign_included(text: str, said: str) -> None:
    assert shortened(text, 5) == said
