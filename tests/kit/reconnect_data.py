"""The reconnect policy's values as JSON, and schedules to put it through.

Owns the JSON form that `protocol/reconnect/README.md` describes, on Python's side: what a vector
or the JavaScript file takes and gives. Knows no expectation of its own.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from functools import cache
from random import Random
from typing import Any

from lastword.client import reconnect
from lastword.client.reconnect import Signal
from tests.kit.places import PROTOCOL

FOLDER = PROTOCOL / "reconnect"

_EVENTS = {
    "attached": reconnect.Attached,
    "closed": reconnect.Closed,
    "refused": reconnect.Refused,
    "failed": reconnect.ConnectFailed,
    "token_failed": reconnect.TokenFailed,
}
_ACTIONS = {
    reconnect.Connect: "connect",
    reconnect.CloseSocket: "close",
    reconnect.Probe: "probe",
    reconnect.Show: "show",
    reconnect.GiveUp: "give_up",
    reconnect.WaitUntil: "wait",
}

Moment = tuple[dict[str, Any], int, float]
"""An event as JSON, its moment, and the random number of its step."""


def event_of(told: dict[str, Any]) -> reconnect.Event:
    members = {name: value for name, value in told.items() if name != "event"}
    if told["event"] in _EVENTS:
        event: reconnect.Event = _EVENTS[told["event"]](**members)
        return event
    assert not members
    return Signal(told["event"])


def action_json(action: reconnect.ReconnectAction) -> dict[str, Any]:
    return {"action": _ACTIONS[type(action)], **asdict(action)}


def canonical(value: Any) -> str:
    """One writing for one value: members in order, no space, no escape without need."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def played(moments: list[Moment], start: int = 0) -> list[list[Any]]:
    """What comes of a schedule: state and actions as JSON, for each of its events."""
    state, came = reconnect.initial(start), []
    for told, now, random in moments:
        state, actions = reconnect.step(state, event_of(told), now, random)
        came.append([asdict(state), [action_json(action) for action in actions]])
    return came


@cache
def document() -> dict[str, Any]:
    read: dict[str, Any] = json.loads((FOLDER / "vectors.json").read_text(encoding="utf-8"))
    return read


@cache
def schedules() -> dict[str, dict[str, Any]]:
    return {vector["id"]: vector for vector in document()["schedules"]}


CODES = (999, 1000, 1001, 1002, 1005, 1006, 1008, 1011, 1012, 1013, 1015, 3000, 3500, 4000, 4001)
CODES += (4401, 4404, 4408, 4409, 4410, 4425, 4429, 4499, 4500)
REASONS = ("", "", "", "retry=7", "retry=400", "Unexpected server response: 503", "wait\x1b[2J ✓")
STATUSES = (101, 200, 301, 400, 401, 403, 404, 408, 410, 421, 425, 429, 500, 503)
KINDS = ("dns", "tls", "certificate has expired", "Unexpected server response: 404", "ECONNRESET")
SIGNALS = ("offline", "online", "hidden", "visible", "retry")
LINK = ("opened", "attached", "closed", "frame", "refused", "failed", "token_failed")
PASSING = ("tick",) * 12 + ("opened", "attached") * 3 + LINK + ("offline", "online", "online")
"""What a link goes through that fails, and comes back, by itself."""


def drawn_event(random: Random, *, any_at_all: bool) -> dict[str, Any]:
    """An event: any, also where it makes no sense, or one that a link gets over."""
    name = random.choice((*LINK * 2, *SIGNALS, "tick", "close") if any_at_all else PASSING)
    match name:
        case "attached":
            return {"event": name, "updates": random.choice((0, 1, 212)), "probes": _coin(random)}
        case "closed":
            code = random.choice(CODES if any_at_all else (1006, 1006, 1011, 4408, 1012))
            reason = random.choice(REASONS) if any_at_all else ""
            return {"event": name, "code": code, "reason": reason}
        case "refused":
            status = random.choice(STATUSES if any_at_all else (429, 500, 503))
            after = random.choice((None, 0, 20, "30", " 5 ", "Wed, 21 Oct 2026 07:28:00 GMT", 301))
            return {"event": name, "status": status, "retry_after": after if any_at_all else None}
        case "failed" | "token_failed":
            return {"event": name, "kind": random.choice(KINDS) if any_at_all else "dns"}
    return {"event": name}


def drawn_schedule(seed: int, length: int = 60) -> list[Moment]:
    """A schedule of events, at moments that matter: often just when the timer ends."""
    random = Random(seed)
    state, now, moments = reconnect.initial(0), 0, []
    any_at_all = _coin(random)
    for _ in range(length):
        until = reconnect.timer(state)
        jump = random.choice((0, 1, 40, 900, 2_500, 11_000, 31_000, 400_000))
        now = max(now, until) if until is not None and _coin(random) else now + jump
        told, lot = drawn_event(random, any_at_all=any_at_all), random.random()
        moments.append((told, now, lot))
        state, _ = reconnect.step(state, event_of(told), now, lot)
    return moments


def _coin(random: Random) -> bool:
    return random.random() < 0.5
