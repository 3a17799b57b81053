"""What came of one failing turn in one client, judged from the client's report and the frames.

Owns three questions: by which carriers the right type reached user code, whether the sentence is to
be seen in what a plain client shows, and whether the next prompt worked. A carrier that was sent
and did not arrive was dropped by the SDK.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.interop.clients_cells import Turns, expected_type, is_idle, update_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.interop.runs import Event

UPDATE, INFO, DATA = "the `agent_error` update", "`session_info_update`", "the error's `data`"
META, STATE, AIR = "the result's `_meta`", "the idle state's `error`", "`sessionFailure`"
CARRIERS = (UPDATE, INFO, DATA, META, STATE, AIR)
RAISED = "`PromptFailedError`, or one of its kinds"
TRANSLATED = {UPDATE: "the `agent_error` callback", DATA: "the exception's `error`"}
"""Where a library hands out one shape, what its user code finds them as."""

HANG, LOST, NOTHING = "**hang**", "**result lost**", "**nothing**"
IN_MESSAGE, IN_DETAILS, AS_TEXT = "in the error's message", "in `data.details`", "as text"
OWN_WORDS, UNSEEN = "the agent's own words", "no"
ANSWERED = "as it should"


@dataclass(frozen=True, slots=True)
class Seen:
    """One turn and the one after it.

    Attributes:
        arrived: The carriers that brought the right type.
        dropped: Those that were sent and did not.
        logged: Did the SDK complain about one?
        visible: Where a plain client shows what happened.
        next_works: Was the prompt after it answered, with text?
        wrong: Types that arrived and were others.
    """

    ended: str
    arrived: tuple[str, ...]
    dropped: tuple[str, ...]
    logged: bool
    visible: str
    next_works: bool
    wrong: tuple[str, ...] = ()

    @property
    def is_bad(self) -> bool:
        """Is it what must not be: no answer, an answer lost, or a session that is dead?"""
        ended = self.ended in {HANG, NOTHING} or self.ended.startswith(LOST)
        return ended or not self.next_works


def verdicts(turns: Turns) -> dict[str, Seen]:
    """What came of each kind of failure that was played."""
    return {kind: _seen(turns, kind, 2 * at) for at, kind in enumerate(turns.kinds)}


def _seen(turns: Turns, kind: str, number: int) -> Seen:
    outcome = _outcome(turns, number)
    # Some SDKs hand out updates late: nothing of a healthy turn looks like those of a failing one.
    told = list(_between(turns, number, number + 2))
    found = dict(_found(outcome, told))
    expected = expected_type(kind)
    arrived = tuple(n for n in CARRIERS if n in found and found[n] in {expected, n})
    sent = _sent(turns.sent[number] if number < len(turns.sent) else [])
    return Seen(
        ended=_ending(outcome, sent),
        arrived=tuple(TRANSLATED[n] for n in arrived) if turns.translated else arrived,
        dropped=() if turns.translated and arrived else _dropped(sent, found),
        logged=any(line["event"] == "log" and not _about_itself(line) for line in told),
        visible=ANSWERED if expected is None else _visible(outcome, told, sent),
        next_works=_works(turns, number + 1),
        wrong=tuple(sorted({str(found[n]) for n in found if n not in arrived})),
    )


def _dropped(sent: dict[str, str], found: dict[str, Any]) -> tuple[str, ...]:
    return tuple(name for name in CARRIERS if name in sent and name not in found)


def _about_itself(line: Event) -> bool:
    return str(line.get("text")).startswith("[acpx]")


def _outcome(turns: Turns, number: int) -> Event:
    """How a turn ended, as user code was told; of no event where it was not."""
    told = [line for line in turns.report.outcomes() if line["n"] == number]
    return told[0] if told else {"event": "none"}


def _between(turns: Turns, first: int, last: int) -> Iterator[Event]:
    """The client's lines from one prompt up to another, or to the end."""
    inside = False
    for line in turns.report.events:
        if line["event"] == "prompt":
            inside = first <= line["n"] < last
        if inside:
            yield line


def _ending(outcome: Event, sent: dict[str, str]) -> str:
    event = outcome["event"]
    if event == "error" and META in sent and not outcome.get("cause"):
        return f"{LOST} (error {outcome['code']})"  # of the SDK's making
    if event == "answer":
        return f"`{outcome.get('stop_reason')}`"
    if event == "error":
        return RAISED if outcome.get("cause") else "an error"
    if event == "exception":
        return f"{LOST} (`{outcome['cause']}`)"
    return HANG if event == "hang" else NOTHING


def _type_in(holder: Any) -> Any:
    """The payload's type in something that may hold `agent_error`."""
    payload = holder.get("agent_error") if isinstance(holder, dict) else None
    return payload.get("type") if isinstance(payload, dict) else None


def _in_result(result: Any) -> Iterator[tuple[str, Any]]:
    meta = (result.get("_meta") or {}) if isinstance(result, dict) else {}
    if (found := _type_in(meta)) is not None:
        yield META, found
    if "sessionFailure" in ((meta.get("jetbrains") or {}).get("air") or {}):
        yield AIR, AIR


def _in_update(update: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    kind = update.get("sessionUpdate")
    if kind in {"agent_error", "_agent_error"}:
        yield UPDATE, (update.get("error") or {}).get("type")
    elif kind == "session_info_update" and (found := _type_in(update.get("_meta"))) is not None:
        yield INFO, found
    elif (found := _type_in((update.get("error") or {}).get("data"))) is not None:
        yield STATE, found  # of an idle `state_update`


def _found(outcome: Event, told: list[Event]) -> Iterator[tuple[str, Any]]:
    """The carriers that reached user code, with the type that each brought."""
    for line in told:
        if line["event"] == "update":
            yield from _in_update(line["update"])
    read = [line["type"] for line in told if line["event"] == "read"]
    if len(read) > 1:  # by a reader of the client's own; the last one was the turn's end
        yield UPDATE, read[0]
    if (found := _type_in(outcome.get("data"))) is not None:
        yield DATA, found
    yield from _in_result(outcome.get("result"))


def _sent(frames: list[dict[str, Any]]) -> dict[str, str]:
    """The carriers on the wire; and the sentence and the agent's own words, under their names."""
    sent: dict[str, str] = {}
    for frame in frames:
        carried = [*_in_update(update_of(frame)), *_in_result(frame.get("result"))]
        error = update_of(frame).get("error") if is_idle(frame) else frame.get("error")
        if isinstance(error, dict):
            data = error.get("data") or {}
            sent["message"], sent["details"] = error["message"], data.get("details", "")
            if "error" in frame and (found := _type_in(data)) is not None:
                carried.append((DATA, found))
        sent |= dict(carried)
        sent |= _sentence(frame)
    return sent


def _sentence(frame: dict[str, Any]) -> dict[str, str]:
    """The payload's sentence, wherever a frame holds the payload."""
    update = update_of(frame)
    error = frame.get("error") or update.get("error") or {}
    holders = (error.get("data"), update.get("_meta"), (frame.get("result") or {}).get("_meta"))
    payloads = [holder["agent_error"] for holder in holders if _type_in(holder) is not None]
    if update.get("sessionUpdate") in {"agent_error", "_agent_error"}:
        payloads.append(error)
    return {"sentence": payloads[0]["message"]} if payloads else {}


def _visible(outcome: Event, told: list[Event], sent: dict[str, str]) -> str:
    """Where the sentence is, in what a client shows that knows nothing but the protocol."""
    sentence = sent.get("sentence", "")
    error = outcome
    if isinstance(outcome.get("result"), dict):
        error = outcome["result"].get("error") or {}
    data = error.get("data")
    details = str(data.get("details", "")) if isinstance(data, dict) else ""
    if sentence and sentence in str(error.get("message")):
        return IN_MESSAGE
    if sentence and sentence in details:
        return IN_DETAILS
    if sentence and sentence in _text(told):
        return AS_TEXT
    return OWN_WORDS if error.get("message") and META not in sent else UNSEEN


def _text(told: list[Event]) -> str:
    chunks = [line["update"] for line in told if line.get("kind") == "agent_message_chunk"]
    return "".join(str((chunk.get("content") or {}).get("text", "")) for chunk in chunks)


def _works(turns: Turns, number: int) -> bool:
    """Was this healthy prompt answered, and did its text come?"""
    answered = _outcome(turns, number).get("stop_reason") == "end_turn"
    return answered and bool(_text(list(_between(turns, number, number + 2))))
