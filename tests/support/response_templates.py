"""Formats as response templates."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from toolfmt.formats import formats


def every_format() -> Iterator[Any]:
    for format in formats():
        for variant in ("", *format.variants):
            yield pytest.param(format.with_variant(variant), id=f"{format.name}, {variant}".removesuffix(", "))
