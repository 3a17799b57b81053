"""`ssh` to another machine: its command line, and what its errors mean for a user.

Owns both. The user's own `ssh` and its configuration are used, so that a host that `ssh HOST`
reaches without a question is reached here. Needs only the standard library.
"""

from __future__ import annotations

import re
import shlex
from typing import NamedTuple

CONNECT_SECONDS = 15
ALIVE_SECONDS = 5
"""Three without an answer end a connection: the next one costs nothing but a second."""

BAD_REQUEST, FORBIDDEN = 400, 403
HOST_EXPECTS = "a host, as `ssh` does"
MISSING = "there is no `ssh` on PATH here: install OpenSSH's client"
ON_WINDOWS = (
    "a connection through ssh works on Linux and macOS alone; on Windows keep "
    "`ssh -N -L 7780:127.0.0.1:7780 HOST` running, and connect to http://127.0.0.1:7780"
)
_OPTIONS = (
    "BatchMode=yes",  # nobody can answer a question
    f"ConnectTimeout={CONNECT_SECONDS}",
    f"ServerAliveInterval={ALIVE_SECONDS}",
    "ServerAliveCountMax=3",
    "ForwardX11=no",
)

OWN, SHARED = "ControlPath=none", "ControlMaster=no"
"""Its own connection, or through one that the user has open (`ControlMaster`).

Its own comes first, since a shared connection that has died would delay every attempt. The shared
one is for hosts that ask for a password or a code, which the user has entered in a terminal.
"""


class _Meaning(NamedTuple):
    """What an error of `ssh` means.

    Attributes:
        pattern: what its words contain.
        sentence: what happened and what to do, with `{host}`.
        status: the HTTP status of the same meaning, if the next attempt would end alike; else 0.
        is_refused: whether the machine asks for a login.
    """

    pattern: str
    sentence: str
    status: int = 0
    is_refused: bool = False


_MEANINGS = (
    _Meaning(
        r"REMOTE HOST IDENTIFICATION HAS CHANGED",
        "the host key of {host} has changed. If its owner says so, remove the old key with "
        "`ssh-keygen -R {host}` and accept the new one with `ssh {host}`; otherwise someone may "
        "be intercepting the connection",
        FORBIDDEN,
    ),
    _Meaning(
        r"Host key verification failed|No \S+ host key is known",
        "the host key of {host} is not known here: run `ssh {host}` once, and accept it",
        FORBIDDEN,
    ),
    _Meaning(
        r"Permission denied|Too many authentication failures",
        "{host} does not let you in without a password: `ssh {host}` has to work without a "
        "question, by a key in ssh-agent or one without a passphrase, or through a connection that "
        "you have open (ControlMaster)",
        FORBIDDEN,
        is_refused=True,
    ),
    _Meaning(
        r"administratively prohibited",
        "{host} forbids connections through ssh (AllowTcpForwarding in its sshd_config)",
        FORBIDDEN,
    ),
    _Meaning(
        r"Bad configuration option|Bad owner or permissions",
        "ssh cannot read its configuration here: `ssh {host}` says why",
        BAD_REQUEST,
    ),
    _Meaning(
        r"open failed: connect failed|stdio forwarding failed",
        "ssh reaches {host}, but nothing listens at that address there: start the gateway",
    ),
    _Meaning(
        r"Could not resolve hostname|Name or service not known|nodename nor servname",
        "the name {host} cannot be resolved: check it, and the network",
    ),
    _Meaning(
        r"Connection refused", "{host} refuses connections to ssh: check that sshd runs there"
    ),
    _Meaning(
        r"timed out|No route to host|Network is unreachable|Network is down|not responding",
        "{host} cannot be reached: check that it is on, and the network",
    ),
)

_OWN_LINES = re.compile(
    r"^(?:Warning: Permanently added|\*\* WARNING|\*\* This session|\*\* The s)"
)


class SshError(OSError):
    """`ssh` has failed; the text says why and what to do, without a full stop.

    Attributes:
        status: the HTTP status of the same meaning, if another attempt would end alike; else 0.
        is_refused: whether the machine asks for a login.
    """

    def __init__(self, text: str, status: int = 0, *, is_refused: bool = False) -> None:
        super().__init__(text)
        self.status: int = status
        self.is_refused: bool = is_refused


def is_host(text: str) -> bool:
    """Return whether a text can be a host: one word that cannot be taken for an option."""
    return bool(text) and text[0] != "-" and text.isprintable() and not re.search(r"\s", text)


def command(host: str, *options: str, way: str = OWN, script: str = "") -> list[str]:
    """Return the command line.

    Args:
        host: The machine, as `ssh` takes it: a name, USER@NAME, or a `Host` of its configuration.
        way: `OWN` or `SHARED`.
        options: More options of `ssh`.
        script: What to run there, in the user's own shell; empty for none.
    """
    settings = [word for option in (*_OPTIONS, way) for word in ("-o", option)]
    return ["ssh", "-T", *settings, *options, "--", host, *([script] if script else [])]


def error_of(host: str, output: str, status: int | None) -> SshError:
    """Return what `ssh` meant.

    Args:
        host: The machine.
        output: What it wrote on stderr.
        status: Its exit status, if it has one.
    """
    shown = shlex.quote(host)
    for each in _MEANINGS:
        if re.search(each.pattern, output):
            sentence = each.sentence.format(host=shown)
            return SshError(sentence, each.status, is_refused=each.is_refused)
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    own = [line for line in lines if not _OWN_LINES.match(line)]
    how = own[-1] if own else f"it ended with status {status}" if status else "it ended"
    return SshError(f"ssh to {shown} failed: {how}")
