"""The names in the JSON of the commands: one for each thing, whichever command says it.

Owns the glossary, and what is wrong with a document by it: `version` first, names in snake case
that stand here, and beside each moment in milliseconds the same in ISO 8601, UTC.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from lastword.core.failure.members import MEMBERS
from lastword.record.present.moments import FIXED_ELSEWHERE, moment

if TYPE_CHECKING:
    from collections.abc import Iterator

NAMES = {
    "about": "what a client is given on its rung",
    "address": "where other nodes reach a node",
    "advice": "what to do, as a sentence",
    "agent": "what the agent calls itself",
    "agent_pid": "the agent's process",
    "agent_version": "its version",
    "agents": "agents whose commands are known",
    "aliases": "earlier names of a rung",
    "alive": "does the run go on?",
    "answered_percent": "of the turns that are over, how many have an end, good or bad",
    "at": "when it happened",
    "at_epoch_ms": "the same in milliseconds since 1970 UTC",
    "at_seconds": "the same in the run's monotonic seconds",
    "bare": "does a scenario say nothing of lastword?",
    "before": "the days before",
    "behind": "servers that lack some of a stream",
    "by": "whose wish it was that a turn ended early",
    "by_agent": "failed turns by the agent's name",
    "by_day": "failed turns by the day",
    "by_type": "failed turns by type",
    "bytes": "how large it is",
    "can_write": "can lastword write an editor's settings?",
    "cancelled": "turns that were cancelled",
    "capabilities": "what the two sides said of themselves, as facts",
    "checks": "checks of agents",
    "client": "what the client calls itself",
    "client_version": "its version",
    "clients": "how a failure reaches each client",
    "command": "an agent's command, word by word",
    "confidence": "how sure the cause is",
    "connections_ended": "how often viewers left, by close code and cause",
    "controllers": "viewers that steer",
    "copies": "how many servers have all of a stream",
    "costs": "what turns cost, as agents state it, by currency",
    "count": "over how many it was measured",
    "counts": "how many of each",
    "current": "whether it is the one that is set now",
    "cwd": "where a session works",
    "days": "how many days",
    "dead": "reports that were refused for good",
    "dead_letters": "those reports",
    "door": "by which way a run came",
    "dropped": "messages that were kept back",
    "due_at": "when a target is tried again",
    "due_epoch_ms": "the same in milliseconds",
    "duration_seconds": "how long it took",
    "editors": "editors whose settings are known",
    "ended": "did the run say that it ended?",
    "ended_sessions": "how many sessions of a fleet have ended",
    "entries": "entries of the record",
    "epoch": "names a log's numbers",
    "error": "a failure's payload, or why the command could not do what it was asked",
    "error_in_version_2": "the same in version 2 of ACP",
    "error_type": "the type of a scenario's failure",
    "event": "what a notification is about",
    "evidence": "what something was concluded from",
    "evidence_version": "the version that evidence was read in",
    "exists": "is the file there?",
    "exit_status": "the exit status of the command itself",
    "facts": "an entry's or a finding's facts",
    "failed": "turns that failed",
    "failed_requests": "requests outside of turns that failed",
    "failures": "failures",
    "fault_of": "whose fault a finding is",
    "file": "where a file was written",
    "files": "files that were looked at",
    "findings": "what was found",
    "first": "the oldest entry of a log",
    "first_output": "from the prompt to the first text, tool call or question",
    "first_output_after_seconds": "the same of one turn",
    "fleet": "the gateways that a gateway shares its sessions with",
    "forced": "was the rung chosen by an option?",
    "form": "what an address takes",
    "frames": "frames of the wire",
    "from_at": "when a stretch of time begins",
    "from_epoch_ms": "the same in milliseconds",
    "front_pid": "the process of a gateway's front",
    "gaps": "how often a viewer was told of a gap",
    "gateway": "what befell sessions behind gateways",
    "gateway_session_id": "what a gateway names a session",
    "group": "the group of a scenario",
    "head": "the last entry of a log",
    "holders": "a gateway's processes that hold agents",
    "holders_died": "such processes that died",
    "install": "what installs an agent",
    "invalid_records": "records of a fleet that none of its nodes wrote",
    "journals": "the user's own journals",
    "kind": "the kind of an entry",
    "known": "why a baseline expects a check to fail",
    "lags": "how often a viewer was far behind",
    "last_at": "when the last entry came",
    "last_epoch_ms": "the same in milliseconds",
    "last_failure": "the latest turn of a session that failed",
    "lastword_version": "the version of lastword",
    "leader": "the server that leads a stream",
    "left_out": "how many older ones are not shown",
    "level": "how much an entry matters",
    "line": "a line of a file",
    "log_resets": "sessions' logs begun anew",
    "lost_entries": "entries that could not be written",
    "made_by": "what wrote a file",
    "manifest": "what is in an export",
    "means": "what it means",
    "missed_entries": "entries that viewers missed",
    "missing": "what was not recorded",
    "more": "is there more?",
    "name": "a name",
    "no_end": "turns without an end",
    "node": "the gateway that has a session's agent",
    "nodes": "the gateways of a fleet",
    "not_replicated": "entries of which the fleet has no copy yet",
    "not_restored": "sessions that could not be restored",
    "notifications": "the outbox of notifications",
    "now": "these days",
    "number": "a session's number in the list, from 1 for the latest",
    "observers": "viewers that watch",
    "of": "what failed: a turn or a request",
    "ok": "is it, or how many are, well?",
    "ok_percent": "of the turns that are over and were not cancelled, how many ended well",
    "oldest_at": "when the oldest report was made",
    "oldest_epoch_ms": "the same in milliseconds",
    "option": "an option's name",
    "options": "the options of the configuration",
    "other_ports": "the ports of this user's other gateways",
    "outcome": "how a turn ended",
    "p50": "half took no longer, in seconds",
    "p90": "nine of ten took no longer",
    "p99": "99 of 100 took no longer",
    "per_turn": "can a scenario be asked for in a prompt?",
    "pid": "a process",
    "place": "an address without its secrets",
    "platform": "the operating system",
    "problems": "what is wrong with a file",
    "program": "the agent's program",
    "project_file": "the project's configuration file",
    "provider": "seconds for which a model provider had not answered",
    "python_version": "the version of Python",
    "quality": "what a holder counts",
    "questions": "questions of the agent's, by how they ended, or that wait",
    "questions_held": "questions with nobody to answer",
    "read_as": "in which form a text was read",
    "read_on": "the day on which it was read",
    "recovered": "whether a later turn ended well",
    "redactions": "what was taken out",
    "replicas": "on how many servers a stream is kept",
    "report": "a report of a failure",
    "report_id": "its id",
    "requests_by_agent": "failed requests outside of turns, by agent",
    "requests_by_type": "the same by type",
    "requirement": "a requirement of the contract",
    "reset_at": "when a limit is reset",
    "restarts": "agents started again",
    "restored": "sessions brought back",
    "restored_without_history": "of them, those whose agent has forgotten",
    "retries": "model calls that were tried again",
    "retry": "whether the prompt may be sent again, in words",
    "retry_wait_seconds": "the wait of each retry",
    "roots": "the folders below which a node's sessions work",
    "rule": "which row of the classifier decided",
    "rules": "the user's own rules of the classifier",
    "run": "a run",
    "run_id": "its id",
    "rung": "how a failure is told",
    "rungs": "each way with its frames",
    "running": "turns that run",
    "runs": "runs",
    "said": "what somebody else said",
    "scenarios": "scenarios of the scripted agent",
    "script": "a scenario file",
    "sees": "what a client sees of a scenario",
    "sentence": "what is the case, as a sentence",
    "server": "the NATS server that answered",
    "session_id": "a session's id",
    "sessions": "sessions",
    "sessions_ended": "sessions that ended, by cause",
    "set_aside": "damaged files that were set aside",
    "set_by": "who set an option: the default, a file, the environment",
    "silent_seconds": "the longest silence that was noticed in a turn",
    "slots": "how many agents a node may run",
    "socket": "a holder's socket",
    "started_at": "when it began",
    "started_epoch_ms": "the same in milliseconds",
    "state": "what a session is doing",
    "stderr": "the agent's error output",
    "step": "what was looked at",
    "stop_reason": "ACP's word for how a turn ended",
    "story": "a turn, or a failure, in a paragraph",
    "streams": "where a fleet keeps its logs and records",
    "summary": "how many checks came to which verdict",
    "supervisors_exited": "how often the link between a gateway and an agent ended",
    "table": "a table of the configuration file",
    "target": "what identifies an address in the outbox",
    "targets": "where reports go",
    "term": "the number of a session's ownership, which only rises",
    "text": "a paragraph",
    "title": "a title",
    "to_at": "when a stretch of time ends",
    "to_epoch_ms": "the same in milliseconds",
    "tool": "seconds for which a tool ran in silence",
    "tools": "how many tool calls",
    "turn": "a turn's number in its run, or whether one runs",
    "turn_count": "how many turns",
    "turns": "turns",
    "turns_by_day": "turns by the day",
    "turns_left_out": "turns that are not shown",
    "used": "how many agents a node runs",
    "user": "seconds for which a question to the user was open",
    "user_file": "the user's configuration file",
    "value": "an option's value",
    "variable": "the environment's variable that set an option",
    "verdict": "what came of a check or a look",
    "version": "of the document",
    "view": "a session as a gateway's API has it",
    "viewers_came": "how often a viewer came",
    "viewers_came_back": "of them, to go on where it was",
    "wait_seconds": "how long retries were to wait, in all",
    "waiting": "reports that wait",
    "waits": "who made the turns wait, in seconds",
    "what": "what failed, of a report",
    "when": "when a rung is taken",
    "when_exported": "how often each rule took something out of an export",
    "when_recorded": "the same of the record",
    "where": "where a piece of evidence was",
    "whole_turn": "from the prompt to the end, of turns that ended well",
    "withdrawn": "notifications that were no longer true",
    "workspace": "the name of a node's files, if other nodes have them too",
} | {member.name: member.description for member in MEMBERS}

OLDER_NAMES = {
    "check": {"agent": "command", "lastword": "lastword_version", "seconds": "duration_seconds"},
    "checks": {"mend": "advice"},
    "findings": {"says": "sentence", "do": "advice"},
    "scenarios": {"client": "advice"},
    "manifest": {"session": "session_id", "format": "version"},
    "runs": {"started": "started_at", "last": "last_at"},
    "sessions": {"sessionId": "session_id"},
}
"""Names that stay beside the new ones, by the command or the member that they stand in."""

COUNTED = frozenset(
    {
        *("by_agent", "by_day", "by_type", "requests_by_agent", "requests_by_type"),
        *("turns_by_day", "connections_ended", "questions", "sessions_ended", "counts"),
        *("costs", "summary", "when_exported", "when_recorded", "capabilities"),
    }
)
"""Members whose own members are named by what is counted."""

ISO = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
SNAKE = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")


def problems_in(document: Any, command: str) -> list[str]:
    """What is wrong with a command's document."""
    if not isinstance(document, dict) or next(iter(document), "") != "version":
        return [f"{command}: version does not come first"]
    found = [] if document["version"] == 1 else [f"{command}: its version is not 1"]
    return found + list(_problems(document, command, command))


def _problems(value: Any, member: str, path: str) -> Iterator[str]:
    if isinstance(value, list):
        for each in value:
            yield from _problems(each, member, path)
    if not isinstance(value, dict):
        return
    older = OLDER_NAMES.get(member, {})
    for name, each in value.items():
        where = f"{path}.{name}"
        if name in older:
            if value.get(older[name]) != each:
                yield f"{where} is not what {older[name]} is"
            continue
        if name not in NAMES or not SNAKE.fullmatch(name):
            yield f"{where} is not in the glossary"
        yield from _moment(value, name, where)
        if name not in FIXED_ELSEWHERE and name not in COUNTED:
            yield from _problems(each, name, where)


def _moment(holder: dict[str, Any], name: str, where: str) -> Iterator[str]:
    if name.endswith("_epoch_ms"):
        plain = name.removesuffix("_epoch_ms")
        beside = plain if plain == "at" or plain.endswith("_at") else f"{plain}_at"
        if holder.get(beside) != (None if holder[name] is None else moment(holder[name])):
            yield f"{where} has no {beside} beside it"
    if (name == "at" or name.endswith("_at")) and not ISO.fullmatch(str(holder[name])):
        yield f"{where} is {holder[name]!r}, and no moment in ISO 8601, UTC"
