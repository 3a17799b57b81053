"""The baseline of a check: what is known to fail, each with a reason, and does not count.

Owns the file, which is TOML:

    [known]
    agent-killed = "our supervisor ends the whole group; issue 12"

A name is a check's, or its requirement's, for all checks of it.
"""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING

from lastword.kit.check.checks import CHECKS, CheckVerdict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from lastword.kit.check.checks import Check, Finding

MAX_BYTES = 256 * 1024

COUNTING = (CheckVerdict.FAIL, CheckVerdict.WARN)
"""The verdicts that a baseline covers."""


class BaselineError(ValueError):
    """The file cannot be used; the text says why."""


def load(path: Path) -> dict[str, str]:
    """Return the reasons by the names of checks.

    Raises:
        BaselineError: It cannot be read, or names what is not a check.
    """
    try:
        if path.stat().st_size > MAX_BYTES:
            raise BaselineError(f"{path}: it is larger than any baseline")
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BaselineError(f"{path}: {(error.strerror or 'cannot be read').lower()}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BaselineError(f"{path}: not TOML: {error}") from error
    rows = document.get("known")
    if not isinstance(rows, dict) or document.keys() != {"known"}:
        raise BaselineError(f"{path}: it needs one table, [known], with a reason for each check")
    reasons: dict[str, str] = {}
    for name, reason in rows.items():
        if not isinstance(reason, str) or not reason.strip():
            raise BaselineError(f"{path}: {name} needs a reason, as a text that is not empty")
        named = [check.name for check in CHECKS.values() if name in {check.name, check.requirement}]
        if not named:
            raise BaselineError(f"{path}: unknown check {name}; see `lastword check --list`")
        reasons |= dict.fromkeys(named, reason.strip())
    return reasons


def reason_for(check: Check, finding: Finding, reasons: Mapping[str, str]) -> str | None:
    """Return why a finding does not count; `None` if it does, or if there is nothing to excuse."""
    return reasons.get(check.name) if finding.verdict in COUNTING else None


def outlived(reasons: Mapping[str, str], passed: Sequence[Check]) -> list[str]:
    """Return the names that the file has of checks that passed."""
    names = {check.name for check in passed}
    return [name for name in reasons if name in names]
