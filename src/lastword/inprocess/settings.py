"""What an author, or a user by the environment, decides about an agent that lastword runs.

Owns reading the environment: the variables of `lastword run`, so that a user who knows one door
knows all of them. A value that cannot be used is said and left out: it must not stop an agent.
"""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING, Any

import msgspec

from lastword.core.connection import Options
from lastword.core.known_secrets import secrets_of
from lastword.identity import IMPLEMENTATION, RUN_ID_CHARS, local_time, run_id
from lastword.record.place import named_folder, state_folder

if TYPE_CHECKING:
    from collections.abc import Mapping

logger = logging.getLogger("lastword")

SECONDS = (
    "first_update_timeout",
    "idle_timeout",
    "tool_timeout",
    "turn_timeout",
    "warn_after",
    "cancel_grace",
)
WORDS = ("fallback", "silent_success")


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
    options = Options()
    for name in (*SECONDS, *WORDS):
        text = environment.get(f"LASTWORD_{name.upper()}")
        if text:
            options = _with(options, name, text)
    record_text = _wanted(environment, "LASTWORD_RECORD_TEXT")
    return msgspec.structs.replace(options, record_text=record_text)


def _with(options: Options, name: str, text: str) -> Options:
    known: dict[str, Any] = {name: text}
    try:
        if name in SECONDS:
            known = {f"{name}_seconds": float(text.removesuffix("s"))}
        return msgspec.structs.replace(options, **known)
    except ValueError as error:
        logger.warning("LASTWORD_%s is left out: %s.", name.upper(), error)
        return options


def passthrough(environment: Mapping[str, str]) -> bool:
    """Does the user want lastword out of the way?"""
    return _wanted(environment, "LASTWORD_PASSTHROUGH")


def record_folder(options: Options, environment: Mapping[str, str]) -> str | None:
    """Where the record is kept, or `None` for nowhere.

    A user's `LASTWORD_NO_RECORD` goes before anything that an author chose; a folder that the
    author named before the user's own.
    """
    if _wanted(environment, "LASTWORD_NO_RECORD") or options.record in (False, ""):
        return None
    if isinstance(options.record, str):
        return named_folder(options.record)
    named = environment.get("LASTWORD_RECORD")
    return named_folder(named) if named else state_folder(environment)


def run_of(options: Options) -> str:
    """The run's id: what incident ids begin with, where the author has not another beginning."""
    own, _, rest = options.incident_prefix.partition("-")
    return own if len(own) == RUN_ID_CHARS and not rest else run_id()


def _wanted(environment: Mapping[str, str], variable: str) -> bool:
    return environment.get(variable, "").lower() in {"1", "true", "yes"}
