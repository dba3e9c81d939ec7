"""Fixtures that several test files of the command line share."""

from __future__ import annotations

from invented_reports import invented

__all__ = ["invented"]
