"""A holder, with the link to its agent as `lastword run` has it, and its notifications.

Owns how they are put together: the gateway imports neither the options of `lastword run` nor the
sidecar. Owns the links and buttons of notifications, too. They need the gateway's key, and are made
only if the gateway's address for browsers is known.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import msgspec

from lastword.cli.run.command import not_started
from lastword.cli.run.options import UsageError, parse
from lastword.cli.run.start import (
    core_options,
    is_recorded,
    record_folder,
    report_target,
    settings_of,
)
from lastword.core.redact.environment_secrets import secrets_of
from lastword.core.redact.printable import one_line
from lastword.errors import LastwordError, StoreError
from lastword.gateway.front.folders import folder_of, push_folder_of
from lastword.gateway.front.tokens import NOTIFIED_SECONDS, Grant, Keeper, Links, address
from lastword.gateway.front.web_page import PATH
from lastword.gateway.holder.agent_process import HandedAgent
from lastword.gateway.holder.process import Holder
from lastword.gateway.holder.recorder_process import started
from lastword.gateway.holder.recording import KIND, LateSink, SessionNotices
from lastword.gateway.viewing.access import AnswerCode
from lastword.gateway.viewing.reader import Role
from lastword.notify.notification import NotificationAction, Surroundings
from lastword.notify.notifier import Notifier
from lastword.platform.identity import local_time, run_id
from lastword.platform.posix_process import Guardian
from lastword.platform.process import write_message
from lastword.record.paths import limits_of, store_path
from lastword.record.recorder import NOTIFIED, Bounds, Recorder
from lastword.record.run import this_run
from lastword.record.sink import Scrub
from lastword.sidecar.agent_start import AgentStart
from lastword.sidecar.embedded import EmbeddedSidecar, RunningAgent

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lastword.cli.run.options import RunOptions
    from lastword.core.link.effects import PastLine
    from lastword.core.link.waits import StoredWait
    from lastword.gateway.holder.agent_process import HeldAgent, LimitWaits
    from lastword.gateway.holder.process import OwnershipOf
    from lastword.gateway.holder.quality import HolderQuality
    from lastword.gateway.holder.recording import HolderRecord
    from lastword.gateway.settings.values import HolderSettings
    from lastword.platform.process import Agent
    from lastword.record.run import Row
    from lastword.record.sink import Sink


SUBSCRIPTIONS = "push.json"
"""The file of browsers' subscriptions (`notify.web_push`), which exists once there is one."""


class LinkedAgent:
    """An agent, and the link to it in this process."""

    def __init__(  # noqa: PLR0913, PLR0917 - what it is made of
        self,
        options: RunOptions,
        deliver: Callable[[bytes], None],
        ended: Callable[[int], None],
        waits: LimitWaits,
        record: HolderRecord,
        notices: SessionNotices | None = None,
    ) -> None:
        self._notices = notices
        self._options = options
        self._waits = waits
        self._deliver = deliver
        self._ended = ended
        self._record = record
        self._link: EmbeddedSidecar | None = None

    async def start(self) -> None:
        """Start the agent; if that fails, its link answers in its place."""
        options = self._options
        agent = failure = None
        start = AgentStart(options.command, str(options.values["evidence"]))
        try:
            agent = start.spawn()
        except OSError as error:
            failure = error
            write_message(not_started(options.command[0], error))
        link = self._linked(start, agent)
        if failure is not None:
            link.refuse(failure)
        link.start()

    def _linked(
        self, start: AgentStart, agent: Agent | None, guardian: Guardian | None = None
    ) -> EmbeddedSidecar:
        options = self._options
        self._link = EmbeddedSidecar(
            settings_of(options, start),
            msgspec.structs.replace(
                core_options(options, self._record.run), answers_questions=False
            ),
            agent=agent,
            deliver=self._deliver,
            ended=self._ended,
            recorder=_recorder(options, self._record, self._notices),
            waits=self._waits,
            noted=self._record.noted,
            guardian=guardian,
        )
        return self._link

    @property
    def can_be_handed_over(self) -> bool:
        """Whether it can keep running while this process replaces itself now."""
        return self._link is not None and self._link.can_be_handed_over

    @property
    def can_only_end(self) -> bool:
        """Whether it can never be handed over, unless it is used again."""
        return self._link is not None and self._link.is_idle_without_agent

    def hand_over(self) -> HandedAgent:
        """Release the agent to the program that replaces this one."""
        assert self._link is not None  # noqa: S101 - for the type checker
        running = self._link.hand_over()
        return HandedAgent(
            state=msgspec.json.encode(running),
            descriptors=running.descriptors,
            speaks_typed=running.speaks_typed,
        )

    def adopt(self, state: bytes, past: Sequence[PastLine], turns: int) -> None:
        """Take over a running agent instead of starting one."""
        running = msgspec.json.decode(state, type=RunningAgent)
        start = AgentStart(self._options.command, str(self._options.values["evidence"]))
        guardian = Guardian(*running.guardian) if running.guardian is not None else None
        self._linked(start, running.adopted(start), guardian).adopt(running, past, turns)

    @property
    def pid(self) -> int:
        """Return the agent's process id; 0 for none."""
        return self._link.pid if self._link is not None else 0

    def send(self, line: bytes) -> None:
        if self._link is not None:
            self._link.send(line)

    def pause(self, *, paused: bool) -> None:
        """Pause reading the agent's output, or continue."""
        if self._link is not None:
            self._link.pause(paused=paused)

    @property
    def waits_for_limits(self) -> bool:
        return bool(self._options.values["continue_at_reset"])

    def resume_wait(self, line: bytes, stored: StoredWait) -> None:
        """Continue a wait for a limit that began in another process."""
        if self._link is not None:
            self._link.resume_wait(line, stored)

    async def stop(self) -> None:
        if self._link is not None:
            await self._link.stop()

    def kill(self) -> None:
        """Kill the agent and its process group at once."""
        if self._link is not None:
            self._link.kill()


def _recorder(
    options: RunOptions, record: HolderRecord, notices: SessionNotices | None
) -> Recorder | None:
    target = report_target(options)
    start: Callable[[], Sink | None] | None = None
    if is_recorded(options, target):
        folder = record_folder(options)
        store = None if options.values["no_record"] else store_path(folder)

        def start_own() -> Sink | None:
            program = os.path.basename(options.command[0])
            run = this_run(record.run, door="gateway", program=program)
            return started(store, run, limits_of(options.environment()), target, folder)

        start = record.shared if target is None and store == record.store else start_own
    if notices is not None:
        bounds = Bounds(NOTIFIED if options.values.get("notify") else frozenset())
        return Recorder(lambda: notices.of_link(start() if start else None), bounds)
    return Recorder(start) if start is not None else None


class HolderNotices:
    """The notifications of a holder: of `--notify`, and of browsers that subscribe to them."""

    def __init__(self, settings: HolderSettings, options: RunOptions) -> None:
        """Start nothing yet."""
        self._settings = settings
        self._options = options
        self._names: dict[str, str] = {}
        self._run = settings.run
        folder = push_folder_of(settings.state_folder, in_fleet=settings.fleet is not None)
        self._push_file = os.path.join(folder, SUBSCRIPTIONS)
        self._sink = LateSink(self._is_needed, self._start)
        self._notifier: Notifier | None = None
        self.notices: SessionNotices = SessionNotices(self._run, self._names, self._sink)

    def _is_needed(self) -> bool:
        return bool(self._options.values.get("notify")) or os.path.exists(self._push_file)

    def _start(self) -> Sink:
        # Loaded only if notifications are wanted.
        from lastword.notify.notification import settings_of as notify_settings_of  # noqa: PLC0415

        settings, run, names = self._settings, self._run, self._names
        notify = notify_settings_of(self._options.values)

        def name_of(session_id: str) -> str:  # names are put in later
            return names.get(session_id, session_id)

        around = Surroundings(name_of=name_of, local_time=local_time)
        if settings.links_to and settings.notify_link != "off":
            links = GatewayLinks(settings, run, content=notify.content)
            around = Surroundings(
                name_of=name_of,
                link_to=links.link_to,
                actions_of=lambda row: links.actions_of(row, name_of(row.session_id or "")),
                local_time=local_time,
            )
        folder = push_folder_of(settings.state_folder, in_fleet=settings.fleet is not None)
        self._notifier = Notifier(
            msgspec.structs.replace(notify, push_folder=folder),
            settings.state_folder,
            this_run(run, door="gateway", program=os.path.basename(settings.command[0])),
            surroundings=around,
            scrub=Scrub(secrets_of(os.environ)),
        )
        return self._notifier

    def close(self, *, goes_on: bool) -> None:
        """Stop, after sending what can be sent at once: open questions too, if they go on."""
        if self._notifier is not None:
            self._notifier.goes_on = goes_on
        self._sink.close()


def holder_of(
    settings: HolderSettings,
    quality: HolderQuality,
    fleet: OwnershipOf | None = None,
) -> Holder:
    """Return a holder that is not running yet.

    Args:
        settings: Its settings.
        quality: Counts what happens.
        fleet: Returns the ownership of its sessions in a fleet, if it is in one.

    Raises:
        LastwordError: A configuration file cannot be used any more.
    """
    try:
        options = parse([*settings.options, "--", *settings.command])
    except UsageError as error:
        raise LastwordError(str(error)) from None
    settings = msgspec.structs.replace(
        settings,
        run=settings.run or run_id(),
        question_timeout=str(options.values.get("ask_timeout", "")),
    )
    notifier = HolderNotices(settings, options)

    def agent_of(
        deliver: Callable[[bytes], None],
        ended: Callable[[int], None],
        waits: LimitWaits,
        record: HolderRecord,
    ) -> HeldAgent:
        for warning in options.files.warnings if options.files is not None else ():
            write_message(warning)
        return LinkedAgent(options, deliver, ended, waits, record, notifier.notices)

    return Holder(
        settings,
        agent_of,
        quality=quality,
        notices=notifier.notices,
        fleet=fleet,
        at_end=notifier.close,
    )


MAX_LABEL_CHARS = 40
LABELS = {
    "allow_once": "Allow once",
    "reject_once": "Reject",
    "allow_always": "Always allow",
    "reject_always": "Always reject",
}
"""The label of the button for each kind of option, in the order of the buttons. The agent's own
names of options are content."""


class GatewayLinks:
    """Makes the links and buttons of a holder's notifications."""

    def __init__(self, settings: HolderSettings, run: str, *, content: bool) -> None:
        """Make links for this holder's sessions.

        Args:
            settings: The holder's settings.
            run: The holder's run.
            content: Whether buttons have the agent's own names of the options.

        Raises:
            StoreError: The gateway's key cannot be read.
        """
        folder = folder_of(settings.state_folder)
        if settings.fleet is None:
            self._keeper = Keeper.at(folder)
        else:
            # Loaded only in a fleet.
            from lastword.gateway.fleet.key import TOKENS, FleetKey  # noqa: PLC0415

            self._keeper = Keeper(FleetKey.at(settings.fleet.key_file).derived(TOKENS))
        self._links = Links.notified(folder, time.time, self._keeper)
        self._is_in_fleet = settings.fleet is not None
        self._role = Role(settings.notify_link)
        self._url = settings.links_to.rstrip("/")
        self._run = run
        self._content = content

    def link_to(self, session: str) -> str:
        """Return a link to a session, which works once; empty if it cannot be made."""
        grant = Grant(self._role, session, _expiry())
        if self._is_in_fleet:
            return address(self._url, self._keeper.link_code(grant, _expiry()))
        try:
            code = self._links.make(grant)
        except StoreError:
            return ""
        return address(self._url, code)

    def actions_of(self, row: Row, session: str) -> tuple[NotificationAction, ...]:
        places: dict[str, int] = {}
        for name, kind in row.content.items():
            word, _, place = name.partition(" ")
            if word == KIND and place.isdecimal():
                places.setdefault(kind, int(place))  # the first choice of its kind
        actions = []
        for kind, label in LABELS.items():
            if kind not in places:
                continue
            own = one_line(row.content.get(f"choice {places[kind]}", "")) if self._content else ""
            question = int(row.request_id or 0)
            code = AnswerCode(session, self._run, question, places[kind], _expiry(), kind)
            link = f"{self._url}{PATH}#{self._keeper.answer_code(code)}"
            actions.append(NotificationAction(own[:MAX_LABEL_CHARS].strip() or label, link))
        return tuple(actions)


def _expiry() -> int:
    return int(time.time()) + NOTIFIED_SECONDS
