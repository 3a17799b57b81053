"""Settings of an agent that lastword runs, by its author or, in the environment, by a user.

Owns reading the environment: the variables of `lastword run`, so that a user who knows one door
knows all of them. A value that cannot be used is said and left out: it must not stop an agent.
"""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING, Any

import msgspec

from lastword.core.link.option_table import BY_KEY, OPTIONS
from lastword.core.link.options import Options
from lastword.core.redact.known_secrets import secrets_of
from lastword.posix.identity import IMPLEMENTATION, RUN_ID_CHARS, local_time, run_id
from lastword.record.paths import named_folder, state_folder

if TYPE_CHECKING:
    from collections.abc import Mapping

logger: logging.Logger = logging.getLogger("lastword")

_READ = frozenset(Options.__struct_fields__) - {
    *("stderr_limit_bytes", "restart", "record", "retry", "retry_wait_limit_seconds")
}
"""What is read from the environment as it is: a handler has no stderr of its own and does not start
again, its author decides on retries, and the record has rules of its own (`record_folder`)."""


def settle(options: Options | None) -> Options:
    """The options as asked for, else as the environment has them, and what this process knows."""
    chosen = options or from_environment(os.environ)
    return msgspec.structs.replace(
        chosen,
        in_process=True,
        implementation=IMPLEMENTATION,
        incident_prefix=chosen.incident_prefix or f"{run_id()}-",
        secrets=(*chosen.secrets, *secrets_of(os.environ)),
        wall_clock=chosen.wall_clock or local_time,
    )


def from_environment(environment: Mapping[str, str]) -> Options:
    """Read `LASTWORD_IDLE_TIMEOUT` and its like."""
    known: dict[str, Any] = {}
    for option in OPTIONS:
        text = environment.get(option.variable)
        if not text or option.field not in _READ:
            continue
        value = option.read(text)
        if value is None:
            said = f"it takes {option.expects}, not {text!r}"
            logger.warning("%s is left out: %s.", option.variable, said)
        else:
            known[option.field] = value
    return Options(**known)


def passthrough(environment: Mapping[str, str]) -> bool:
    """Does the user want lastword out of the way?"""
    return _wanted(environment, "passthrough")


def record_folder(options: Options, environment: Mapping[str, str]) -> str | None:
    """Where the record is kept, or `None` for nowhere.

    A user's `LASTWORD_NO_RECORD` goes before anything that an author chose; a folder that the
    author named before the user's own.
    """
    if _wanted(environment, "no_record") or options.record in (False, ""):
        return None
    if isinstance(options.record, str):
        return named_folder(options.record)
    named = environment.get(BY_KEY["record"].variable)
    return named_folder(named) if named else state_folder(environment)


def reports() -> bool:
    """Does the environment ask for reports of failures?"""
    return bool(os.environ.get(BY_KEY["report_to"].variable))


def run_of(options: Options) -> str:
    """The run's id: what incident ids begin with, where the author has not another beginning."""
    own, _, rest = options.incident_prefix.partition("-")
    return own if len(own) == RUN_ID_CHARS and not rest else run_id()


def _wanted(environment: Mapping[str, str], key: str) -> bool:
    option = BY_KEY[key]
    return option.read(environment.get(option.variable, "")) is True
