"""The sources beside the pipes that an agent has, and what each would have told of a failure.

Owns the sentences. Which sources there are, and where, the caller knows: it starts the agent.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from lastword.core.link.handshake import read_agent
from lastword.kit.doctor.findings import Observation, note, ok

if TYPE_CHECKING:
    from lastword.kit.doctor.conversation import Seen

STEP = "sources"
IN_TIME = "a model call that fails is told while the agent tries again"
AT_THE_END = "what failed is told once the agent has given up"


def agent_name(seen: Seen) -> str | None:
    """Return what the agent called itself, if it answered."""
    return read_agent((seen.hello or {}).get("result")).name


def journal(place: str, *, in_time: bool) -> Observation:
    """Tell of a file that the agent writes by itself."""
    shown = _from_home(place)
    told = IN_TIME if in_time else AT_THE_END
    if os.access(place, os.R_OK):
        return ok(STEP, f"Its journal {shown} can be read: {told}.", path=shown)
    if os.path.lexists(place):
        says = f"Its journal {shown} cannot be read, and so tells nothing."
        return note(STEP, says, "Let this user read it, to learn of retries in time", path=shown)
    return note(STEP, f"Its journal {shown} is not there yet; once it is, {told}.", path=shown)


def given_file(*, given: bool) -> Observation:
    """Tell of a log that the agent writes where it is told to."""
    if given:
        return ok(STEP, f"It is given a file in memory for its debug log: {IN_TIME}.")
    says = "It is given no file for its debug log: only one that is started as gemini is."
    return note(STEP, says)


def events(*, has_port: bool) -> Observation:
    """Tell of a stream of events that the agent serves."""
    if has_port:
        return ok(STEP, f"It is given a port on this machine for its events: {IN_TIME}.")
    return note(
        STEP, "It is given no port for its events: on this system nobody could tell whose it is."
    )


def none() -> Observation:
    """Tell that there is no source."""
    told = "in its messages, on its stderr, and in logs that carry its name."
    return ok(STEP, f"No log of this agent is known to lastword, which looks for causes {told}")


def switched_off() -> Observation:
    """Tell that none is looked at."""
    says = "Nothing is looked at but the pipes, by LASTWORD_EVIDENCE."
    return note(STEP, says, "Unset it to learn of retries in time")


def _from_home(place: str) -> str:
    home = os.path.expanduser("~")
    inside = place.startswith(home + os.sep)
    return "~" + place[len(home) :] if inside else place
