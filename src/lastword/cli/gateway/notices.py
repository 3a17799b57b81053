"""A holder's notifications: what is known of its sessions at a gateway, and the notifier.

Owns the links and the buttons, which need the gateway's key. They are made only where it is known
how browsers reach the gateway.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import msgspec

from lastword.core.redact.environment_secrets import secrets_of
from lastword.core.redact.printable import one_line
from lastword.errors import StoreError
from lastword.gateway.front.folders import folder_of, push_folder_of
from lastword.gateway.front.tokens import NOTIFIED_SECONDS, Grant, Keeper, Links, address
from lastword.gateway.front.web_page import PATH
from lastword.gateway.holder.recording import KIND
from lastword.gateway.viewing.reader import Role
from lastword.gateway.viewing.refusals import AnswerCode
from lastword.notify.notification import NotificationAction
from lastword.notify.notifier import Notifier
from lastword.notify.writer import Surroundings
from lastword.platform.identity import local_time
from lastword.record.run import this_run
from lastword.record.sink import Scrub

if TYPE_CHECKING:
    from lastword.gateway.settings.fleet import FleetSettings
    from lastword.gateway.settings.holder import HolderSettings
    from lastword.notify.settings import NotifySettings
    from lastword.record.run import Row

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
