"""The sources that an agent has beside its pipes, and what each tells about a failure.

Owns the sentences. The caller, which starts the agent, knows which sources there are and where.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from lastword.core.link.handshake import read_agent
from lastword.kit.doctor.findings import Observation, note, ok

if TYPE_CHECKING:
    from lastword.kit.doctor.conversation import ConversationResult

STEP = "sources"
IN_TIME = "the user learns of a failed model call while the agent tries again"
AT_THE_END = "the user learns what failed once the agent has given up"


def agent_name(result: ConversationResult) -> str | None:
    """Return what the agent called itself, if it answered."""
    return read_agent((result.hello or {}).get("result")).name


def journal(place: str, *, in_time: bool) -> Observation:
    """Describe a file that the agent always writes."""
    shown = _from_home(place)
    when = IN_TIME if in_time else AT_THE_END
    if os.access(place, os.R_OK):
        return ok(STEP, f"Its journal {shown} can be read: {when}.", path=shown)
    if os.path.lexists(place):
        sentence = f"Its journal {shown} cannot be read."
        return note(STEP, sentence, "Let this user read it, to learn of retries early", path=shown)
    return note(STEP, f"Its journal {shown} does not exist yet. Once it does, {when}.", path=shown)


def events(*, has_port: bool) -> Observation:
    """Describe a stream of events that the agent serves."""
    if has_port:
        return ok(STEP, f"lastword gives it a port on this machine for its events: {IN_TIME}.")
    return note(
        STEP,
        "lastword does not give it a port for its events: this system cannot say who owns a port.",
    )


def none() -> Observation:
    """Report that there is no source."""
    when = "in its messages, its stderr, and logs that carry its name."
    return ok(STEP, f"lastword knows no log of this agent. It looks for causes {when}")


def costs(limit: str) -> Observation:
    """Report what a spending limit depends on, which no conversation without a prompt shows."""
    return note(
        "spending",
        f"--spend-limit is {limit}. It acts on the costs that the agent states. If the first turn "
        "ends without one, the client is notified that the limit has no effect.",
        limit=limit,
    )


def silences(*, why_not: str | None) -> Observation:
    """Report whether the cause of a silence can be seen: the agent's own connections."""
    if why_not is None:
        return ok(STEP, "lastword sees the agent's own connections, and so why it is silent.")
    return note(STEP, f"The agent's connections cannot be seen here ({why_not}).")


def switched_off() -> Observation:
    """Report that no source is read."""
    sentence = "LASTWORD_EVIDENCE is set: lastword reads nothing but the agent's pipes."
    return note(STEP, sentence, "Unset it to learn of retries early")


def _from_home(place: str) -> str:
    home = os.path.expanduser("~")
    inside = place.startswith(home + os.sep)
    return "~" + place[len(home) :] if inside else place
