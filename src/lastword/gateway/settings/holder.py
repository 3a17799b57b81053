"""The settings of a holder: each is one field, with the option of `lastword gateway` that sets it.

Owns the value, and what an agent is asked with at `initialize`, by which it is known which agents
suit a client.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from lastword._version import __version__
from lastword.core.protocol import acp
from lastword.core.protocol.acp import object_of
from lastword.gateway.settings.fleet import FleetSettings  # noqa: TC001 - msgspec reads annotations
from lastword.gateway.settings.option import Setting
from lastword.outbox.report import TargetOptions

if TYPE_CHECKING:
    from collections.abc import Mapping

SESSIONS = "sessions"
QUESTIONS = "the agent's questions while nobody is connected"
NOTIFICATIONS = "links in notifications (see --notify)"
"""Headings in the help."""

AGENT_ERROR: dict[str, Any] = {"version": 1, "retry": True}


class HolderSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of a holder.

    Attributes:
        name: its name.
        run_folder: the folder of the gateway's socket; for its user alone.
        log_folder: the folder of the logs; for its user alone.
        address: the URL of the gateway that starts it.
        links_to: where browsers reach that gateway, if that has been said.
        record_folder: the folder of the record; empty for none.
        state_folder: the folder of the outbox.
        command: the agent's command.
        options: the options of `lastword run`.
        run: the run that it is recorded in.
        client: the `initialize` params of the client that it is started for.
        session: the session whose log it takes over; empty for a new agent without one.
        report: where failures are reported.
        question_timeout: the value of `lastword run --ask-timeout`; empty for none.
        fleet: the settings of the fleet that its gateway belongs to.
    """

    name: str = ""
    run_folder: str = ""
    log_folder: str = ""
    address: str = ""
    links_to: str = ""
    record_folder: str = ""
    state_folder: str = ""
    command: list[str] = []
    options: list[str] = []
    run: str = ""
    client: dict[str, Any] = {}
    session: str = ""
    report: TargetOptions = TargetOptions()
    question_timeout: str = ""
    fleet: FleetSettings | None = None
    root: Annotated[
        str,
        Setting(
            "root",
            "folder",
            "the folder in or below which sessions work",
            group=SESSIONS,
            note="the current folder",
        ),
    ] = ""
    viewers: Annotated[
        int,
        Setting(
            "viewers",
            "number",
            "the maximum number of viewers of one session at once",
            group=SESSIONS,
        ),
    ] = 64
    client_fs: Annotated[
        bool,
        Setting(
            "client-fs",
            "flag",
            "let the agent use the files and terminals of the client that opened the session",
            group=SESSIONS,
        ),
    ] = False
    idle_close_seconds: Annotated[
        float,
        Setting(
            "idle-close",
            "positive-duration",
            "end a session after this long without a viewer or a turn",
            group=SESSIONS,
        ),
    ] = 7 * 24 * 3600.0
    detach_grace_seconds: Annotated[
        float,
        Setting(
            "detach-grace",
            "duration",
            "end a session this long after its last viewer leaves",
            group=SESSIONS,
            note="0, which is never",
        ),
    ] = 0.0
    notify_link: Annotated[
        str,
        Setting(
            "notify-link",
            "off|observer|controller",
            "with --notify and --public-url: notifications have a link that works once and opens "
            "their session in this role, and questions have buttons; off for neither",
            group=NOTIFICATIONS,
        ),
    ] = "observer"
    log_limit_bytes: Annotated[
        int,
        Setting(
            "log-limit",
            "size",
            "keep at most this much of a session's log, the latest part",
            group=SESSIONS,
        ),
    ] = 64 * 1024 * 1024
    unattended_seconds: Annotated[
        float | None,
        Setting(
            "unattended-timeout",
            "positive-duration",
            "with hold: answer no after this time",
            group=QUESTIONS,
        ),
    ] = 24 * 3600.0

    def initialize_params(self, client: Mapping[str, Any]) -> dict[str, Any]:
        """Return an agent's `initialize` params: those of a client, and what lastword reads.

        The agent works with files on the gateway's machine, so the client's file system and
        terminals are left out without `client_fs`.
        """
        dialect = acp.dialect(client.get("protocolVersion"))
        capabilities = dict(object_of(client.get(dialect.client_capabilities)))
        if not self.client_fs:
            capabilities.pop("fs", None)
            capabilities.pop("terminal", None)
        meta = object_of(capabilities.get("_meta"))
        capabilities["_meta"] = {
            **{key: value for key, value in meta.items() if key != "agent_error"},
            "agent_error": AGENT_ERROR,
        }
        # A later viewer may be able to show notices, whatever the first one can.
        capabilities["session"] = object_of(capabilities.get("session")) | {"notices": {}}
        return {
            "protocolVersion": dialect.version,
            dialect.client_capabilities: capabilities,
            dialect.client_info: {
                "name": "lastword-gateway",
                "title": "lastword gateway",
                "version": __version__,
            },
        }
