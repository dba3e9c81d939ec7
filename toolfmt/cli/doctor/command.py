"""`toolfmt doctor`: check the options, examine the server, print the diagnosis, return the exit status.

`toolfmt.cli.commands` creates an `Examining` from the options.
"""

from __future__ import annotations

import os
import re
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import click

from toolfmt.cli.doctor.api_keys import Secrets
from toolfmt.cli.doctor.connection import Connection, connect, models_hint
from toolfmt.cli.doctor.diagnosis import Diagnosis
from toolfmt.cli.doctor.examination import Examination, NotExamined
from toolfmt.cli.doctor.explanations import Context
from toolfmt.cli.doctor.protocols import AnthropicMessages
from toolfmt.cli.doctor.transport import LimitReached, Transport
from toolfmt.cli.input import name_models_below
from toolfmt.cli.measure.subject import NotReached
from toolfmt.cli.output import check_printable, complain, print_json, print_text, terminal
from toolfmt.cli.printing.doctor import ExaminationProgress, diagnosis_text
from toolfmt.errors import ToolfmtError

if TYPE_CHECKING:
    from toolfmt.model.model import Model

_URL = re.compile(r"https?://[^\s/]+\S*", re.IGNORECASE)
_SWITCH = "enable_thinking"
_KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY")
_NOT_FOUND = "404 "


@dataclass(frozen=True)
class Examining:
    """The options, one field each. None if not given."""

    endpoint: str
    model_name: str | None
    directory: str | None
    time_limit: float
    as_json: bool
    trusted: bool

    def status(self) -> int:
        """Examine the server, print the diagnosis, and return the exit status.

        Raises `click.UsageError` for a URL that cannot be used, and `ToolfmtError` if the server cannot be examined.
        """
        self._check()
        check_printable()
        model = self._loaded()
        keys = {name: os.environ.get(name, "").strip() for name in _KEYS}
        if unusable := [name for name, key in keys.items() if not (key.isascii() and key.isprintable())]:
            raise ToolfmtError(f"{unusable[0]} has characters that an HTTP header cannot have")
        secrets = Secrets(keys.values())
        try:
            diagnosis = self._examined(model, self._key(keys), secrets)
        except ToolfmtError as error:
            raise ToolfmtError(secrets.hidden(str(error))) from None
        if self.as_json:
            print_json(diagnosis.to_dict())
        else:
            print_text(diagnosis_text(diagnosis, *terminal()))
        return diagnosis.exit_status

    def _examined(self, model: Model | None, key: str, secrets: Secrets) -> Diagnosis:
        """Run the series. Raises `ToolfmtError`."""
        start = time.monotonic()
        transport = Transport(self.time_limit)
        connection = self._connected(transport, key)
        profile = None if model is None else model.profile
        has_switch = profile is not None and _SWITCH in profile.variables
        examination = Examination(
            connection, connection.model(self.model_name), key, transport,
            None if profile is None else profile.tool_call_format, {_SWITCH: True} if has_switch else {},
        )  # fmt: skip
        self._run(examination)
        report = None if model is None else model.inspect()
        context = Context(connection.runtime, report, self.directory or "")
        return Diagnosis(examination, context, time.monotonic() - start, secrets)

    def _check(self) -> None:
        if not (_URL.fullmatch(self.endpoint) and self.endpoint.isprintable()):
            raise click.UsageError("--endpoint takes a URL such as http://127.0.0.1:8000/v1")
        try:
            parts = urlsplit(self.endpoint)
            _ = parts.port
        except ValueError as error:
            raise click.UsageError(f"--endpoint: {error}") from None
        if parts.username is not None:
            raise click.UsageError(f"--endpoint takes no user name or key; set {_KEYS[0]} instead")
        if parts.query or parts.fragment:
            raise click.UsageError("--endpoint takes a URL without ? and #")

    def _loaded(self) -> Model | None:
        if self.directory is None:
            return None
        from toolfmt.model.model import load

        model = load(self.directory, trusted=self.trusted)
        name_models_below(self.directory, complain)
        return model

    def _key(self, keys: dict[str, str]) -> str:
        """Return the key to send. The URL decides which, so that no server can ask for the other one."""
        openai, anthropic = keys.values()
        host = urlsplit(self.endpoint).hostname or ""
        own = self.endpoint.rstrip("/").endswith(AnthropicMessages.path) or f".{host}".endswith(".anthropic.com")
        return (anthropic if own else "") or openai

    def _connected(self, transport: Transport, key: str) -> Connection:
        """Return the connection. Raises `ToolfmtError` if it cannot be reached."""
        try:
            return connect(self.endpoint, transport, key)
        except NotReached as error:
            raise ToolfmtError(f"{self.endpoint}: {error}; check --endpoint, and that the server is running") from None
        except LimitReached as error:
            raise ToolfmtError(f"{self.endpoint}: {error}") from None

    def _run(self, examination: Examination) -> None:
        """Run the series with its progress. An interrupt ends it; what was found so far is kept."""
        watched = sys.stderr is not None and sys.stderr.isatty()
        try:
            with ExaminationProgress(len(examination.planned), watched) as bar:
                bar.update(examination)
                for _ in examination.run():
                    bar.update(examination)
        except NotExamined as error:
            raise ToolfmtError(self._unusable(examination, str(error))) from None
        except KeyboardInterrupt:
            if not examination.checks:
                raise
            examination.stopped = "interrupted"

    def _unusable(self, examination: Examination, why: str) -> str:
        """Return one line about a server that does not respond to a request without tools."""
        hint = "; check --endpoint (most end in /v1) and --model" if why.startswith(_NOT_FOUND) else ""
        if why.startswith(("401", "403")):
            hint = f"; set {' or '.join(_KEYS)}"
        known = models_hint(examination.connection) if why.startswith(_NOT_FOUND) else ""
        return f"{examination.connection.url}: {why}{hint}{known}"
