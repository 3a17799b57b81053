"""Clients of every kind: what they say they are, and what they do beside prompting.

Owns their behaviour, as a table of deeds with weights.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.kit.simulation import frames
from tests.kit.simulation.agents import MODES
from tests.kit.simulation.frames import ANSWER, JUNK, OTHER, REQUEST, spoiled

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.kit.simulation.world import World

    Deed = Callable[[World], None]

_TYPED = b'"_meta":{"agent_error":{"version":1%b}}'
PROFILES: dict[str, tuple[int, bytes, bytes]] = {
    "plain": (1, b"", b"editor"),
    "typed": (1, _TYPED % b"", b"editor"),
    "stop_reason": (1, _TYPED % b',"stop_reason":true', b"editor"),
    "retry": (1, _TYPED % b',"retry":true', b"editor"),
    "notices": (1, b'"session":{"notices":{}}', b"editor"),
    "zed": (1, b"", b"Zed"),
    "v2": (2, b"", b"editor"),
    "v2 typed": (2, _TYPED % b',"retry":true', b"editor"),
}
"""Protocol version, capabilities and name of each client."""


def initialize(profile: str, request_id: bytes) -> bytes:
    """The first frame of such a client."""
    version, capabilities, name = PROFILES[profile]
    where, who = (
        (b"capabilities", b"info") if version > 1 else (b"clientCapabilities", b"clientInfo")
    )
    return (
        b'{"jsonrpc":"2.0","id":%b,"method":"initialize","params":{"protocolVersion":%d,'
        b'"%b":{%b},"%b":{"name":"%b","version":"1"}}}'
        % (request_id, version, where, capabilities, who, name)
    )


def _session(w: World) -> bytes:
    return w.pick(w.sessions)


def prompts(w: World) -> None:
    """It prompts, whether or not an earlier prompt is open."""
    w.prompt(_session(w), b"/clear" if w.chance(0.05) else b"hi")


def prompts_twice(w: World) -> None:
    """Two prompts at once in one session."""
    session = _session(w)
    w.prompt(session)
    w.prompt(session)


def cancels(w: World) -> None:
    """It cancels, in one of three ways, something open or long over."""
    dice = w.roll()
    if dice < 0.5:
        w.client(frames.cancel(_session(w)))
        return
    known = list(w.waiting) if w.chance(0.8) else [prompt for prompt, _ in w.past_prompts]
    if dice < 0.9 and known:
        w.client(frames.withdraw(w.pick(known)))
    elif dice > 0.97 and not w.v2:
        w.client(frames.request(w.client_id(), b"session/close", _session(w)))


def answers(w: World) -> None:
    """It answers one of the agent's requests."""
    if not w.dialogs:
        return
    request_id, method = w.dialog()
    dice = w.roll()
    if dice < 0.1:
        w.client(frames.error(request_id, b'{"code":-32603,"message":"no"}'))
    elif method == "terminal/create":
        w.client(frames.result(request_id, b'{"terminalId":"term%d"}' % (1 + int(dice * 9))))
    elif method == "session/request_permission":
        allowed = b'{"outcome":{"outcome":"selected","optionId":"allow"}}'
        w.client(frames.result(_misspelt(request_id) if dice > 0.95 else request_id, allowed))
    else:
        w.client(frames.result(request_id))


def _misspelt(request_id: bytes) -> bytes:
    """The id with another JSON type, or one that is only like it."""
    if request_id.isdigit():
        return b'"%b"' % request_id
    bare = request_id[1:-1]
    return bare if bare.isdigit() else b'"%b.0"' % bare


def answers_late(w: World) -> None:
    """It answers what is long answered, what nobody asks any more, or nothing at all."""
    ids = [*w.past_dialogs, b"77", b"null", b'"lastword:1:1"', b'"lastword:0:1"']
    allowed = b'{"outcome":{"outcome":"selected","optionId":"allow"}}'
    w.client(frames.result(w.pick(ids), allowed))


def asks(w: World) -> None:
    """It asks for something other than a prompt."""
    if w.has_models and w.chance(0.3):
        more = b',"configId":"model","value":"%b"' % w.pick((b"big", b"small", b"tiny"))
        w.client(frames.request(w.client_id(), b"session/set_config_option", _session(w), more))
        return
    methods = (b"session/list", b"session/set_mode", b"session/set_model", b"session/load", b"x/y")
    method = w.pick(methods)
    more = b',"modeId":"%b","cwd":"/w","mcpServers":[]' % w.pick(MODES)
    if not (w.v2 and method == b"session/load"):
        w.client(frames.request(w.client_id(), method, _session(w), more))


def opens(w: World) -> None:
    w.client(frames.request(w.client_id(), b"session/new", b"", b',"cwd":"/w","mcpServers":[]'))


def writes_junk(w: World) -> None:
    junk = w.pick(JUNK).replace(b'"id":1', b'"id":99999')
    w.client(junk)


def spoils(w: World) -> None:
    """One of its lines cannot be read: it is no JSON, or over the limit."""
    what = w.pick((ANSWER, REQUEST, OTHER))
    own = w.client_id()
    if what == ANSWER and w.dialogs:
        own, _ = w.dialog()
    elif w.waiting and w.chance(0.2):
        own = w.pick(list(w.waiting))
    decoy = w.pick([b"7", *w.waiting])
    session = _session(w)
    w.do(*spoiled(w.pick, side="client", what=what, own=own, decoy=decoy, session=session))


def crowds(w: World) -> None:
    """More prompts at once than may wait, or larger ones: they are answered, or have room."""
    session = _session(w)
    if w.chance(0.3):
        for _ in range(1010):
            w.prompt(session)
        return
    for size in w.pick(((17_000_000,), (17_000_000, 10), (2_000_000,) * 10)):
        w.prompt(session, size=size)


def insists(w: World) -> None:
    """It prompts in several sessions at once, and may cancel one of them."""
    for session in w.sessions[:2]:
        w.prompt(session)
        w.prompt(session)
    if w.chance(0.5):
        w.client(frames.cancel(_session(w)))


def leaves(w: World) -> None:
    w.do("close")


DEEDS: tuple[tuple[float, Deed], ...] = (
    (30, prompts),
    (5, prompts_twice),
    (14, cancels),
    (30, answers),
    (6, answers_late),
    (5, asks),
    (2, opens),
    (2, writes_junk),
    (4, spoils),
    (0.1, leaves),
    (0.02, crowds),
    (1, insists),
)
"""How likely each deed is."""
