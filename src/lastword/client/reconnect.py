"""Reconnect policy: when a viewer of a gateway connects, waits, probes and gives up.

The policy is one pure function. A shell owns the socket, one timer and the line on the screen; it
reports events and carries out the actions:

```python
state = reconnect.initial(now)
state, actions = reconnect.step(state, reconnect.Signal.TICK, now, random.random())
```

Moments are whole milliseconds of any clock that never goes back (`time.monotonic_ns() // 10**6`),
and durations are whole milliseconds too, so that all languages compute the same bytes:
`protocol/reconnect/` has the contract (from `RCN-1`), the same function in JavaScript, and vectors
for both. Owns no socket, clock, random source or token, and needs only the standard library.

The shell's duties: keep one timer, set by the last `WaitUntil`, and send `TICK` when it ends (an
early or extra one does no harm); after `CloseSocket` or a new `Connect`, ignore events of the
earlier socket; use a new URL and token for each `Connect`; if a socket gives several signs of one
failure, report the first; report an error in the answer to its attach as `Refused`, with the
equivalent status (404 for -32002). With a gateway on loopback, pass neither `OFFLINE` nor `ONLINE`,
which mean nothing there.
"""

from __future__ import annotations

import math
from dataclasses import replace

from lastword.client.close_codes import (
    Loss,
    LossKind,
    Why,
    classify_close,
    classify_failure,
    classify_upgrade,
    plain,
)
from lastword.client.reconnect_model import (
    CONNECTING,
    ENDS,
    Attached,
    Closed,
    CloseSocket,
    Connect,
    ConnectFailed,
    Event,
    GiveUp,
    LinkPhase,
    Probe,
    ReconnectAction,
    ReconnectState,
    Refused,
    Show,
    Signal,
    TokenFailed,
    WaitUntil,
    progress_line,
    span,
    success_line,
)

__all__ = [
    "Attached",
    "CloseSocket",
    "Closed",
    "Connect",
    "ConnectFailed",
    "Event",
    "GiveUp",
    "LinkPhase",
    "Loss",
    "LossKind",
    "Probe",
    "ReconnectAction",
    "ReconnectState",
    "Refused",
    "Show",
    "Signal",
    "TokenFailed",
    "WaitUntil",
    "Why",
    "classify_close",
    "classify_failure",
    "classify_upgrade",
    "initial",
    "step",
    "timer",
]

FIRST_DELAY = 1_000
"""The wait before the first further try; it doubles with each."""
MAX_DELAY = 30_000
"""The longest wait of the policy's own, before its jitter: 1, 2, 4, 8, 16, 30, 30 … s."""
JITTER = 0.25
"""Each wait is up to so much shorter or longer, lest viewers that fell together return together."""
TRIES = 6
"""Further tries after a failure: 61 s in all, as codev's `reconnect-policy` has them."""
PATIENT_TRIES = 20
"""The same where the gateway said that it comes back: 8 min, for a deployment."""
FUSE = 10_000
"""How long a connection, and then its attach, may show no progress; without one a connect that
nobody answers hangs forever (VS Code issue 315552)."""
STABLE_AFTER = 30_000
"""How long after attach a link counts as one that holds: only then are tries counted anew."""
PROBE_EVERY = 30_000
PROBE_FUSE = 10_000
QUICK_PROBE_FUSE = 5_000
"""A probe's fuse when the user comes back, or the network: somebody is looking."""
HIDDEN_LONG = 30_000
"""How long a page is hidden before its socket is doubted: suspended, it still says it is open."""
QUIET = 2_000
"""How long a loss goes untold, for proxies cut connections by age, and most are back within that;
and a return, lest a gateway that accepts and closes fill the line."""
SERVER_JITTER = 1_000
"""What is added at most to a wait that the gateway asked for."""
MAX_SERVER_WAIT = 300_000
"""The longest wait of the gateway's that is begun, as for the retries of a prompt (`RTY-9`)."""


def initial(now: int) -> ReconnectState:
    """Return the state before the first connection, which the first `TICK` begins."""
    return ReconnectState(
        phase=LinkPhase.WAITING,
        due=now,
        tries=0,
        budget=TRIES,
        earliest=0,
        lost=now,
        tell=now + QUIET,
        returning=False,
        probes=False,
        unanswered=None,
        stable=None,
        heard=False,
        refused=False,
        online=True,
        hidden=None,
        line="",
        news="",
        cause="",
        why=None,
    )


def timer(state: ReconnectState) -> int | None:
    """Return the moment at which the state wants a `TICK`, or `None` if it waits for an event."""
    moments = [state.unanswered, state.tell]
    if state.phase is not LinkPhase.WAITING or state.online:
        moments.append(state.due)
    if not state.probes:
        moments.append(state.stable)
    return min((moment for moment in moments if moment is not None), default=None)


_Step = tuple[ReconnectState, tuple[ReconnectAction, ...]]


def step(state: ReconnectState, event: Event, now: int, random: float) -> _Step:
    """Receive an event.

    Args:
        state: The state before.
        event: What happened. An event that cannot happen in this state changes nothing.
        now: The moment, in milliseconds.
        random: A random number in [0, 1), new for each call.

    Returns:
        The new state, and the actions to carry out, in order.
    """
    after, actions = _receive(state, event, now, random)
    if after is state and event is not Signal.TICK:
        return state, ()
    after, shown = _announced(after, now)
    actions += shown
    if timer(after) != timer(state):
        actions += (WaitUntil(timer(after)),)
    return after, actions


_ATTEMPTING = {LinkPhase.CONNECTING, LinkPhase.ATTACHING}
_WITH_SOCKET = {*_ATTEMPTING, LinkPhase.ATTACHED}


def _receive(state: ReconnectState, event: Event, now: int, random: float) -> _Step:
    match event:
        case Signal():
            return _SIGNALS[event](state, now, random)
        case Attached():
            return _attached(state, event, now) if state.phase in _ATTEMPTING else (state, ())
        case Closed():
            loss = classify_close(event.code, event.reason)
            return _lost(state, loss, now, random) if state.phase in _WITH_SOCKET else (state, ())
        case Refused():
            loss = classify_upgrade(event.status, event.retry_after)
        case ConnectFailed():
            loss = classify_failure(event.kind)
        case TokenFailed():
            cause = f"no token: {event.kind}" if event.kind else "no token"
            loss = Loss(LossKind.TRANSIENT, plain(cause))
    if state.phase not in _ATTEMPTING:
        return state, ()
    after, actions = _lost(state, loss, now, random)
    if state.phase is LinkPhase.ATTACHING:
        actions = (CloseSocket(1000, "not attached"), *actions)
    return after, actions


# --- the link --------------------------------------------------------------------------------


def _connected(state: ReconnectState, now: int) -> _Step:
    """Begin an attempt."""
    connecting = replace(state, phase=LinkPhase.CONNECTING, due=now + FUSE, heard=False)
    return connecting, (Connect(state.refused),)


def _opened(state: ReconnectState, now: int, _random: float) -> _Step:
    if state.phase is not LinkPhase.CONNECTING:
        return state, ()
    return replace(state, phase=LinkPhase.ATTACHING, due=now + FUSE, heard=False), ()


def _attached(state: ReconnectState, event: Attached, now: int) -> _Step:
    # A loss that was not shown is not shown to be over.
    was_shown = state.tell is None
    after = replace(
        state,
        phase=LinkPhase.ATTACHED,
        due=now + PROBE_EVERY if event.probes else None,
        lost=state.lost if was_shown else None,
        tell=now + QUIET if was_shown else None,
        returning=True,
        probes=event.probes,
        unanswered=None,
        stable=now + STABLE_AFTER,
        news=success_line(state, event.updates, now) if was_shown else "",
        cause="",
    )
    return after, ()


def _frame(state: ReconnectState, now: int, _random: float) -> _Step:
    if state.phase is LinkPhase.ATTACHING and not state.heard:
        return replace(state, heard=True), ()
    if state.phase is not LinkPhase.ATTACHED:
        return state, ()
    if state.unanswered is not None:
        state = replace(state, unanswered=None)
    if state.stable is not None and now >= state.stable:
        return _settled(state)
    return state, ()


def _settled(state: ReconnectState) -> _Step:
    """Count the link as stable."""
    shown = (Show("", ""),) if state.line else ()
    after = replace(
        state,
        tries=0,
        budget=TRIES,
        earliest=0,
        lost=None,
        tell=None,
        stable=None,
        refused=False,
        line="",
        news="",
    )
    return after, shown


def _tick(state: ReconnectState, now: int, random: float) -> _Step:
    if state.phase is LinkPhase.ATTACHED:
        return _looked_after(state, now, random)
    if state.due is None or now < state.due:
        return state, ()
    if state.phase is LinkPhase.WAITING:
        return _connected(state, now) if state.online else (state, ())
    if state.heard:  # a long replay: it goes on
        return replace(state, due=now + FUSE, heard=False), ()
    is_open = state.phase is LinkPhase.ATTACHING
    cause = "no answer in 10 s" if is_open else "no connection in 10 s"
    after, actions = _lost(state, Loss(LossKind.TRANSIENT, cause), now, random)
    return after, (CloseSocket(4408, cause), *actions)


def _looked_after(state: ReconnectState, now: int, random: float) -> _Step:
    """Do what is due while attached."""
    if state.unanswered is not None and now >= state.unanswered:
        after, actions = _lost(state, Loss(LossKind.NOW, "no heartbeat"), now, random)
        return after, (CloseSocket(4408, "no-heartbeat"), *actions)
    if not state.probes and state.stable is not None and now >= state.stable:
        return _settled(state)
    if state.due is not None and now >= state.due:
        return _probed(state, now, PROBE_FUSE)
    return state, ()


def _probed(state: ReconnectState, now: int, fuse: int) -> _Step:
    """Ask for a sign of life; an unanswered probe keeps its fuse if that ends sooner."""
    until = now + fuse
    if state.unanswered is not None:
        until = min(until, state.unanswered)
    return replace(state, unanswered=until, due=now + PROBE_EVERY), (Probe(),)


# --- its loss --------------------------------------------------------------------------------


def _lost(state: ReconnectState, loss: Loss, now: int, random: float) -> _Step:
    """Plan what follows the end of a link, or of an attempt."""
    was_stable = state.phase is LinkPhase.ATTACHED and (
        state.stable is None or (not state.probes and now >= state.stable)
    )
    settling: tuple[ReconnectAction, ...] = ()
    if was_stable:
        state, settling = _settled(state)
    lost = now if state.lost is None else state.lost
    state = replace(
        state,
        budget=PATIENT_TRIES if loss.kind is LossKind.PATIENT else state.budget,
        lost=lost,
        tell=max(now, lost + QUIET),
        probes=False,
        unanswered=None,
        stable=None,
        news="",
        cause=loss.cause,
    )
    after, actions = _after_loss(state, loss, now, random, was_stable=was_stable)
    return after, (*settling, *actions)


def _after_loss(
    state: ReconnectState, loss: Loss, now: int, random: float, *, was_stable: bool
) -> _Step:
    if loss.kind is LossKind.REFRESH and not state.refused:
        state = replace(state, refused=True)
        return _connected(state, now) if state.online else _waiting(state, now)
    if loss.why is not None:
        return _ended(state, loss.why)
    return _next_try(state, loss, now, random, was_stable=was_stable)


def _next_try(
    state: ReconnectState, loss: Loss, now: int, random: float, *, was_stable: bool
) -> _Step:
    if loss.wait is not None:
        state = replace(state, earliest=max(state.earliest, now + loss.wait))
    if state.earliest - now > MAX_SERVER_WAIT:
        return _ended(state, Why.ASKED_TO_WAIT, span(state.earliest - now))
    if not state.online:
        return _waiting(state, now)
    if state.tries == state.budget:
        return _ended(state, Why.UNREACHABLE)
    delay = min(FIRST_DELAY * 2**state.tries, MAX_DELAY)
    delay += math.floor(delay * (random * 2 - 1) * JITTER)
    is_first = state.tries == 0
    state = replace(state, tries=state.tries + 1)
    at_once = loss.kind is LossKind.NOW or (loss.kind is LossKind.CUT and was_stable)
    if at_once and is_first and now >= state.earliest:
        return _connected(state, now)
    if state.earliest > now + delay:
        return _waiting(state, state.earliest + math.floor(random * SERVER_JITTER))
    return _waiting(state, now + delay)


def _waiting(state: ReconnectState, due: int) -> _Step:
    return replace(state, phase=LinkPhase.WAITING, due=due), ()


def _ended(state: ReconnectState, why: Why, wait: str = "") -> _Step:
    end = ENDS[why]
    line = end.line.format(tries=state.tries, wait=wait)
    is_final = why in {Why.SESSION_ENDED, Why.SUPERSEDED}
    after = replace(
        state,
        phase=LinkPhase.ENDED if is_final else LinkPhase.GAVE_UP,
        due=None,
        tell=None,
        line=line,
        why=why,
    )
    return after, (GiveUp(why, line, end.advice, end.button, state.cause),)


def _anew(state: ReconnectState, now: int) -> _Step:
    """Begin a new round at once, and say so, since somebody waits for it."""
    lost = now if state.lost is None else state.lost
    state = replace(state, tries=0, budget=TRIES, lost=lost, tell=None, line=CONNECTING, why=None)
    connecting, actions = _connected(state, now)
    return connecting, (*actions, Show(CONNECTING, ""))


# --- what is around it -----------------------------------------------------------------------


def _went_offline(state: ReconnectState, now: int, _random: float) -> _Step:
    """Hold the next try; an open socket may well keep working, and stays."""
    if not state.online:
        return state, ()
    state = replace(state, online=False)
    return (_announce_again(state, now) if state.phase is LinkPhase.WAITING else state), ()


def _went_online(state: ReconnectState, now: int, _random: float) -> _Step:
    state = replace(state, online=True)
    if state.phase is LinkPhase.ATTACHED and state.probes:
        return _probed(state, now, QUICK_PROBE_FUSE)
    if state.phase is LinkPhase.WAITING:
        state = _announce_again(state, now)
        if now >= state.earliest:
            return _connected(state, now)
        return replace(state, due=state.earliest), ()
    return _woken(state, now)


def _went_hidden(state: ReconnectState, now: int, _random: float) -> _Step:
    return (replace(state, hidden=now) if state.hidden is None else state), ()


def _became_visible(state: ReconnectState, now: int, _random: float) -> _Step:
    if state.hidden is None:
        return state, ()
    was_long = now - state.hidden >= HIDDEN_LONG
    state = replace(state, hidden=None)
    if state.phase is LinkPhase.ATTACHED and state.probes and was_long:
        return _probed(state, now, QUICK_PROBE_FUSE)
    return _woken(state, now)


def _woken(state: ReconnectState, now: int) -> _Step:
    """Begin again after giving up, if the chances may be better now."""
    may = state.phase is LinkPhase.GAVE_UP and state.why is not None and ENDS[state.why].wakes
    if may and state.online and now >= state.earliest:
        return _anew(state, now)
    return state, ()


def _retry_requested(state: ReconnectState, now: int, _random: float) -> _Step:
    """Begin a new round, whatever network and gateway said; do nothing if one is under way."""
    return (state, ()) if state.phase in _WITH_SOCKET else _anew(state, now)


def _close_requested(state: ReconnectState, _now: int, _random: float) -> _Step:
    if state.why is Why.CLOSED:
        return state, ()
    actions: tuple[ReconnectAction, ...] = ()
    if state.phase in _WITH_SOCKET:
        actions += (CloseSocket(1000, "closed by the user"),)
    if state.line:
        actions += (Show("", ""),)
    after = replace(
        state,
        phase=LinkPhase.ENDED,
        due=None,
        tell=None,
        probes=False,
        unanswered=None,
        stable=None,
        line="",
        news="",
        cause="",
        why=Why.CLOSED,
    )
    return after, actions


_SIGNALS = {
    Signal.OPENED: _opened,
    Signal.FRAME: _frame,
    Signal.OFFLINE: _went_offline,
    Signal.ONLINE: _went_online,
    Signal.HIDDEN: _went_hidden,
    Signal.VISIBLE: _became_visible,
    Signal.TICK: _tick,
    Signal.RETRY: _retry_requested,
    Signal.CLOSE: _close_requested,
}


# --- the line --------------------------------------------------------------------------------


def _announce_again(state: ReconnectState, now: int) -> ReconnectState:
    """Have the line shown again, still not within the quiet time."""
    return replace(state, tell=max(now, (now if state.lost is None else state.lost) + QUIET))


def _announced(state: ReconnectState, now: int) -> _Step:
    """Show the line for this try, or for its success, once it is due."""
    if state.tell is None or now < state.tell:
        return state, ()
    if state.phase is LinkPhase.ATTACHED:
        line = state.news
        after = replace(state, lost=None, tell=None, line=line, news="")
    else:
        line = progress_line(state, now)
        after = replace(state, tell=None, line=line)
    return after, (Show(line, state.cause),) if line != state.line else ()
