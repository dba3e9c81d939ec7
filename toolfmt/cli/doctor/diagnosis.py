"""The result of an examination as data: the checks, and each finding with what it means and how to fix it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from toolfmt.cli.doctor.examination import Check, Examination, Finding
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

    @property
    def exit_status(self) -> int:
        return _EXIT[self.examination.status]

    @property
    def checks(self) -> list[Check]:
        return self.examination.checks

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
            return f"Not complete: {examination.stopped}."
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
            "seen": shortened(problem.seen, _LONGEST_SEEN),
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
            "server_version": connection.version or None,
            "model": examination.model,
            "directory": self.context.directory or None,
            "status": examination.status,
            "random": examination.is_random,
            "requests": examination.transport.sent,
            "seconds": round(self.seconds, 1),
            "stopped": examination.stopped or None,
            "checks": [asdict(check) for check in self.checks],
            "findings": self.findings(),
        }
