"""A holder, with the link to its agent as `lastword run` has it.

Owns how both are put together. The gateway knows neither the options of `lastword run` nor the
sidecar.

A holder's notifications: what is known of its sessions at a gateway, and the notifier. Owns the
links and the buttons, which need the gateway's key. They are made only where it is known how
browsers reach the gateway.
"""

from __future__ import annotations

import os
import time
from functools import partial
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
from lastword.errors import StoreError
from lastword.gateway.front.folders import folder_of, push_folder_of
from lastword.gateway.front.tokens import NOTIFIED_SECONDS, Grant, Keeper, Links, address
from lastword.gateway.front.web_page import PATH
from lastword.gateway.holder.agent_process import HandedAgent, SupervisedAgent, supervised
from lastword.gateway.holder.process import Holder
from lastword.gateway.holder.recorder_process import started
from lastword.gateway.holder.recording import KIND, LateSink, SessionNotices
from lastword.gateway.log.session_log import session_log
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
    from lastword.gateway.log.store import OpenLog
    from lastword.gateway.settings.values import FleetSettings, HolderSettings
    from lastword.notify.notification import NotifySettings
    from lastword.outbox.report import ReportTarget
    from lastword.platform.process import Agent
    from lastword.record.run import Row
    from lastword.record.sink import Sink


SUBSCRIPTIONS = "push.json"
"""The file of browsers' subscriptions (`notify.web_push`), by whose presence it is known that
there are any."""


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
        """Start the agent; where that fails, its link answers in its place."""
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
        """Whether it can run on at this moment while this process replaces itself."""
        return self._link is not None and self._link.can_be_handed_over

    @property
    def can_only_end(self) -> bool:
        """Whether it cannot be handed over at a later moment either, unless it is used again."""
        return self._link is not None and self._link.is_idle_without_agent

    def hand_over(self) -> HandedAgent:
        """Let go of it for the program that replaces this one."""
        assert self._link is not None  # noqa: S101 - for the type checker
        running = self._link.hand_over()
        return HandedAgent(
            state=msgspec.json.encode(running),
            descriptors=running.descriptors,
            speaks_typed=running.speaks_typed,
        )

    def adopt(self, state: bytes, past: Sequence[PastLine], turns: int) -> None:
        """Go on with it, instead of starting one."""
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
        """Pause reading its output, or continue."""
        if self._link is not None:
            self._link.pause(paused=paused)

    @property
    def waits_for_limits(self) -> bool:
        return bool(self._options.values["continue_at_reset"])

    def resume_wait(self, line: bytes, stored: StoredWait) -> None:
        """Go on with such a wait that began in another process."""
        if self._link is not None:
            self._link.resume_wait(line, stored)

    async def stop(self) -> None:
        if self._link is not None:
            await self._link.stop()

    def kill(self) -> None:
        """End it and its group at once."""
        if self._link is not None:
            self._link.kill()


def _recorder(
    options: RunOptions, record: HolderRecord, notices: SessionNotices | None
) -> Recorder | None:
    target = report_target(options)
    start = _start_of(options, record, target) if is_recorded(options, target) else None
    if notices is not None:
        bounds = Bounds(NOTIFIED if options.values.get("notify") else frozenset())
        return Recorder(lambda: notices.of_link(start() if start else None), bounds)
    return Recorder(start) if start is not None else None


def _start_of(
    options: RunOptions, record: HolderRecord, target: ReportTarget | None
) -> Callable[[], Sink | None]:
    """Return what starts the sink of the link's rows."""
    folder = record_folder(options)
    store = None if options.values["no_record"] else store_path(folder)
    if target is None and store == record.store:
        return record.shared

    def start() -> Sink | None:
        program = os.path.basename(options.command[0])
        run = this_run(record.run, door="gateway", program=program)
        return started(store, run, limits_of(options.environment()), target, folder)

    return start


def _run_options(settings: HolderSettings) -> RunOptions | None:
    """Return the options of `lastword run`; `None` if they cannot be used."""
    try:
        return parse([*settings.options, "--", *settings.command])
    except UsageError:
        return None


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
        self.notices: SessionNotices = SessionNotices(self._run, self._names, self._sink)

    def _is_needed(self) -> bool:
        return bool(self._options.values.get("notify")) or os.path.exists(self._push_file)

    def _start(self) -> Sink:
        # Loaded where somebody wants notifications.
        from lastword.cli.gateway.holder import notifier_of  # noqa: PLC0415
        from lastword.notify.notification import settings_of as notify_settings_of  # noqa: PLC0415

        notify = notify_settings_of(self._options.values)
        return notifier_of(self._settings, notify, self._names, self._run)

    def close(self) -> None:
        """Send what can be sent in a moment."""
        self._sink.close()


def agent_of(  # noqa: PLR0913, PLR0917 - what an agent is made of
    settings: HolderSettings,
    options: RunOptions | None,
    notices: SessionNotices | None,
    deliver: Callable[[bytes], None],
    ended: Callable[[int], None],
    waits: LimitWaits,
    record: HolderRecord,
) -> HeldAgent:
    """Return the agent of a holder, which is still to be started."""
    if options is None or options.values["passthrough"]:
        return SupervisedAgent(supervised(settings.command, settings.options), deliver, ended)
    for warning in options.files.warnings if options.files is not None else ():
        write_message(warning)
    return LinkedAgent(options, deliver, ended, waits, record, notices)


def holder_of(
    settings: HolderSettings,
    quality: HolderQuality,
    fleet: OwnershipOf | None = None,
    open_log: OpenLog = session_log,
) -> Holder:
    """Return a holder, which is still to be run.

    Args:
        settings: Its settings.
        quality: Counts what happens.
        fleet: Returns the ownership of its sessions in a fleet, if it is in one.
        open_log: Opens the log of a session.
    """
    settings = msgspec.structs.replace(settings, run=settings.run or run_id())
    options = _run_options(settings)
    if options is not None:
        timeout = str(options.values.get("ask_timeout", ""))
        settings = msgspec.structs.replace(settings, question_timeout=timeout)
    notifier = HolderNotices(settings, options) if options is not None else None
    notices = notifier.notices if notifier is not None else None
    return Holder(
        settings,
        partial(agent_of, settings, options, notices),
        open_log,
        quality=quality,
        notices=notices,
        fleet=fleet,
        at_end=notifier.close if notifier is not None else None,
    )


MAX_LABEL_CHARS = 40
LABELS = {
    "allow_once": "Allow once",
    "reject_once": "Reject",
    "allow_always": "Always allow",
    "reject_always": "Always reject",
}
"""What a button says for each kind of option, in the order of the buttons. The agent's own names of
them are content."""


class GatewayLinks:
    """Makes the links and buttons of a holder's notifications."""

    def __init__(self, settings: HolderSettings, run: str, *, content: bool) -> None:
        """Make links for this holder's sessions.

        Args:
            settings: The holder's settings.
            run: The holder's run.
            content: Buttons have the agent's own names.

        Raises:
            StoreError: The gateway's key cannot be read.
        """
        folder = folder_of(settings.state_folder)
        self._keeper = Keeper.at(folder) if settings.fleet is None else _of_fleet(settings.fleet)
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
        return tuple(
            NotificationAction(
                self._label(row, kind, places[kind]), self._answer(row, session, places[kind], kind)
            )
            for kind in LABELS
            if kind in places
        )

    def _label(self, row: Row, kind: str, place: int) -> str:
        own = one_line(row.content.get(f"choice {place}", "")) if self._content else ""
        return own[:MAX_LABEL_CHARS].strip() or LABELS[kind]

    def _answer(self, row: Row, session: str, place: int, kind: str) -> str:
        question = int(row.request_id or 0)
        code = AnswerCode(session, self._run, question, place, _expiry(), kind)
        return f"{self._url}{PATH}#{self._keeper.answer_code(code)}"


def _of_fleet(settings: FleetSettings) -> Keeper:
    # Loaded in a fleet alone.
    from lastword.gateway.fleet.key import TOKENS, FleetKey  # noqa: PLC0415

    return Keeper(FleetKey.at(settings.key_file).derived(TOKENS))


def _expiry() -> int:
    return int(time.time()) + NOTIFIED_SECONDS


def notifier_of(
    settings: HolderSettings, notify: NotifySettings, names: dict[str, str], run: str
) -> Notifier:
    """Return the notifier of a holder.

    Args:
        settings: The holder's settings.
        notify: What is notified, and where.
        names: The sessions' names by the agent's ids, which are put in later.
        run: The run in which codes answer questions.

    Raises:
        StoreError: The gateway's key cannot be read.
    """
    around = Surroundings(name_of=lambda each: names.get(each, each), local_time=local_time)
    if settings.links_to and settings.notify_link != "off":
        links = GatewayLinks(settings, run, content=notify.content)
        around = Surroundings(
            name_of=around.name_of,
            link_to=links.link_to,
            actions_of=lambda row: links.actions_of(row, around.name_of(row.session_id or "")),
            local_time=local_time,
        )
    folder = push_folder_of(settings.state_folder, in_fleet=settings.fleet is not None)
    return Notifier(
        msgspec.structs.replace(notify, push_folder=folder),
        settings.state_folder,
        this_run(run, door="gateway", program=os.path.basename(settings.command[0])),
        surroundings=around,
        scrub=Scrub(secrets_of(os.environ)),
    )
