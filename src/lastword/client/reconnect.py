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
"""The share by which each wait is shortened or prolonged, so that viewers do not all return at
once."""
TRIES = 6
"""Further tries after a failure: 61 s in all, as in codev's `reconnect-policy`."""
PATIENT_TRIES = 20
"""The same if the gateway announced its return: 8 min, for a deployment."""
FUSE = 10_000
"""How long a connection, and then its attach, may show no progress; without a limit, a connect that
is not answered hangs forever (VS Code issue 315552)."""
STABLE_AFTER = 30_000
"""How long after its attach a link counts as stable: only then are tries counted anew."""
PROBE_EVERY = 30_000
PROBE_FUSE = 10_000
QUICK_PROBE_FUSE = 5_000
"""A probe's fuse when the user or the network comes back: somebody is looking."""
HIDDEN_LONG = 30_000
"""How long a page is hidden before its socket is doubted: a suspended one still reports that it is
open."""
QUIET = 2_000
"""How long a loss is not shown, since proxies cut old connections and most return within this time.
The same holds for a return, since a gateway that accepts and closes would fill the line."""
SERVER_JITTER = 1_000
"""The most that is added to a wait that the gateway asked for."""
MAX_SERVER_WAIT = 300_000
"""The longest wait that the gateway may ask for, as for the retries of a prompt (`RTY-9`)."""


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
    if after.tell is not None and now >= after.tell:  # the line for this try, or for its success
        shown = after.line
        if after.phase is LinkPhase.ATTACHED:
            after = replace(after, lost=None, tell=None, line=after.news, news="")
        else:
            after = replace(after, tell=None, line=progress_line(after, now))
        if after.line != shown:
            actions += (Show(after.line, after.cause),)
    if timer(after) != timer(state):
        actions += (WaitUntil(timer(after)),)
    return after, actions


_ATTEMPTING = {LinkPhase.CONNECTING, LinkPhase.ATTACHING}
_WITH_SOCKET = {*_ATTEMPTING, LinkPhase.ATTACHED}


def _receive(state: ReconnectState, event: Event, now: int, random: float) -> _Step:
    match event:
        case Signal():
            return _receive_signal(state, event, now, random)
        case Attached():
            if state.phase not in _ATTEMPTING:
                return state, ()
            # The end of a loss that was not shown is not shown either.
            was_shown = state.tell is None
            attached = replace(
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
            return attached, ()
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


def _receive_signal(state: ReconnectState, signal: Signal, now: int, random: float) -> _Step:
    match signal:
        case Signal.TICK:
            return _tick(state, now, random)
        case Signal.FRAME:
            return _frame(state, now)
        case Signal.OPENED if state.phase is LinkPhase.CONNECTING:
            return replace(state, phase=LinkPhase.ATTACHING, due=now + FUSE, heard=False), ()
        case Signal.OFFLINE if state.online:
            # Only the next try waits for the network: an open socket may well keep working.
            state = replace(state, online=False)
            if state.phase is LinkPhase.WAITING:
                state = _announce_again(state, now)
        case Signal.ONLINE:
            state = replace(state, online=True)
            if state.phase is LinkPhase.ATTACHED and state.probes:
                return _probed(state, now, QUICK_PROBE_FUSE)
            if state.phase is not LinkPhase.WAITING:
                return _woken(state, now)
            state = _announce_again(state, now)
            if now >= state.earliest:
                return _connected(state, now)
            state = replace(state, due=state.earliest)
        case Signal.HIDDEN if state.hidden is None:
            state = replace(state, hidden=now)
        case Signal.VISIBLE if state.hidden is not None:
            was_long = now - state.hidden >= HIDDEN_LONG
            state = replace(state, hidden=None)
            if state.phase is LinkPhase.ATTACHED and state.probes and was_long:
                return _probed(state, now, QUICK_PROBE_FUSE)
            return _woken(state, now)
        case Signal.RETRY if state.phase not in _WITH_SOCKET:
            # A new round, whatever the network and the gateway reported.
            return _anew(state, now)
        case Signal.CLOSE if state.why is not Why.CLOSED:
            return _closed(state)
    return state, ()


# --- the link --------------------------------------------------------------------------------


def _connected(state: ReconnectState, now: int) -> _Step:
    connecting = replace(state, phase=LinkPhase.CONNECTING, due=now + FUSE, heard=False)
    return connecting, (Connect(state.refused),)


def _frame(state: ReconnectState, now: int) -> _Step:
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
        if state.unanswered is not None and now >= state.unanswered:
            after, actions = _lost(state, Loss(LossKind.NOW, "no heartbeat"), now, random)
            return after, (CloseSocket(4408, "no-heartbeat"), *actions)
        if not state.probes and state.stable is not None and now >= state.stable:
            return _settled(state)
        if state.due is not None and now >= state.due:
            return _probed(state, now, PROBE_FUSE)
        return state, ()
    if state.due is None or now < state.due:
        return state, ()
    if state.phase is LinkPhase.WAITING:
        return _connected(state, now) if state.online else (state, ())
    if state.heard:  # a long replay, which may continue
        return replace(state, due=now + FUSE, heard=False), ()
    is_open = state.phase is LinkPhase.ATTACHING
    cause = "no answer in 10 s" if is_open else "no connection in 10 s"
    after, actions = _lost(state, Loss(LossKind.TRANSIENT, cause), now, random)
    return after, (CloseSocket(4408, cause), *actions)


def _probed(state: ReconnectState, now: int, fuse: int) -> _Step:
    """Probe the gateway; an unanswered probe keeps its deadline if that is earlier."""
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
    """Begin a new round at once, and show that, since the user waits for it."""
    lost = now if state.lost is None else state.lost
    state = replace(state, tries=0, budget=TRIES, lost=lost, tell=None, line=CONNECTING, why=None)
    connecting, actions = _connected(state, now)
    return connecting, (*actions, Show(CONNECTING, ""))


# --- what is around it -----------------------------------------------------------------------


def _woken(state: ReconnectState, now: int) -> _Step:
    """Begin again after giving up, if a new round may succeed now."""
    may = state.phase is LinkPhase.GAVE_UP and state.why is not None and ENDS[state.why].wakes
    if may and state.online and now >= state.earliest:
        return _anew(state, now)
    return state, ()


def _closed(state: ReconnectState) -> _Step:
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


def _announce_again(state: ReconnectState, now: int) -> ReconnectState:
    """Have the line shown again, but not within the quiet time."""
    return replace(state, tell=max(now, (now if state.lost is None else state.lost) + QUIET))
