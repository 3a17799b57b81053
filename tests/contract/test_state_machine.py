"""The core as a machine that hypothesis drives: whatever the order, every promise is kept."""

from __future__ import annotations

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from tests.kit.simulation import clients, frames
from tests.kit.simulation.frames import ERRORS, STDERR
from tests.kit.simulation.player import Player

SESSION = b"s1"
CAPABILITIES = b'{"protocolVersion":1,"agentCapabilities":{"loadSession":true}}'
PROFILES = [profile for profile in clients.PROFILES if not profile.startswith("v2")]


class Conversation(RuleBasedStateMachine):
    """One link; the referee of the simulation raises at the first broken promise."""

    def __init__(self) -> None:
        super().__init__()
        self.player = Player({})
        self.prompts: list[bytes] = []
        self.questions = 0

    def do(self, *event: Any) -> None:
        """Let something happen."""
        self.player.play(event)

    @initialize(
        profile=st.sampled_from(PROFILES),
        grace=st.sampled_from([10.0, 0]),
        restart=st.sampled_from(["on-crash", "never"]),
        retry=st.sampled_from([0, 2]),
    )
    def greet(self, profile: str, grace: float, restart: str, retry: int) -> None:
        """The two ends meet."""
        asked = {"cancel_grace_seconds": grace, "restart": restart, "retry": retry}
        self.player = Player(asked)
        self.do("client", clients.initialize(profile, b'"i"'))
        self.do("agent", frames.result(b'"i"', CAPABILITIES))
        self.do("client", frames.request(b'"n"', b"session/new", b"", b',"cwd":"/"'))
        self.do("agent", frames.result(b'"n"', b'{"sessionId":"s1"}'))

    @rule()
    def prompt(self) -> None:
        """The client prompts."""
        self.prompts.append(b"%d" % len(self.prompts))
        self.do("client", frames.prompt(self.prompts[-1], SESSION))

    @rule()
    def cancel(self) -> None:
        """The client cancels the session."""
        self.do("client", frames.cancel(SESSION))

    @precondition(lambda self: self.prompts)
    @rule(data=st.data())
    def cancel_one(self, data: st.DataObject) -> None:
        """The client cancels one prompt, which may be over."""
        self.do("client", frames.withdraw(data.draw(st.sampled_from(self.prompts))))

    @rule(text=st.sampled_from([b"x", b""]))
    def says(self, text: bytes) -> None:
        """The agent shows something."""
        self.do("agent", frames.chunk(SESSION, text))

    @precondition(lambda self: self.prompts)
    @rule(data=st.data(), reason=st.sampled_from([b"end_turn", b"cancelled", b"odd"]))
    def ends(self, data: st.DataObject, reason: bytes) -> None:
        """The agent answers a prompt, for the first time or again."""
        self.do("agent", frames.stopped(data.draw(st.sampled_from(self.prompts)), reason))

    @precondition(lambda self: self.prompts)
    @rule(data=st.data(), error=st.sampled_from(ERRORS))
    def errs(self, data: st.DataObject, error: bytes) -> None:
        """The agent answers with an error, perhaps without an id."""
        named = data.draw(st.sampled_from([*self.prompts, b"null"]))
        self.do("agent", frames.error(named, error))

    @rule()
    def asks(self) -> None:
        """The agent asks the user."""
        self.questions += 1
        question = b"%d" % self.questions
        self.do("agent", frames.request(question, b"session/request_permission", SESSION))

    @precondition(lambda self: self.questions)
    @rule(data=st.data())
    def user_answers(self, data: st.DataObject) -> None:
        """The user answers what is asked, was asked, or never was."""
        known = [b"%d" % self.questions, *self.player.referee.shown]
        self.do("client", frames.result(data.draw(st.sampled_from(known))))

    @rule(line=st.sampled_from(STDERR), times=st.sampled_from([1, 50]))
    def writes_stderr(self, line: bytes, times: int) -> None:
        """The agent writes to stderr."""
        self.do("stderr", line * times)

    @rule(how=st.sampled_from([(None, 9), (0, None), (1, None)]))
    def dies(self, how: tuple[int | None, int | None]) -> None:
        """The agent's process ends."""
        self.do("die", *how)

    @rule(fails=st.booleans())
    def starts(self, fails: bool) -> None:
        """What the core ordered is carried out, or cannot be."""
        self.player.to_agent.clear()
        self.do("start_fails" if fails else "start")
        for line in list(self.player.to_agent):
            asked = frames.read(line)
            if asked is not None and asked.method == "initialize":
                self.do("agent", frames.result(asked.id or b"null", CAPABILITIES))

    @rule(seconds=st.sampled_from([0.3, 2.0, 12.0, 1000.0]), how=st.sampled_from(["time", "jump"]))
    def waits(self, seconds: float, how: str) -> None:
        """Time passes."""
        self.do(how, seconds)

    def teardown(self) -> None:
        """At the end of every conversation nothing is left open."""
        self.do("quiet")
        self.do("end")


# Many more turns keep the same promises in tests/process/test_long_runs.py.
Conversation.TestCase.settings = settings(
    max_examples=100, stateful_step_count=30, deadline=None, derandomize=True
)
test_whatever_the_order_every_promise_is_kept = Conversation.TestCase
