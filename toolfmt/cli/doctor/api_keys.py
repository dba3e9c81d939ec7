"""Hide API keys in what a server sent, before it is shown.

The text of a response is not changed: a short key, such as `x` for a local server, also occurs in it by chance.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from urllib.parse import quote

_SHORTEST = 8
"""Minimum number of characters of a secret. Shorter keys are placeholders for local servers."""
_SHORTEST_PART = 6
_CUT = "…'\""
"""What follows if a text is cut."""


class Secrets:
    """The keys, in the forms in which a shown text may have them: as they are, as `repr` writes them, in a URL."""

    def __init__(self, keys: Iterable[str]) -> None:
        forms = {form for key in keys if len(key) >= _SHORTEST for form in (key, repr(key)[1:-1], quote(key, safe=""))}
        self._forms = sorted(forms, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, self._forms)), re.IGNORECASE) if forms else None

    def hidden(self, text: str) -> str:
        """Return the text with `***` instead of the keys, and of the beginning of one at the end of a cut text."""
        if self._pattern is None:
            return text
        text = self._pattern.sub("***", text)
        end = text.rstrip(_CUT)
        for form in self._forms:
            for length in range(min(len(form), len(end)), _SHORTEST_PART - 1, -1):
                if end.endswith(form[:length]):
                    return f"{end[:-length]}***{text[len(end) :]}"
        return text
