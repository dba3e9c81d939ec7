"""The result of an examination as data: the checks, and each finding with what it means and how to fix it."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

from toolfmt.cli.doctor.api_keys import Secrets
from toolfmt.cli.doctor.examination import BUSY, Check, Examination, Finding
from toolfmt.cli.doctor.explanations import EXPLANATIONS, Context
from toolfmt.cli.printing.control_characters import shortened

_LONGEST_SEEN = 300
_EXIT = {"healthy": 0, "problems": 1, "undecided": 2}


@dataclass(frozen=True)
class Diagnosis:
    """What `toolfmt doctor` prints. `endpoint` is the URL that requests were sent to."""

    examination: Examination
    context: Context
    seconds: float
    secrets: Secrets

    @property
    def exit_status(self) -> int:
        return _EXIT[self.examination.status]

    @property
    def checks(self) -> list[Check]:
        return [replace(check, detail=self.secrets.hidden(check.detail)) for check in self.examination.checks]

    @property
    def model(self) -> str:
        return self.secrets.hidden(self.examination.model)

    @property
    def server_version(self) -> str:
        return self.secrets.hidden(self.examination.connection.version)

    @property
    def stopped(self) -> str:
        """Why the series was not completed; empty if it was."""
        return self.secrets.hidden(self.examination.stopped)

    @property
    def conclusion(self) -> str:
        """The result in one sentence."""
        examination = self.examination
        problems = len(examination.problems)
        if problems:
            return f"{problems} problem{'s' * (problems != 1)} found."
        if examination.status == "healthy":
            return "No problems found."
        if examination.stopped:
            return f"Not complete: {self.stopped}."
        details = {check.detail for check in self.checks}
        if len(details) == 1 and (why := details.pop()).startswith(BUSY):
            return f"Not decided: {why}."
        return "Not decided: no response had a call. The model may be too weak, or not get the tools."

    def findings(self) -> list[dict[str, Any]]:
        """Return the findings, problems first, with their explanations. What was seen is shortened and escaped."""
        found = sorted(self.examination.findings.values(), key=lambda each: each.is_notice)
        return [self._explained(each) for each in found]

    def _explained(self, finding: Finding) -> dict[str, Any]:
        problem = finding.problem
        return {
            "name": problem.name,
            "severity": "notice" if finding.is_notice else "problem",
            "where": list(dict.fromkeys(finding.where)),
            "seen": shortened(self.secrets.hidden(problem.seen), _LONGEST_SEEN),
            "format": problem.format or None,
            "means": EXPLANATIONS[problem.name].means,
            "fix": self.context.fix(problem.name, problem.format),
        }

    def to_dict(self) -> dict[str, Any]:
        examination, connection = self.examination, self.examination.connection
        return {
            "schema": "toolfmt.doctor/1",
            "endpoint": connection.url,
            "protocol": connection.protocol.name,
            "server": connection.runtime or None,
            "server_version": self.server_version or None,
            "model": self.model,
            "directory": self.context.directory or None,
            "status": examination.status,
            "random": examination.is_random,
            "requests": examination.transport.sent,
            "seconds": round(self.seconds, 1),
            "stopped": self.stopped or None,
            "checks": [asdict(check) for check in self.checks],
            "findings": self.findings(),
        }
