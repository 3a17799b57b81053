"""The table of options: their names, defaults, and written forms.

Owns names (`--idle-timeout`, `LASTWORD_IDLE_TIMEOUT`, `idle_timeout_seconds` are one), defaults,
units, and the parsing of values. `lastword run` reads it before the agent is spawned, so it imports
nothing that imports anything; not even `typing`, which costs 5 ms.
"""

from __future__ import annotations

from lastword.core.failure.option_values import (
    DURATION_EXAMPLES,
    RUNGS,
    limit_of,
    seconds_of,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from collections.abc import Set as AbstractSet
    from typing import TypeAlias

    Value: TypeAlias = float | str
    """A flag's is a bool, a size's and a count's an int."""

MIB = 1024 * 1024

_UNITS = {"": 1, "b": 1, "kib": 1024, "mib": MIB, "gib": 1024 * MIB, "k": 1024, "m": MIB}
_MAX_DIGITS = 18
_FLAGS = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}


class Option:
    """One option.

    Attributes:
        name: Its name on the command line.
        kind: `seconds`, `bytes`, `count`, `flag`, `text`, `ids`, `spending`, `folder`, `file`,
            `url`, `url-or-topic` (of ntfy), the allowed words, separated by `|`, or `seconds=` with
            such words: a duration and one of them.
        about: What it is for.
        default: Its value if nobody sets it.
        project_safe: Whether a project's configuration file may set it. Such a file may come from a
            stranger: it may not name a command, an address or a path, spend money, hide a failure,
            or change what is read, recorded, redacted or sent.
        implied: The written value that the option has without one. With such a value, another is
            given behind `=` only.
        group: The heading in the help below which it stands.
    """

    __slots__ = ("about", "default", "group", "implied", "kind", "name", "project_safe")

    def __init__(  # noqa: PLR0913 - an option's facts
        self,
        name: str,
        kind: str,
        about: str,
        default: Value = False,  # noqa: FBT002  (a flag's)
        *,
        project_safe: bool = False,
        implied: str | None = None,
        group: str = "",
    ) -> None:
        self.name: str = name
        self.kind: str = kind
        self.about: str = about
        self.default: Value = default
        self.project_safe: bool = project_safe
        self.implied: str | None = implied
        self.group: str = group

    @property
    def key(self) -> str:
        """Its name in code: `--idle-timeout` is `idle_timeout`."""
        return self.name.replace("-", "_")

    @property
    def field(self) -> str:
        """Its name in `lastword.Options`, with the unit; some options are not there."""
        return f"{self.key}_{self.kind}" if self.kind in {"seconds", "bytes"} else self.key

    @property
    def variable(self) -> str:
        return f"LASTWORD_{self.key.upper()}"

    @property
    def words(self) -> tuple[str, ...]:
        """The allowed words, if it takes one."""
        return tuple(self.kind.split("|")) if "|" in self.kind and not self.timed_words else ()

    @property
    def timed_words(self) -> tuple[str, ...]:
        """The allowed words behind a duration; the first is the default."""
        before, mark, words = self.kind.partition("=")
        return tuple(words.split("|")) if mark and before == "seconds" else ()

    @property
    def expects(self) -> str:
        """What it accepts, in words."""
        if self.timed_words:
            words = " or ".join(f"={word}" for word in self.timed_words)
            return f"a duration, such as 30m, and {words}; 0 switches it off"
        return _EXPECTED.get(self.kind) or "one of " + ", ".join(self.words)

    def read(self, text: str) -> Value | None:
        """Return the value that a text means, or `None` if it cannot be used."""
        if self.kind == "seconds":
            return seconds_of(text)
        if self.kind == "bytes":
            return _bytes(text)
        if self.kind == "count":
            return _count(text)
        if self.kind == "flag":
            return _FLAGS.get(text.lower())
        if self.kind in {"folder", "file"}:
            return text or None
        if self.kind == "text":
            return text if text.strip() else None
        if self.kind == "spending":
            return _spending(text)
        if self.kind == "ids":
            return read_ids(text)
        if self.kind in {"url", "url-or-topic"}:
            schemes = _SCHEMES if self.kind == "url" else {*_SCHEMES, "ntfy"}
            return text if _is_url(text, schemes) else None
        if self.timed_words:
            return _timed(text, self.timed_words)
        return text if text in self.words else None


_EXPECTED = {
    "seconds": f"a duration, {DURATION_EXAMPLES}; 0 switches it off",
    "bytes": "a size, such as 16MiB",
    "flag": "1 or 0",
    "text": "a text that is not empty",
    "ids": "ids, separated by commas: none empty, and none twice",
    "folder": "a folder",
    "file": "a file",
    "url": "an http or https address, such as https://collector.example:4318",
    "url-or-topic": "an https address, such as https://hook.example/x, or ntfy://ntfy.sh/my-topic",
    "count": "a whole number, such as 2; 0 switches it off",
    "spending": "an amount with its currency, such as 5USD, 2USD/turn or 20EUR/day; 0 switches it "
    "off",
}


def _spending(text: str) -> str | None:
    """Return a spending limit in its one written form; an empty text is none."""
    if text.strip() in {"", "0"}:
        return ""
    limit = limit_of(text)
    return None if limit is None else limit.text


def _timed(text: str, words: tuple[str, ...]) -> str | None:
    """Return a duration and a word with both written out; empty for a duration of 0."""
    duration, mark, word = text.partition("=")
    seconds = seconds_of(duration)
    if seconds is None or (mark and word not in words):
        return None
    return f"{duration.strip()}={word or words[0]}" if seconds else ""


def _count(text: str) -> int | None:
    digits = text.isascii() and text.isdigit()
    return int(text) if digits and len(text) <= _MAX_DIGITS else None


def read_ids(text: str) -> str | None:
    """Return ids as they are kept; an empty text, which is none at all, disables the option."""
    ids = [each.strip() for each in text.split(",")] if text else []
    return ",".join(ids) if all(ids) and len({*ids}) == len(ids) else None


_MAX_PORT = 65535


_SCHEMES = frozenset({"http", "https"})


def _is_url(text: str, schemes: AbstractSet[str]) -> bool:
    """Return whether a text is empty, which disables the option, or a URL with a host."""
    if not text:
        return True
    scheme, mark, rest = text.partition("://")
    if scheme not in schemes or not mark or not text.isprintable() or " " in text:
        return False
    place = rest.partition("?")[0].partition("/")[0].rpartition("@")[2]
    host, colon, port = place.rpartition(":")
    if not colon or place.endswith("]"):
        host, colon, port = place, "", ""
    if host in {"", "[]"} or {*'\\#<>"^`{|}'} & {*text}:
        return False
    if {*"[]:"} & {*host} and (host[0], host[-1]) != ("[", "]"):
        return False
    digits = port.isascii() and port.isdigit() and len(port) <= len(str(_MAX_PORT))
    return not colon or (digits and 0 < int(port) <= _MAX_PORT)


def _bytes(text: str) -> int | None:
    digits = text.rstrip("abgikmABGIKM")
    factor = _UNITS.get(text[len(digits) :].lower())
    if factor is None or not digits.isascii() or not digits.isdigit():
        return None
    # Python refuses numbers of thousands of digits with an exception.
    return int(digits) * factor if len(digits) <= _MAX_DIGITS else None


_TABLE = """\
# limits
first-update-timeout seconds =15m project-safe
    end a turn that has produced no output at all after this time; raise it for slow models
idle-timeout seconds =15m project-safe
    end a turn whose output pauses for this long
tool-timeout seconds =2h project-safe
    the same limit while a tool call is in progress; raise it for builds that take hours
turn-timeout seconds project-safe
    end every turn after this time, whatever it is doing
spend-limit spending
    end the turn once the agent reports that it has cost this much, and refuse further prompts; an
    amount with its currency for each session, or with /turn for each turn, or with /day for all
    sessions of a day
cancel-grace seconds =10s
    how long the agent may take to confirm a cancel
stderr-limit bytes =16MiB
    end the turn of an agent that floods stderr with more than this and sends nothing else
line-limit bytes =64MiB
    the longest message to read, in either direction
# what the client sees
fallback auto|RUNGS =auto
    how a failure reaches the client; auto depends on what the client says it supports
silent-success error|pass =error
    what to do with a turn that succeeds without any output: report an error, or let it pass
warn-after seconds =45s project-safe
    warn the user after this much silence, if the client can show it
show-retries auto|off =auto project-safe
    show a line in the conversation while the agent retries; auto does so for clients that
    cannot show retries otherwise
# evidence
evidence auto|inside|beside|wire =auto
    where to look for the cause of a failure: wire is the agent's output alone; beside adds its
    logs and events; inside adds its runtime's requests to the model provider (Node, Bun, Python);
    auto is inside for agents that it was tried with, and beside for others
# restarts and retries
restart on-crash|never =on-crash
    restart a crashed agent when it is next needed, and resume its sessions
retry count
    send a prompt again, up to this many times, if it failed before anything happened
retry-wait-limit seconds =5m
    the longest wait before such a retry; if a longer one is needed, do not retry
fallback-model ids
    when the model or its provider fails, and not just briefly, continue the turn with this model
    of the agent; several are tried in turn. The previous model is restored afterwards
fallback-stays flag
    keep using that model in later turns
continue-at-reset seconds implied=6h
    when a turn hits a limit that resets at a known time, wait for the reset and continue; wait
    this long at most. The wait ends when `lastword run` does, so keep the editor open; a gateway
    keeps waiting
continue-with text =Continue.
    the prompt that continues the turn
# the agent's questions to the user
ask-reminder seconds project-safe
    remind the user of the agent's question after this time, and a few times more
ask-timeout seconds=reject|cancel
    answer the agent's question after this time if nobody has: reject it, or cancel it
# the record of sessions (see lastword log)
record folder
    keep the record in this folder
no-record flag
    do not record this run
record-text flag
    also record the text of errors, without secrets, so that failures that lastword does not
    recognise can be looked into
# reports of failures
report-to url
    send a report of each failure, without content, to this address
report-format otlp|webhook =otlp
    send reports to an OpenTelemetry collector, or signed to a webhook
report-secret-file file
    the file with the secret that signs reports to a webhook
# notifications
notify url-or-topic
    notify you while you are away, by a webhook or a topic of ntfy (ntfy://ntfy.sh/my-topic)
notify-events text =ask,failed,limit,continued
    the events to send: ask, failed, ended, limit, continued, separated by commas
notify-format webhook|ntfy =webhook
    the format that the address of --notify expects; always ntfy for ntfy://
notify-template file
    the body of a request to the webhook, with fields such as {title} and {sentence}
notify-secret-file file
    the file with ntfy's access token, or with the secret that signs requests to the webhook
notify-content flag
    also send what it is about: a question's title, and the text of an error, without secrets
notify-question-after seconds =10s
    send a question once it has been open for this long
# configuration files
config file
    read this configuration file instead of the user's own
no-config flag
    read no configuration file, neither the user's nor a project's
# troubleshooting lastword
passthrough flag
    run the agent without lastword, to see whether lastword causes a problem
verbose flag
    log to stderr what lastword sees and does, for a bug report
frames file
    write every message in both directions to this file, without secrets, for a bug report; it
    contains prompts and answers; `lastword log --web --frames FILE` shows it
"""
"""The options, in groups with a title: a line with the name, the kind, the default as a user writes
it (otherwise it is off or empty) and marks, and below it what the option is for."""


def _read_table() -> Iterator[Option]:
    group = ""
    for row in _TABLE.replace("\n    ", "\t").splitlines():
        if row.startswith("# "):
            group = row[2:]
            continue
        head, *about = row.split("\t")
        name, kind, *marks = head.split()
        implied = next((mark[8:] for mark in marks if mark.startswith("implied=")), None)
        option = Option(
            name,
            kind.replace("RUNGS", "|".join(RUNGS)),
            " ".join(about),
            _OFF.get(kind, ""),
            project_safe="project-safe" in marks,
            implied=implied,
            group=group,
        )
        for mark in marks:
            if mark.startswith("="):
                option.default = option.read(mark[1:]) or ""
        yield option


_OFF: dict[str, Value] = {"seconds": 0.0, "count": 0, "flag": False}

OPTIONS = tuple(_read_table())
FILE_KEYS = frozenset({"config", "no_config"})
"""The options about configuration files, which no such file can set."""

BY_KEY = {option.key: option for option in OPTIONS}
