"""The checks, by name, in the order in which they are shown."""

from lastword.kit.check.checks import connection, failures, turns
from lastword.kit.check.checks.model import Check, CheckVerdict, Finding, read_checks

_JUDGING = (connection, failures, failures, turns)
"""Once they are loaded, each check has what judges it."""

CHECKS: dict[str, Check] = read_checks()

__all__ = ["CHECKS", "Check", "CheckVerdict", "Finding"]
