"""Events of a session behind a gateway in words, for a line of a timeline.

Owns the words. A viewer is named by the beginning of its id.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lastword.core.failure.phrases import TYPES, counted, plain
from lastword.core.timeline.entry import Kind

if TYPE_CHECKING:
    from collections.abc import Callable

_VIEWER_CHARS = 6
_MIB = 1024 * 1024

CAUSES = {
    "attached_again": "it opened the session again",
    "closed": "it closed the connection",
    "deleted": "it ended the connection",
    "forbidden": "it was not allowed to connect",
    "front_error": "an error in the gateway",
    "front_gone": "the gateway's front went away",
    "front_restarts": "the gateway restarts or stops",
    "front_stops": "the gateway stopped",
    "link_cut": "the connection was cut",
    "no_heartbeat": "its connection stopped responding",
    "no_pong": "its connection stopped responding",
    "no_stream": "it left no stream open",
    "protocol": "it broke the protocol",
    "session_ended": "the session ended",
    "session_unknown": "it asked for another session",
    "stalled": "it accepted no data for too long",
    "superseded": "the same viewer connected again",
    "tab_closed": "its tab or program was closed",
    "too_large": "it sent too large a frame",
    "too_many": "there were too many",
    "unauthorized": "its token is no longer good",
    "went_away": "its tab or program was closed",
}
"""Why a viewer left, by the word that is recorded; `went_away` is how 0.2.0 recorded
`tab_closed`."""

_QUESTIONS = {
    "permission": "the agent's question for a permission",
    "form": "the agent's form",
    "file": "the agent's request for a file",
    "command": "the agent's request for a command",
}
_DECIDED = {
    "answered": "answered",
    "expired": "no viewer came in time, so it was refused",
    "rejected": "no viewer was connected, so it was refused",
    "withdrawn": "withdrawn by the agent",
    "lost": "lost with the agent",
}
_RESETS = {
    "damaged": "its file was damaged and has been set aside",
    "restored": "its file is not the one that it was",
    "rebooted": "the machine went down while it was written",
    "disk": "the disk is full, so it continues in memory",
    "fleet": "the fleet's copy of it ended earlier",
    "lost": "no copy of it is left",
}
ENDS = {
    "closed": "a viewer closed it",
    "left": "its last viewer had left",
    "idle": "no viewer was connected for too long",
    "stopped": "its agent or the gateway was stopped",
}


def _viewer(facts: dict[str, Any]) -> str:
    name = str(facts.get("viewer") or "")[:_VIEWER_CHARS]
    return f"viewer {name}" if name else "a viewer"


def _holding(facts: dict[str, Any]) -> str:
    name = facts.get("name")
    return f"held by a gateway, which names it {name}" if name else "held by a gateway"


def _came(facts: dict[str, Any]) -> str:
    how = "came back" if facts.get("back") else "came"
    sentence = f"{_viewer(facts)} {how}"
    if facts.get("client"):
        sentence += f": {facts['client']}"
    return f"{sentence}, to watch" if facts.get("role") == "observer" else sentence


def _left(facts: dict[str, Any]) -> str:
    word = str(facts.get("cause") or "other")
    cause = CAUSES.get(word, word.replace("_", " "))
    return f"{_viewer(facts)} left: {cause} ({facts.get('code', 'no code')})"


def _lags(facts: dict[str, Any]) -> str:
    size = facts.get("bytes")
    behind = f" ({size / _MIB:.1f} MiB)" if isinstance(size, int) else ""
    entries = facts.get("entries")
    behind_by = counted(entries, "entry") if isinstance(entries, int) else "far"
    return f"{_viewer(facts)} is {behind_by}{behind} behind"


def _caught_up(facts: dict[str, Any]) -> str:
    return f"{_viewer(facts)} has caught up"


def _gap(facts: dict[str, Any]) -> str:
    first, last = facts.get("first"), facts.get("last")
    if not isinstance(first, int) or not isinstance(last, int):
        return f"{_viewer(facts)} missed entries that are no longer kept"
    missed = counted(last - first + 1, "entry")
    return f"{_viewer(facts)} missed {missed} ({first} to {last}), no longer kept"


def _question(facts: dict[str, Any]) -> str:
    return _QUESTIONS.get(str(facts.get("what")), "the agent's question")


def _question_waiting(facts: dict[str, Any]) -> str:
    return f"{_question(facts)} is waiting for a viewer to answer it"


def _question_decided(facts: dict[str, Any]) -> str:
    how = str(facts.get("how") or "over")
    sentence = f"{_question(facts)}: {_DECIDED.get(how, how)}"
    return f"{sentence} by {_viewer(facts)}" if facts.get("viewer") else sentence


def _lost(facts: dict[str, Any]) -> str:
    turns, incident = facts.get("open_turns"), facts.get("incident_id")
    about = f", during {counted(turns, 'turn')}" if isinstance(turns, int) else ""
    return f"{about}, incident {incident}" if incident else about


def _died(facts: dict[str, Any]) -> str:
    return f"taken over: the process that held the session died{_lost(facts)}"


def _fenced(facts: dict[str, Any]) -> str:
    sentence = "another machine took the session over, and the agent here was ended"
    entries = facts.get("entries")
    if not isinstance(entries, int) or not entries:
        return sentence
    return f"{sentence}; {counted(entries, 'entry')} that nobody was shown set aside"


def _exited(facts: dict[str, Any]) -> str:
    how, code = facts.get("exit_signal"), facts.get("exit_code")
    ending = how or (f"exit status {code}" if code is not None else "gone")
    return f"the gateway's link to the agent ended: {ending}{_lost(facts)}"


def _restored(facts: dict[str, Any]) -> str:
    if facts.get("history") == "none":
        return "session restored; the agent remembers nothing of the conversation"
    return "session restored with its full history"


def _not_restored(facts: dict[str, Any]) -> str:
    about = [plain(facts["type"], TYPES)] if facts.get("type") else []
    about += [plain(facts["reason"])] if facts.get("reason") else []
    if facts.get("incident_id"):
        about.append(f"incident {facts['incident_id']}")
    sentence = "session not restored: the agent refused"
    return f"{sentence} ({', '.join(about)})" if about else sentence


def _reset(facts: dict[str, Any]) -> str:
    why = _RESETS.get(str(facts.get("reason")), str(facts.get("reason") or "no reason known"))
    return f"the gateway's log of the session was started again: {why}"


def _ended(facts: dict[str, Any]) -> str:
    why = ENDS.get(str(facts.get("cause")), str(facts.get("cause") or ""))
    return f"session ended: {why}" if why else "session ended"


DESCRIPTIONS: dict[Kind, Callable[[dict[str, Any]], str]] = {
    Kind.SESSION_HELD: _holding,
    Kind.VIEWER_CAME: _came,
    Kind.VIEWER_LEFT: _left,
    Kind.VIEWER_LAGS: _lags,
    Kind.VIEWER_CAUGHT_UP: _caught_up,
    Kind.GAP_TOLD: _gap,
    Kind.QUESTION_HELD: _question_waiting,
    Kind.QUESTION_DECIDED: _question_decided,
    Kind.HOLDER_DIED: _died,
    Kind.SESSION_FENCED: _fenced,
    Kind.SUPERVISOR_EXITED: _exited,
    Kind.SESSION_RESTORED: _restored,
    Kind.SESSION_NOT_RESTORED: _not_restored,
    Kind.LOG_RESET: _reset,
    Kind.SESSION_ENDED: _ended,
}
