"""The connector: an agent to an editor, a viewer to a gateway, across lost links.

Owns three guarantees: each request of the editor is answered once, no update is lost or repeated,
and what a lost link left open is sent again over a new one. Sans-IO: lines, link events and a
time in, effects out. `client.reconnect` decides when to connect, wait and give up; `shell` drives
it.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any

import msgspec

from lastword.core.failure import ladder
from lastword.core.link.handshake import ClientProfile, read_client
from lastword.core.protocol import acp, jsonrpc
from lastword.core.protocol.acp import object_of
from lastword.gateway import wire
from lastword.gateway.connecting import failures, positions
from lastword.gateway.connecting.failures import AbandonedTurns, Outage
from lastword.gateway.connecting.positions import (
    ConnectEffect,
    Dial,
    Greeted,
    HangUp,
    Item,
    Items,
    NotGreeted,
    OwnError,
    Position,
    Probes,
    Questions,
    Say,
    ToEditor,
    ToGateway,
)

if TYPE_CHECKING:
    from lastword.client.reconnect import GiveUp
    from lastword.core.failure.taxonomy import AgentError
    from lastword.core.protocol.jsonrpc import Frame

WAITING_BYTES = 4 * 1024 * 1024
"""What of the editor's waits for a link, before its stdin is read no further."""


class LinkState(Enum):
    """What the link can be used for."""

    DOWN = 0
    GREETING = 1
    """`initialize` is under way."""
    ATTACHING = 2
    """Sessions are attached."""
    UP = 3


class Connector:
    """One editor's connection to one gateway."""

    def __init__(self, *, session: str = "") -> None:
        """Begin without a link.

        Args:
            session: An existing session, which answers the editor's first `session/new`.
        """
        self.client: ClientProfile = ClientProfile()
        self._chosen_session = session
        self._hello: Frame | None = None
        self._greeting: bytes | None = None
        self._viewer = self._secret = ""
        self._link = LinkState.DOWN
        self._greets = 0
        self._caught_up = 0
        self._items = Items()
        self._positions: dict[str, Position] = {}
        self._questions = Questions(self._items)
        self._abandoned = AbandonedTurns()
        self._outage = Outage()
        self._probes = Probes(self._items)

    # For the shell.

    @property
    def is_full(self) -> bool:
        """Return whether too much is waiting for a link to read more from the editor."""
        return self._items.unsent_bytes >= WAITING_BYTES

    @property
    def session_ids(self) -> tuple[str, ...]:
        """Return the sessions that the editor uses."""
        return tuple(self._positions)

    @property
    def has_open(self) -> bool:
        """Return whether the editor is waiting for an answer."""
        return any(item.request is not None for item in self._items)

    @property
    def has_turns(self) -> bool:
        """Return whether a turn is open."""
        return bool(self._turns())

    def tells_at(self) -> float | None:
        """Return when `tell` is due, on the clock of `now`."""
        return self._outage.first_due if self._turns() else None

    def probe(self, now: float) -> list[ConnectEffect]:
        """Probe the link, and report the editor's positions."""
        return [ToGateway(line) for line in self._probes.requests(self._positions.values(), now)]

    # The editor.

    def from_editor(self, line: bytes, now: float) -> list[ConnectEffect]:
        """Receive a line from the editor."""
        if self._link is LinkState.DOWN:
            self._outage.begin(now)
        if not line.strip():
            return []
        frame = jsonrpc.decode(line)
        if not isinstance(frame, jsonrpc.Frame):
            error = wire.BATCH if line.lstrip()[:1] == b"[" else wire.NOT_JSON
            return [ToEditor(jsonrpc.error(jsonrpc.NULL_ID, error))]
        message = frame.message
        method, request_id, session_id = message.method, message.request_id, message.session_id
        if method is None:
            return self._flush() if self._questions.answered(frame) else []
        if request_id is None:
            line, about = frame.line, 0
            if method == acp.CANCEL_REQUEST:
                cancelled = self._items.request(wire.cancel_of(frame) or b"")
                if cancelled is None:
                    return []
                about = cancelled.number
                line = jsonrpc.notification(method, {"requestId": about})
            number = self._items.next_number()
            self._items.add(Item(number, line, method=method, session_id=session_id, about=about))
            return self._flush()
        if method == acp.INITIALIZE:
            if self._greeting is not None:
                return [ToEditor(positions.with_id(self._greeting, request_id))]
            if self._items.get(self._greets) is not None:  # the first one has no answer yet
                return [ToEditor(jsonrpc.error(request_id, failures.INITIALIZE_FIRST))]
            self.client = read_client(frame.line)
            self._hello = frame
            self._greets = self._items.next_number()
            self._items.add(Item(self._greets, b"", method=method, request=request_id))
            return [Dial()]
        if self._hello is None:
            return [ToEditor(jsonrpc.error(request_id, failures.INITIALIZE_FIRST))]
        number = self._items.next_number()
        line = jsonrpc.with_id(frame, b"%d" % number)
        self._items.add(
            Item(number, line, method=method, session_id=session_id, request=request_id)
        )
        return [Dial(), *self._flush()]

    # To the gateway.

    def _flush(self) -> list[ConnectEffect]:
        """Send what can be sent, in order."""
        if self._link not in {LinkState.UP, LinkState.ATTACHING}:
            return []
        effects: list[ConnectEffect] = []
        for item in self._items.unsent():
            position = self._positions.get(item.session_id or "")
            if item.method == acp.INITIALIZE:
                continue
            if item.method in acp.BRINGS_BACK and item.request is not None and item.session_id:
                effects += self._bring_back(item)
                continue
            if position is not None and not position.attached:
                if not position.attaching and self._link is LinkState.UP:
                    effects += self._attach(position)
                continue
            if item.method == "session/new" and self._chosen_session:
                # The editor gets the existing session, once the gateway has sent its state.
                chosen = self._chosen_session
                position = self._positions.setdefault(chosen, Position(chosen))
                effects.append(ToGateway(position.look(item)))
                self._items.sent(item)
                continue
            effects.append(ToGateway(item.line))
            self._items.sent(item)
            may_be_resent = (
                item.request is not None
                or item.answers is not None
                or (item.method == acp.CANCEL_REQUEST and self._items.get(item.about) is not None)
                or (item.method == acp.CANCEL and self._prompts(item.session_id))
            )
            if not may_be_resent:
                self._items.done(item)
        return effects

    def _prompts(self, session_id: str | None) -> bool:
        return any(
            item.method == acp.PROMPT and item.session_id == session_id and item.request is not None
            for item in self._items
        )

    def _bring_back(self, item: Item) -> list[ConnectEffect]:
        """Receive the editor's own load or resume of a session."""
        session_id = item.session_id or ""
        if session_id == self._chosen_session:
            self._chosen_session = ""  # the editor has it by its id
        position = self._positions.setdefault(session_id, Position(session_id))
        if position.attaching and position.attaching != item.number:
            return []  # one after the other
        line = position.bring_back(item)
        self._items.sent(item)
        return [ToGateway(line)]

    def _attach(self, position: Position) -> list[ConnectEffect]:
        """Attach a session over a new link, at the editor's position."""
        for item in self._items.unsent():
            is_first = item.method in acp.BRINGS_BACK and item.session_id == position.session_id
            if is_first and item.was_sent:
                return self._bring_back(item)
        number = self._items.next_number()
        return [ToGateway(position.attach(number, self.client.dialect))]

    # The link.

    def opened(self) -> list[ConnectEffect]:
        """A socket is open."""
        if self._hello is None:
            return []
        self._link = LinkState.GREETING
        self._caught_up = 0
        return [
            ToGateway(positions.greeting(self._hello, self._greets, self._viewer, self._secret))
        ]

    def lost(self, now: float) -> None:
        """The link is lost, or could not be made."""
        if self._link is LinkState.DOWN:
            return
        self._link = LinkState.DOWN
        self._probes.unlink()
        self._outage.begin(now)
        for position in list(self._positions.values()):
            position.unlink()
        if self._chosen_session in self._positions:
            del self._positions[self._chosen_session]  # nothing of it has been given to the editor
        self._items.unlink()

    def tell(
        self, now: float, *, line: str, attempt: int, max_attempts: int, wait_seconds: float
    ) -> list[ConnectEffect]:
        """Show a long outage to the users of open turns."""
        if not self._outage.must_show(now):
            return []
        stays = ladder.stays_in_conversation(self.client)
        return [
            ToEditor(
                ladder.outage_update(
                    session_id,
                    self.client,
                    line=line,
                    attempt=attempt,
                    max_attempts=max_attempts,
                    wait_seconds=wait_seconds,
                )
            )
            for session_id in self._turns()
            if not stays or self._outage.may_add_thought(session_id, now)
        ]

    def _turns(self) -> list[str]:
        """Return the sessions with an open turn."""
        prompts = {
            item.session_id: None
            for item in self._items
            if item.method == acp.PROMPT and item.session_id is not None
        }
        running = {
            position.session_id: None for position in self._positions.values() if position.running
        }
        return list(prompts | running)

    def gave_up(self, end: GiveUp) -> list[ConnectEffect]:
        """Fail everything open: the search has ended, until the editor asks again."""
        error = failures.of_end(end)
        effects: list[ConnectEffect] = []
        for session_id in self._turns():
            effects += self._end_turn(session_id, error)
        for item in self._items:
            if item.request is not None:
                effects.append(ToEditor(jsonrpc.error(item.request, failures.refused(error))))
                if item.method == acp.INITIALIZE:
                    self._hello = None
                self._items.done(item)
        for item in self._items:  # a user's cancels and answers still matter later
            matters = item.method == acp.CANCEL or item.answers is not None
            if not matters or self.is_full:
                self._items.done(item)
        self._outage.end()
        return effects

    def _end_turn(
        self, session_id: str, error: AgentError, *, only_sent: bool = False
    ) -> list[ConnectEffect]:
        """End a session's open turn for the editor; its outcome is reported later, as a notice."""
        prompts = [
            item
            for item in self._items
            if item.method == acp.PROMPT
            and item.session_id == session_id
            and (item.was_sent or not only_sent)
        ]
        position = self._positions.get(session_id)
        if position is not None:
            position.running = False
        elif not prompts:
            return []
        for item in prompts:
            if item.was_sent:
                self._abandoned.add(item.number, session_id)
            self._items.done(item)
        ids = tuple(item.request for item in prompts if item.request is not None)
        ending = ladder.Ending(error=error, session_id=session_id, prompts=ids, had_output=True)
        client, dialect = self.client, self.client.dialect
        rung = ladder.rung_for(ladder.AUTO, client, dialect)
        frames = ladder.frames_for(ending, rung=rung, client=client, dialect=dialect)
        return [ToEditor(out.frame) for out in frames]

    # The gateway.

    def from_gateway(self, line: bytes, now: float) -> list[ConnectEffect]:
        """Receive a frame from the gateway, which the editor gets as one line."""
        frame = jsonrpc.decode(wire.one_line(line))
        if not isinstance(frame, jsonrpc.Frame):
            return []
        message = frame.message
        if message.method is not None:
            if message.method.startswith("_lastword/"):
                return self._from_session(frame, message.method)
            return self._from_agent(frame)
        raw = message.request_id
        number = int(raw) if raw and raw.isdigit() else 0  # only the connector's ids are numbers
        if self._probes.is_answer(number, now):
            return []
        if number == self._greets and self._link is LinkState.GREETING:
            return self._greeted(frame)
        position = next(
            (each for each in self._positions.values() if each.attaching == number), None
        )
        if number and position is not None:
            return self._has_attached(position, frame, number)
        item = self._items.get(number)
        if item is None or item.request is None:
            outcome = self._abandoned.answered(number, frame)
            return [] if outcome is None else [ToEditor(outcome)]
        # A request of the editor has been answered.
        line, ours = positions.stripped(frame.line, "result")
        self._items.done(item)
        if item.method in acp.ENDS_SESSION and isinstance(message.error, msgspec.UnsetType):
            self._positions.pop(item.session_id or "", None)
        session_id = object_of(jsonrpc.loads(message.result)).get("sessionId")
        if isinstance(session_id, str) and isinstance(ours.get("epoch"), str):
            folder = positions.folder_of(item.line)
            position = Position(session_id, folder=folder, attached=True, begun=True)
            position.begin(ours)
            self._positions[session_id] = position
        if item.method == acp.PROMPT and not self._prompts(item.session_id):
            for each in self._items:
                is_cancel = each.method == acp.CANCEL and each.session_id == item.session_id
                if is_cancel and each.was_sent:
                    self._items.done(each)
        for each in self._items:
            if each.about == item.number:
                self._items.done(each)
        return [ToEditor(positions.with_id(line, item.request))]

    def _greeted(self, frame: Frame) -> list[ConnectEffect]:
        """Receive the answer to `initialize`, then attach the editor's sessions."""
        item = self._items.get(self._greets)
        line, ours = positions.stripped(frame.line, "result")
        effects: list[ConnectEffect] = []
        if not isinstance(frame.message.error, msgspec.UnsetType):
            if item is None:
                return [NotGreeted()]
            # The agent cannot be used: every request fails with the same error.
            self._hello = None
            self._link = LinkState.DOWN
            effects.append(HangUp())
            for each in self._items:
                if each is item:
                    answer = positions.with_id(line, each.request or jsonrpc.NULL_ID)
                    effects.append(ToEditor(answer))
                elif each.request is not None:
                    error = object_of(jsonrpc.loads(frame.message.error))
                    effects.append(ToEditor(jsonrpc.error(each.request, error)))
                self._items.done(each)
            return effects
        viewer, secret = ours.get("viewer"), ours.get("secret")
        if self._viewer and viewer != self._viewer:
            # The gateway takes this for a new viewer: nothing that was sent may be sent again.
            for session_id in self._turns():
                effects += self._end_forgotten(session_id)
        self._viewer = viewer if isinstance(viewer, str) else ""
        self._secret = secret if isinstance(secret, str) else ""
        self._greeting = self._greeting or line
        if item is not None:
            self._items.done(item)
            effects.append(ToEditor(positions.with_id(line, item.request or jsonrpc.NULL_ID)))
        self._link = LinkState.ATTACHING
        for position in list(self._positions.values()):
            effects += self._attach(position)
        return effects + self._attached_all()

    def _end_forgotten(self, session_id: str) -> list[ConnectEffect]:
        ended = self._end_turn(session_id, failures.lost_track(), only_sent=True)
        return [*ended, OwnError("gateway_forgot", session_id)]

    def _attached_all(self) -> list[ConnectEffect]:
        effects = self._flush()
        if self._link is not LinkState.ATTACHING:
            return effects
        if any(
            not position.attached and position.attaching for position in self._positions.values()
        ):
            return effects
        self._link = LinkState.UP
        self._outage.end()
        return [*effects, *self._flush(), Greeted(self._caught_up)]

    def _has_attached(self, position: Position, frame: Frame, number: int) -> list[ConnectEffect]:
        item = self._items.get(number)
        error = object_of(jsonrpc.loads(frame.message.error))
        if error:
            return self._not_attached(position, item, error)
        line, ours = positions.stripped(frame.line, "result")
        if position.probing and item is not None:
            # The editor's `session/new` is answered with this session, whose past follows.
            self._chosen_session = ""
            position.probing = False
            self._items.done(item)
            named = positions.with_result(line, "sessionId", position.session_id)
            answer = positions.with_id(named, item.request or jsonrpc.NULL_ID)
            return [ToEditor(answer), *self._attach(position)]
        position.has_attached(ours)
        effects: list[ConnectEffect] = []
        if position.skipping:
            position.skipping = False
            if self._prompts(position.session_id):
                effects += self._end_forgotten(position.session_id)
        if item is not None:
            self._items.done(item)
            effects.append(ToEditor(positions.with_id(line, item.request or jsonrpc.NULL_ID)))
        return effects + self._attached_all()

    def _not_attached(
        self, position: Position, item: Item | None, error: dict[str, Any]
    ) -> list[ConnectEffect]:
        code = error.get("code")
        if item is None and code == acp.INVALID_PARAMS and position.cursor is not None:
            position.skip_past()  # a log that has lost its end
            return self._attach(position)
        effects: list[ConnectEffect] = []
        if item is None and failures.reason_of(error) in failures.OF_ONE_SESSION:
            # The other sessions continue; this one is attached again when the editor uses it.
            position.unlink()
            position.running = False
            for each in self._items:
                if each.session_id == position.session_id:
                    if each.request is not None:
                        effects.append(ToEditor(jsonrpc.error(each.request, error)))
                        if each.method == acp.PROMPT and each.was_sent:
                            self._abandoned.add(each.number, position.session_id)
                    self._items.done(each)
            return effects + self._attached_all()
        if item is None and code != acp.RESOURCE_NOT_FOUND:
            return [NotGreeted()]
        del self._positions[position.session_id]
        if item is None:
            effects.append(Say(f"session {position.session_id} is no longer on the gateway"))
            effects.append(OwnError("session_unknown", position.session_id))
        for each in self._items:
            if each is item or (item is None and each.session_id == position.session_id):
                if each.request is not None:
                    effects.append(ToEditor(jsonrpc.error(each.request, error)))
                self._items.done(each)
        return effects + self._attached_all()

    def _from_session(self, frame: Frame, method: str) -> list[ConnectEffect]:
        """Receive a notification of the gateway itself."""
        params = jsonrpc.params_of(frame)
        position = self._positions.get(frame.message.session_id or "")
        if position is None:
            return []
        ours = object_of(object_of(params.get("_meta")).get(positions.META))
        effects: list[ConnectEffect] = []
        if method == "_lastword/at" and isinstance(ours.get("epoch"), str):
            if position.probing or not position.attaching:
                return []
            if position.skipping or (position.epoch and position.epoch != ours["epoch"]):
                position.skipping = True
                title = (
                    "The gateway lost a part of this session's log. Updates may be missing here."
                )
                effects = self._notice(position, title)
            position.begin(ours)  # the frames of this attach follow
            position.begun = True
            return effects
        if method == "_lastword/gap" and not position.probing:
            missing = (
                positions.count_of(params.get("to")) - positions.count_of(params.get("from")) + 1
            )
            effects = self._notice(position, f"{missing} entries of this session are gone.")
        elif method == "_lastword/life" and params.get("word") == "session_ended":
            if position.attached and not position.attaching:  # and not in its past
                del self._positions[position.session_id]  # the next link would bring it back
                return self._notice(position, "This session has ended.")
        elif method == "_lastword/life" and params.get("word") == "log_reset":
            epoch = object_of(params.get("facts")).get("epoch")
            position.epoch = epoch if isinstance(epoch, str) else position.epoch
        elif method == "_lastword/ended":
            # While nobody of ours was there; what is open is asked for again instead.
            outcome = self._abandoned.ended(
                positions.count_of(params.get("request")),
                stop_reason=params.get("stopReason"),
                failure=params.get("error"),
            )
            effects = [] if outcome is None else [ToEditor(outcome)]
        position.move(ours)
        return effects

    def _notice(self, position: Position, title: str) -> list[ConnectEffect]:
        frame = ladder.outage_notice(position.session_id, self.client, title)
        return [] if frame is None else [ToEditor(frame)]

    def _from_agent(self, frame: Frame) -> list[ConnectEffect]:
        """Receive a frame of the agent."""
        message = frame.message
        line, ours = positions.stripped(frame.line, "params")
        position = self._positions.get(message.session_id or "")
        if position is not None:
            if position.probing or (
                position.attaching and not position.begun and not position.attached
            ):
                return []
            if position.is_repeated(ours):
                return []
            position.move(ours)
        if message.method == acp.CANCEL_REQUEST:
            return self._questions.withdrawn(line, wire.cancel_of(frame) or b"")
        if message.request_id is not None:
            return self._questions.receive(frame, line, message.request_id)
        if position is not None:
            if position.skipping:
                return []
            if position.attaching:
                self._caught_up += 1
            update = message.update
            if update is not None and update.session_update == acp.STATE_UPDATE:
                position.running = update.state == "running"
        return [ToEditor(line)]
