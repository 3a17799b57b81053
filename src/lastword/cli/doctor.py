"""`lastword doctor`: check whether an agent can start here, and what each client would show."""

from __future__ import annotations

import os
import shutil
import sys
from typing import TYPE_CHECKING, Any

import msgspec

from lastword.cli import envelope
from lastword.cli.config.command import complaint
from lastword.cli.config.discovery import ConfigError, find
from lastword.cli.config.rows import NO_ROWS
from lastword.cli.config.settings import FROM_FILE_VARIABLE, load
from lastword.cli.page import Page, Progress
from lastword.cli.parser import CommandParser, add_arguments, positive_seconds
from lastword.cli.run.options import UsageError, parse
from lastword.cli.setup import here, programs
from lastword.cli.words import nearest, refuse, shown
from lastword.core.failure.ladder import Rung
from lastword.core.link.option_table import OPTIONS
from lastword.core.protocol import acp
from lastword.core.redact.redactor import redact_text
from lastword.gateway.settings.values import URL_VARIABLE
from lastword.kit import diagnosis, doctor
from lastword.kit.agent.rungs import EXAMPLE
from lastword.kit.diagnosis import converse
from lastword.kit.doctor import Health, Observation, note, ok, problem
from lastword.notify.http import target_of
from lastword.notify.notification import settings_of
from lastword.observer.pipe import ObserverPipe
from lastword.observer.requests import ModelRequests
from lastword.platform.process_tree import free_port, read_tcp_sockets
from lastword.platform.terminal import command_line
from lastword.quirks.setup import EDITORS
from lastword.record import paths
from lastword.sidecar import journals
from lastword.sidecar.agent_start import AgentStart

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from lastword.quirks.journals import JournalRow
    from lastword.quirks.setup import Editor

DESCRIPTION = """\
Starts the agent as `lastword run` would (same environment, same directory),
initializes it, opens a session, and stops it. Reports step by step what works,
what does not, and what to do. It sends no prompt and leaves no process behind.
"""

EPILOG = """\
examples:
  lastword doctor -- opencode acp
  lastword doctor --client zed -- ./my-agent.py

exit status: 0 if the agent can be used, 1 if a problem was found, 2 for invalid
arguments, 130 after Ctrl-C.
"""

TIMEOUT_SECONDS = 30.0
INTERRUPTED_STATUS = 130
NOTIFY = "LASTWORD_NOTIFY"
_USUAL = {"evidence": "auto", "fallback": "auto", "spend_limit": ""}
"""The options of `lastword run` that are examined, with their values if none can be read."""

MARKS = {Health.OK: "ok", Health.NOTE: "note", Health.PROBLEM: "PROBLEM"}
STEP_COLUMNS, MARK_COLUMNS = 14, 9
TAIL_LINES = 6


class Report(msgspec.Struct, frozen=True):
    """The findings."""

    command: list[str]
    findings: list[Observation]
    rows: list[diagnosis.ClientRow]

    @property
    def is_well(self) -> bool:
        return all(finding.verdict is not Health.PROBLEM for finding in self.findings)

    def as_json(self) -> dict[str, Any]:
        return {
            "command": [redact_text(word) for word in self.command],
            "ok": self.is_well,
            "findings": [finding.as_json() for finding in self.findings],
            "clients": [row.as_json() for row in self.rows],
        }


def main(arguments: Sequence[str]) -> int:
    """Examine an agent's command."""
    chosen, agent = parser().parse_in_front(arguments)
    if not agent or not agent[0]:
        return refuse(
            "doctor", "the agent's command is missing; for example: lastword doctor -- opencode acp"
        )
    unknown = chosen.client and chosen.client.lower() not in diagnosis.CLIENTS
    if unknown and (meant := nearest(chosen.client, diagnosis.CLIENTS)):
        return refuse(
            "doctor",
            f"no client is known as {shown(chosen.client)}. Did you mean {meant}? `lastword doctor "
            "--help` lists them all",
        )
    try:
        text = "Looking at the command and the environment"
        with Progress(text, in_lines=not chosen.json) as progress:
            report = _examine(agent, chosen, progress)
    except KeyboardInterrupt:
        sys.stderr.write("lastword doctor: stopped; the agent has been ended\n")
        return INTERRUPTED_STATUS
    if chosen.json:
        envelope.write(report.as_json())
    else:
        # Without --client, the likeliest editor on this machine.
        installed = [] if chosen.client else here.editors(os.environ, os.curdir)
        editor = EDITORS.get((chosen.client or "").lower())
        sys.stdout.write(_text(report, installed[0].editor if installed else editor))
    return 0 if report.is_well else 1


_OPTIONS = f"""\
--client CLIENT
    show how failures reach this client only: {", ".join(diagnosis.CLIENTS)}, or any other client's
    name (default: every known client)
--timeout TIME
    how long the agent may take for each answer; raise it for a slow start (default: %(default)g s)
--json  print the findings as JSON
"""


def parser() -> CommandParser:
    made = CommandParser(
        "doctor", usage="[options] -- CMD [ARGUMENT...]", about=DESCRIPTION, ends=EPILOG
    )
    more = {"type": positive_seconds, "default": TIMEOUT_SECONDS}
    add_arguments(made, _OPTIONS, timeout=more)
    return made


def _examine(agent: list[str], chosen: argparse.Namespace, progress: Progress) -> Report:
    own = (*paths.VARIABLES, FROM_FILE_VARIABLE, URL_VARIABLE)
    variables = [*(option.variable for option in OPTIONS), *own]
    findings = doctor.examine_surroundings(os.environ, complaint, variables)
    about, own_journals = _configuration()
    findings += about
    about, values = _options()
    findings += about
    findings += doctor.examine(agent[0], os.environ)
    if findings[-1].verdict is Health.PROBLEM and findings[-1].step == doctor.STEP:
        if not shutil.which(agent[0]):
            findings[-1].facts["message"] = diagnosis.not_found(agent[0])
        return Report(agent, findings, [])
    speaks_v2 = False
    observer = _observer(AgentStart(agent, values["evidence"]))
    try:
        result = converse(
            agent,
            timeout_seconds=chosen.timeout,
            environment=None if observer is None else observer.environment,
            at=progress.say,
        )
        runtimes: list[str] | None = None
        if observer is not None:
            requests = ModelRequests()
            for line in observer.read():
                requests.receive(line, 0.0)
            runtimes = list(requests.runtimes.values())
        findings += diagnosis.diagnose(result, timeout_seconds=chosen.timeout)
        if result.hello is None or "result" not in result.hello:
            return Report(agent, findings, [])
        progress.say("Asking the agent for protocol version 2")
        speaks_v2 = _speaks_v2(agent, chosen.timeout)
    except OSError as error:
        return Report(agent, [*findings, diagnosis.not_started(agent[0], error)], [])
    finally:
        if observer is not None:
            observer.close()
    if speaks_v2:
        versions = "It also speaks version 2 of the protocol, to clients that ask for it."
        findings.append(ok("version 2", versions))
    else:
        versions = "It speaks only version 1 of the protocol: clients that ask for 2 get 1, or no "
        findings.append(note("version 2", f"{versions}answer."))
    rows_of_journals = journals.rows_of(diagnosis.agent_name(result), own_journals, agent)
    findings += _sources(AgentStart(agent, values["evidence"]), rows_of_journals, runtimes)
    if values["spend_limit"]:
        findings.append(diagnosis.costs(values["spend_limit"]))
    rows = diagnosis.table(chosen.client, option=values["fallback"], speaks_v2=speaks_v2)
    findings.append(diagnosis.overnight(result, agent))
    if chosen.client:
        named = EDITORS.get(rows[0].client)
        findings.append(diagnosis.shown_by(rows[0], named.title if named else rows[0].client))
    return Report(agent, findings, rows)


def _configuration() -> tuple[list[Observation], tuple[JournalRow, ...]]:
    """Examine the configuration files; return the user's journals, too."""
    places = find((), os.environ)
    if not places.present:
        return [], ()
    try:
        files = load(places, ("run", "record"))
    except ConfigError as error:
        do = "Correct it: until then `lastword run` does not start the agent"
        return [problem("configuration", f"{error}.", do)], ()
    findings = [note("configuration", f"{warning}.") for warning in files.warnings]
    rows = NO_ROWS
    try:
        rows = files.rows()
    except ConfigError as error:
        findings.append(note("configuration", f"Your own rows are ignored: {error}."))
    if files.documents:
        paths_read = " and ".join(document.path for document in files.documents.values())
        findings.append(ok("configuration", f"{paths_read}: `lastword config` shows what it sets."))
    return findings, rows.journals


def _options() -> tuple[list[Observation], dict[str, str]]:
    """Examine the options for notifications; return the values of others, too."""
    try:
        values = parse(["--", "agent"]).values
    except UsageError as error:
        do = "Correct it: until then `lastword run` does not start the agent"
        findings = [problem("notifications", f"{error}.", do)] if os.environ.get(NOTIFY) else []
        return findings, _USUAL
    used = {key: str(values.get(key, usual)) for key, usual in _USUAL.items()}
    if not values.get("notify"):
        return [], used
    settings = settings_of(values)
    target = target_of(settings).target
    what = ", ".join(settings.events)
    sentence = f"Notifications ({what}) go to {target.place}, in the form of {settings.form}."
    return [ok("notifications", sentence, place=target.place, form=settings.form)], used


def _observer(start: AgentStart) -> ObserverPipe | None:
    """Return a pipe for the reports of the agent's runtime, if `lastword run` would open one."""
    if not start.may_have_observer:
        return None
    try:
        return ObserverPipe()
    except OSError:
        return None


def _sources(
    start: AgentStart, rows_of_journals: list[JournalRow], runtimes: list[str] | None
) -> list[Observation]:
    """Check the sources that `lastword run` would read besides the agent's pipes.

    Args:
        start: The agent's start.
        rows_of_journals: The journals that it may write.
        runtimes: The runtimes that have reported; `None` if none was asked to.
    """
    if start.evidence == "wire":
        return [diagnosis.no_sources_read()]
    observations = [] if runtimes is None else [diagnosis.runtime_source(runtimes)]
    for rows in journals.by_file(rows_of_journals):
        begins = rows[0].path.partition("*")[0].partition("{")[0].rstrip("/")
        place = os.path.join(journals.folder_of(rows[0], os.environ), begins)
        in_time = all(row.in_time for row in rows)
        observations.append(diagnosis.journal_source(place, in_time=in_time))
    if start.may_have_port:
        observations.append(diagnosis.events_source(has_port=free_port() is not None))
    why_not: str | None = None
    try:
        read_tcp_sockets()
    except OSError as error:  # an agent's connections cannot be seen here
        why_not = error.strerror or str(error)
    return [*(observations or [diagnosis.no_source()]), diagnosis.silences(why_not=why_not)]


def _speaks_v2(agent: list[str], timeout_seconds: float) -> bool:
    hello = converse(agent, timeout_seconds=timeout_seconds, version=2).hello or {}
    result = hello.get("result")
    if not isinstance(result, dict) or result.get("protocolVersion") != acp.V2.version:
        return False
    # Some agents repeat any version; this member is required in version 2, and unknown in 1.
    return isinstance(result.get(acp.V2.agent_info), dict)


_CLIENTS = {each.name: each.title for each in EDITORS.values()} | {
    "typed": "takes agent_error",
    "older": "any other",
    "v2": "of version 2",
}
"""Names of the kinds of clients for people."""

_SHOWN_AS = {
    Rung.TYPED: "as an error with its kind and when to retry",
    Rung.V2: "as an error with its kind and when to retry",
    Rung.AIR: "as a card with a button to retry",
    Rung.ERROR: "as the error of the turn",
    Rung.ERROR_WITH_META: "as the error of the turn",
    Rung.RESULT: "as the end of the turn",
    Rung.TEXT: "as text of the agent",
}


def _text(report: Report, editor: Editor | None) -> str:
    page = Page(colours=False, keeps_words=True)
    for finding in report.findings:
        lead = f"{finding.step:<{STEP_COLUMNS}}{MARKS[finding.verdict]:<{MARK_COLUMNS}}"
        page.row(lead, finding.sentence)
        if finding.action:
            page.line(f"-> {finding.action}", indent=len(lead), hang=3)
        for line in str(finding.facts.get("stderr", "")).splitlines()[-TAIL_LINES:]:
            page.verbatim((f"{' ' * len(lead)}| {line[: page.columns]}", ""))
    page.line()
    if report.rows:
        page.line("How each client shows a failure:")
        page.line()
        names = [_CLIENTS.get(row.client, row.client) for row in report.rows]
        width = max(map(len, names)) + 2
        for name, row in zip(names, report.rows, strict=True):
            where = "LASTWORD_FALLBACK" if os.environ.get("LASTWORD_FALLBACK") else "your files"
            forced = f", set by {where}" if row.forced else ""
            page.row(f"  {name:<{width}}", f"{_SHOWN_AS[row.rung]}{forced}")
        page.line()
    title = editor.title if editor else "your editor"
    if not report.is_well:
        page.line("Follow the advice after -> at the PROBLEM above, and run this command again.")
        facts = [finding.facts for finding in report.findings]
        messages = [each["message"] for each in facts if "message" in each]
        if messages:
            page.line()
            page.line(f'Until then, {title} shows: "{messages[0]}"')
        return page.drain()
    page.line("This agent can be used here. In the editor's settings, start it as")
    agent = programs.agent_command(report.command, os.environ, "", whole=False).words
    own = programs.own_command(os.environ, whole=False).words
    is_behind = programs.own_command_of(agent) in {"run", "connect"}
    in_front = [] if is_behind else [*own, "run", "--"]
    line = command_line([*in_front, *agent])
    page.verbatim((f"  {redact_text(line)}", ""))  # to be copied
    if in_front:
        page.line("or let lastword write the settings:")
        typed = programs.typed_command(os.environ)
        words = ["setup", editor.name if editor else "EDITOR", "--write", "--", *report.command]
        page.verbatim((f"  {redact_text(command_line([*typed, *words]))}", ""))
    page.line()
    page.line(f'During a rate limit, {title} would show: "{EXAMPLE.message}"')
    return page.drain()
