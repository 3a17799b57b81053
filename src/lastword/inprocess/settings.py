"""Settings of an agent that lastword runs, from its author or, in the environment, from a user.

Owns reading the environment: the same variables as for `lastword run`, so that a user need learn
them only once. An unusable value is reported and ignored: it must not stop an agent.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from lastword.core.link.option_table import BY_KEY, OPTIONS
from lastword.core.link.options import LinkOptions, Options
from lastword.core.redact.environment_secrets import secrets_of
from lastword.errors import MisuseError
from lastword.inprocess.author_log import logger
from lastword.platform.identity import IMPLEMENTATION, RUN_ID_CHARS, local_time, run_id, zone_of
from lastword.record.paths import named_folder, state_folder

if TYPE_CHECKING:
    from collections.abc import Mapping


_INSTEAD = {
    "stderr_limit_bytes": "stderr is this process's own; leave it out",
    "evidence": "only inside has one here; the rest is for `lastword run`: leave it out",
    "restart": "leave it to whatever starts this process, or start it with `lastword run`",
    "retry": "decorate the call of the model with lastword.retry instead",
    "retry_wait_limit_seconds": "use max_wait_seconds of lastword.retry instead",
    "continue_at_reset_seconds": "use until_reset_seconds of lastword.retry instead",
    "spend_limit": "add up what its model calls cost where they are made; leave it out",
    "fallback_model": "catch the failure of the call, and call another model",
    "fallback_stays": "catch the failure of the call, and call another model",
    "continue_with": "catch the failure that lastword.retry raises, and call the model anew",
    "ask_reminder_seconds": "wait for the user's answer with a timeout of your own, and say so",
    "ask_timeout": "put asyncio.timeout around the request to the user instead",
}
"""The settings without a meaning for an agent in this process, each with what to do instead."""

_ALLOWED = {"evidence": ("inside",)}
"""Their values that do have one."""

_READ = frozenset(Options.__struct_fields__) - {*_INSTEAD, "record"}
"""What is read from the environment as it is: the variables that mean nothing here are there for
`lastword run`, and the record has rules of its own (`record_folder`)."""


_DEFAULTS = Options()


def check(options: Options | None) -> None:
    """Raise MisuseError for a setting that has no meaning for an agent in this process."""
    for name, instead in _INSTEAD.items() if options is not None else ():
        value = getattr(options, name)
        if value not in {getattr(_DEFAULTS, name), *_ALLOWED.get(name, ())}:
            raise MisuseError(
                f"{name}={value!r} has no effect on an agent that runs in this process: {instead}"
            )


def complete(options: Options | None) -> LinkOptions:
    """Return the given options or the environment's, completed with what this process knows.

    Raises:
        MisuseError: One of them has no meaning here.
    """
    check(options)
    chosen = options or from_environment(os.environ)
    shared: dict[str, Any] = {name: getattr(chosen, name) for name in Options.__struct_fields__}
    return LinkOptions(
        **shared
        | {
            "in_process": True,
            "implementation": IMPLEMENTATION,
            "incident_prefix": chosen.incident_prefix or f"{run_id()}-",
            "secrets": (*chosen.secrets, *secrets_of(os.environ)),
            "wall_clock": chosen.wall_clock or local_time,
            "zone_of": zone_of,
        }
    )


def from_environment(environment: Mapping[str, str]) -> Options:
    """Read `LASTWORD_IDLE_TIMEOUT` and the other variables."""
    values: dict[str, Any] = {}
    for option in OPTIONS:
        text = environment.get(option.variable)
        if not text or option.field not in _READ:
            continue
        value = option.read(text)
        if value is None:
            expected = f"it takes {option.expects}, not {text!r}"
            logger.warning("Ignoring %s: %s.", option.variable, expected)
        else:
            values[option.field] = value
    return Options(**values)


def passthrough(environment: Mapping[str, str]) -> bool:
    """Return whether the user wants lastword disabled."""
    return _is_set(environment, "passthrough")


def record_folder(options: Options, environment: Mapping[str, str]) -> str | None:
    """Return where the record is kept, or `None` for nowhere.

    A user's `LASTWORD_NO_RECORD` outranks anything that an author chose; a folder that the author
    named outranks the user's own.
    """
    if _is_set(environment, "no_record") or options.record in (False, ""):
        return None
    if isinstance(options.record, str):
        return named_folder(options.record)
    named = environment.get(BY_KEY["record"].variable)
    return named_folder(named) if named else state_folder(environment)


def reports() -> bool:
    """Return whether the environment asks for reports of failures."""
    return bool(os.environ.get(BY_KEY["report_to"].variable))


def run_of(options: Options) -> str:
    """Return the run's id, the prefix of incident ids unless the author chose another."""
    own, _, rest = options.incident_prefix.partition("-")
    return own if len(own) == RUN_ID_CHARS and not rest else run_id()


def _is_set(environment: Mapping[str, str], key: str) -> bool:
    option = BY_KEY[key]
    return option.read(environment.get(option.variable, "")) is True
