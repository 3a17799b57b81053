"""One link from its first frame to its end, drawn from a seed: who takes part, and what happens.

Owns the draw of options and characters, the order of deeds, and the end at which nothing may be
left open. From a failing link it comes to the shortest schedule that still fails, by leaving out
pieces as long as the same promise breaks, and from that to a test.
"""

from __future__ import annotations

import pprint
from bisect import bisect
from itertools import accumulate
from random import Random
from typing import TYPE_CHECKING, Any

from lastword.core.link.connection import Connection
from lastword.core.link.evidence import HintSource
from tests.kit.simulation import agents, clients, frames
from tests.kit.simulation.frames import ANSWER, ERRORS, STDERR, chunk, spoiled, tool
from tests.kit.simulation.ledger import BrokenPromiseError
from tests.kit.simulation.player import HINTED, Player
from tests.kit.simulation.world import World

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tests.kit.simulation.player import Event

CALM_SHARE = 0.85
HINT_SHARE = 0.02
_STEPS_A_TURN = 12
_SEED_STRIDE = 1_000_003

_LIMITS: dict[str, tuple[Any, ...]] = {
    "first_update_timeout_seconds": (900.0, 900.0, 60.0, 5.0, 0),
    "idle_timeout_seconds": (900.0, 900.0, 30.0, 3.0, 0),
    "tool_timeout_seconds": (7200.0, 7200.0, 20.0, 0),
    "turn_timeout_seconds": (0, 0, 0, 100.0),
    "warn_after_seconds": (45.0, 45.0, 2.0, 0),
    "cancel_grace_seconds": (10.0, 10.0, 1.0, 0),
    "stderr_limit_bytes": (16_777_216, 16_777_216, 1500, 0),
    "fallback": ("auto",) * 6 + ("typed", "v2", "error_with_meta", "result", "error", "text"),
    "show_retries": ("auto", "auto", "off"),
    "silent_success": ("error", "error", "error", "pass"),
    "restart": ("on-crash", "on-crash", "never"),
    "clock": (False, True),
    "retry": (0, 0, 1, 3),
    "retry_wait_limit_seconds": (300.0, 300.0, 5.0, 0),
}
_LIMIT_WAITS = (0, 21_600.0, 0, 10.0)
_QUESTIONS = ((0.0, ""), (0.0, ""), (11.0, "45s=reject"), (0.0, "3s=cancel"), (4.0, ""))
"""`--ask-reminder` and `--ask-timeout`."""
_FALLBACKS = ("", "", "small,tiny", "", "none,small")
_STAYS = (False, False, True)
_CAPABILITIES = (
    b'"agentCapabilities":{"loadSession":true}',
    b'"agentCapabilities":{"loadSession":true,"sessionCapabilities":{"resume":{}}}',
    b'"agentCapabilities":{}',
    b'"authMethods":[{"id":"login"}],"agentCapabilities":{"loadSession":true}',
    b'"agentCapabilities":{"_meta":{"agent_error":{"version":1}}}',
)
_RETRIED = 0.3
"""How likely a step is one that retries are about, in a link that makes them."""
_RETRY_SPANS = (0.3, 1.1, 4.0, 25.0)
_SPANS = (0.1, 0.3, 0.3, 1.1, 4.0, 12.0, 46.0, 130.0, 1000.0)


class Table:
    """Deeds with weights, drawn by one throw."""

    def __init__(self, rows: Sequence[tuple[float, Any]]) -> None:
        self._sums = list(accumulate(weight for weight, _ in rows))
        self._deeds = [deed for _, deed in rows]

    def draw(self, throw: float) -> Any:
        """The deed that this throw of 0 to 1 means."""
        return self._deeds[bisect(self._sums, throw * self._sums[-1])]


_WILD = Table(agents.WILD)
_WILD_WORDS = Table((*agents.WILD, *agents.WORDS))
_CLIENT = Table(clients.DEEDS)


class Drawn:
    def __init__(
        self, seed: int, number: int, player: Callable[[dict[str, Any]], Player] = Player
    ) -> None:
        dice = Random(seed * _SEED_STRIDE + number)
        roll = dice.random
        calm = roll() < CALM_SHARE
        pick = [int(roll() * len(values)) for values in _LIMITS.values()]
        odd = not calm or roll() < 0.3
        self.options: dict[str, Any] = {
            name: values[at if odd else 0]
            for (name, values), at in zip(_LIMITS.items(), pick, strict=True)
        }
        # By the link's number: a further throw would change all that the others mean.
        self.options["continue_at_reset_seconds"] = _LIMIT_WAITS[number % len(_LIMIT_WAITS)]
        reminder, timeout = _QUESTIONS[number % len(_QUESTIONS)]
        self.options |= {"ask_reminder_seconds": reminder, "ask_timeout": timeout}
        self.options["fallback_model"] = _FALLBACKS[number % len(_FALLBACKS)]
        self.options["fallback_stays"] = _STAYS[number % len(_STAYS)]
        self.profile = list(clients.PROFILES)[int(roll() * len(clients.PROFILES))]
        v2 = self.profile.startswith("v2")
        self.world = World(player(self.options), dice, v2=v2, handler=roll() < 0.15)
        self.world.has_models = bool(self.options["fallback_model"]) and not v2
        self._calm = calm
        self._turns = 20 + int(roll() * 40) if calm else 6 + int(roll() * 14)
        self._counts_anew = self.world.chance(0.5)
        self._capabilities = self.world.pick(_CAPABILITIES)
        self._name = self.world.pick((b"codex-acp", b"opencode", b"agent", b"claude-code-acp"))
        self._deeds = _WILD_WORDS if self.world.handler else _WILD
        limits = ("retry", "continue_at_reset_seconds", "fallback_model")
        self._retries = any(self.options[name] for name in limits)
        self._start_fails = roll()
        """How likely a new agent does not start, as a power of the throw."""

    def run(self) -> None:
        """Play the link to its end; raises `BrokenPromiseError`."""
        world = self.world
        if world.chance(0.01):
            world.do("unstartable")
        if world.chance(0.5):
            world.do("sources", True)
        self._greet()
        steps = 0
        while world.turns < self._turns and steps < self._turns * _STEPS_A_TURN:
            steps += 1
            if not world.player.client_open:
                break
            self._step(world)
        world.do("quiet")
        world.do("end")

    def _greet(self) -> None:
        world = self.world
        world.client(clients.initialize(self.profile, world.client_id()))
        self._serve()
        world.client(
            frames.request(world.client_id(), b"session/new", b"", b',"cwd":"/w","mcpServers":[]')
        )
        self._serve()
        if not world.sessions:
            world.sessions.append(b"s1")  # it prompts all the same

    def _step(self, world: World) -> None:
        dice = world.roll()
        player = world.player
        if not player.alive:
            self._while_down(world, dice)
            return
        if player.referee.killed and dice < 0.5:
            world.do("die", None, 15)
            world.forget_agent()
            return
        if world.todo and world.chance(HINT_SHARE):
            self._hint(world)
        if any(method != "session/prompt" for _, method, _ in world.todo) and dice < 0.8:
            self._serve()
            return
        if self._retries and world.waiting and world.chance(_RETRIED):
            self._fails_early(world)
        elif self._calm and dice < 0.75:
            if not world.todo and not world.waiting:
                clients.prompts(world)
            self._work(world, agents.healthy)
        elif dice < 0.86 and world.todo:
            self._work(world, self._deeds.draw(world.roll()))
        elif dice < 0.97:
            _CLIENT.draw(world.roll())(world)
        else:
            self._machine(world)

    def _fails_early(self, world: World) -> None:
        """What may be sent again fails before it has done anything, or its wait goes on."""
        if world.todo:
            self._work(world, agents.fails_early)
        else:
            world.do("time", world.pick(_RETRY_SPANS))

    @staticmethod
    def _hint(world: World) -> None:
        """A source tells of a failed call: of this turn, an earlier one, or of no session there."""
        session = world.pick((*world.sessions, b"nobody", b"")).decode() or None
        world.do(
            "hint",
            world.pick(tuple(HintSource.__members__)),
            world.pick(tuple(HINTED)),
            session,
            world.pick((True, True, None, False)),
            world.pick((None, 1, 2, 3, 17)),
            world.pick((0.0, 0.0, 0.5, 100.0)),
            world.chance(0.1),
        )
        if world.chance(0.2):
            world.do(*world.schedule[-1])

    def _work(self, world: World, deed: agents.Deed) -> None:
        """The agent deals with a prompt, or with having been told to stop."""
        if world.cancelled and world.chance(0.7):
            self._heed(world, world.cancelled.pop())
        if not world.todo:
            return
        at = int(world.roll() * len(world.todo))
        request_id, method, session = world.todo[at]
        if method != "session/prompt":
            self._serve()
        elif deed(world, request_id, session) and (request_id, method, session) in world.todo:
            world.todo.remove((request_id, method, session))

    def _heed(self, world: World, session: bytes) -> None:
        """What the agent does when it is told to stop a session."""
        hit = [one for one in world.todo if one[1] == "session/prompt" and one[2] == session]
        for request_id, method, _ in hit:
            dice = world.roll()
            if dice >= 0.8:
                continue
            if 0.6 <= dice < 0.7:
                world.agent(frames.error(request_id, world.pick(ERRORS)))
            else:
                others = (b"end_turn", b"max_tokens", b"refusal")
                reason = b"cancelled" if dice < 0.6 else world.pick(others)
                world.agent(
                    *world.opening(request_id, session), *world.ending(request_id, session, reason)
                )
            world.todo.remove((request_id, method, session))

    def _serve(self) -> None:
        """The agent deals with what is no prompt."""
        world = self.world
        for one in [one for one in world.todo if one[1] != "session/prompt"]:
            if not world.player.alive or one not in world.todo:
                return
            world.todo.remove(one)
            request_id, method, session = one
            own = request_id.startswith(b'"lastword:')
            dice = world.roll()
            if (own and dice < 0.1) or (not own and world.turns and dice < 0.05):
                world.agent(frames.error(request_id, world.pick(ERRORS)))
            elif own and dice < 0.15:
                continue
            elif own and dice < 0.2:
                decoy = world.pick([b"7", *world.waiting])
                lost = {"side": "agent", "what": ANSWER, "own": request_id, "decoy": decoy}
                world.do(*spoiled(world.pick, **lost, session=session))
            elif method == "initialize":
                version = b"2" if world.v2 else b"1"
                said = b'"agentInfo":{"name":"%b","version":"1"}' % self._name
                value = b'{"protocolVersion":%b,%b,%b}' % (version, said, self._capabilities)
                if world.v2:
                    value = value.replace(b"agentInfo", b"info")
                    value = value.replace(b"agentCapabilities", b"capabilities")
                world.agent(frames.result(request_id, value))
            else:
                self._agree(world, *one)

    def _agree(self, world: World, request_id: bytes, method: str, session: bytes) -> None:
        if method == "session/new":
            world.agent(self._opened(world, request_id))
            return
        if method == "session/set_config_option" and world.has_models:
            agents.switches_model(world, request_id, session)
            return
        value = b""
        if method in {"session/load", "session/resume"}:
            world.loaded.add(session)
            if world.chance(0.3):
                agents.asks(world, b"", session)
            if world.chance(0.3):
                agents.changes_mode(world, b"", session)
            world.agent(
                chunk(session, b"as was said before"),
                tool(session, b"old", b"in_progress"),
                frames.update(session, b"usage_update"),
            )
            value = b",".join(filter(None, (self._modes(world), world.models())))
        world.agent(frames.result(request_id, b"{%b}" % value))

    def _opened(self, world: World, request_id: bytes) -> bytes:
        number = len(world.sessions) + 1
        if self._counts_anew:
            world.opened += 1
            while b"s%d" % world.opened in world.loaded:
                world.opened += 1
            number = world.opened
        parts = (b'"sessionId":"s%d"' % number, self._modes(world), world.models())
        return frames.result(request_id, b"{%b}" % b",".join(filter(None, parts)))

    @staticmethod
    def _modes(world: World) -> bytes:
        """What an agent says of a session's mode as it opens it, if it does."""
        if world.chance(0.5):
            return b""
        mode = world.pick(agents.MODES)
        return b'"modes":{"currentModeId":"%b","availableModes":[]}' % mode

    def _while_down(self, world: World, dice: float) -> None:
        if world.player.ordered and dice < 0.5:
            failing = world.chance(0.3 * self._start_fails)
            world.do("start_fails" if failing else "start")
        elif dice < 0.75:
            _CLIENT.draw(world.roll())(world)
        else:
            world.do("time", world.pick(_SPANS[:8]))

    def _machine(self, world: World) -> None:
        """Time passes, the machine sleeps, or somebody kills the agent."""
        dice = world.roll()
        if dice < 0.6:
            world.do("time", world.pick(_SPANS))
        elif dice < 0.7:
            world.do("jump", world.pick(_SPANS))
        elif dice < 0.8:
            world.do("still", world.pick(_SPANS))
        elif dice < 0.9:
            world.do("stderr", world.pick(STDERR))
        else:
            world.do("die", None, 9)
            world.forget_agent()


def replay(
    options: dict[str, Any], schedule: Sequence[Event], core: Callable[..., Any] = Connection
) -> BrokenPromiseError | None:
    """Play a schedule as it stands; gives the promise that it breaks."""
    player = Player(options, core)
    try:
        for event in schedule:
            player.play(tuple(event))
            player.to_client.clear()
            player.to_agent.clear()
    except BrokenPromiseError as broken:
        return broken
    return None


_MAX_TRIES = 3000


def shortest(
    options: dict[str, Any],
    schedule: list[Event],
    promise: str,
    core: Callable[..., Any] = Connection,
) -> tuple[dict[str, Any], list[Event]]:
    """The options and the events that are needed to break this promise."""
    tries = 0

    def fails(with_options: dict[str, Any], events: list[Event]) -> bool:
        nonlocal tries
        tries += 1
        broken = replay(with_options, events, core)
        return broken is not None and broken.promise == promise

    events = _apart(schedule)
    if not fails(options, events):
        events = list(schedule)
    size = max(len(events) // 2, 1)
    while tries < _MAX_TRIES:
        at, before = 0, len(events)
        while at < len(events) and tries < _MAX_TRIES:
            fewer = events[:at] + events[at + size :]
            if fails(options, fewer):
                events = fewer
            else:
                at += size
        if size == 1 and len(events) == before:
            break
        size = max(size // 2, 1)
    for name in list(options):
        fewer_options = {key: value for key, value in options.items() if key != name}
        if fails(fewer_options, events):
            options = fewer_options
    return options, events


def _apart(schedule: list[Event]) -> list[Event]:
    """The same with each burst as single lines: they can be left out one by one."""
    events: list[Event] = []
    for event in schedule:
        if event[0] == "block":
            events += [("agent", line) for line in event[1].split(b"\n")]
        else:
            events.append(event)
    return events


def as_test(options: dict[str, Any], events: list[Event], broken: Exception) -> str:
    """Text that can be pasted into `tests/unit/link/test_connection_simulated.py`."""
    shown = pprint.pformat(events, width=100, sort_dicts=False)
    body = "\n".join(f"    {line}" for line in shown.splitlines())
    return (
        "def test_what_should_hold_in_one_sentence() -> None:\n"
        f"    # broke: {str(broken)[:160]}\n"
        f"    events =\\\n{body}\n"
        f"    assert replay({options!r}, events) is None\n"
    ).replace("events =\\\n    [", "events = [")
