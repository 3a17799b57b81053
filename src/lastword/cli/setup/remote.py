"""The remote part of `lastword setup --host`: a gateway on another machine, by the user's `ssh`.

Owns what is run there: a look that changes nothing, the start of a gateway, and a token. Nothing is
installed. The token is in a file here that only this user can read.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

from lastword._installation import command_for, lasting_commands
from lastword.cli.setup.programs import home_of
from lastword.gateway.connecting import ssh
from lastword.platform.files import write_whole
from lastword.record.paths import state_folder

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lastword.quirks.setup import AgentCommand

DEFAULT_PORT = 7780
OLDEST = (0, 2)
"""The first version whose gateway works with this `lastword connect`."""

TOKEN_DAYS = 90
TIMEOUT_SECONDS = 120.0
_MARK = "lastword-setup:"
_LAST = 4096
"""How many characters of another machine's output are shown."""

_OUTER = r"""
SETUP_SCRIPT={script}
export SETUP_SCRIPT
case ${SHELL:-} in */bash|*/zsh|*/fish|*/ksh|*/dash) shell=$SHELL ;; *) shell=sh ;; esac
if [ -n "$("$shell" -lic 'printf "%s" "$PATH"' </dev/null 2>/dev/null)" ]; then
  exec "$shell" -lic 'exec sh -c "$SETUP_SCRIPT"' </dev/null
fi
exec sh -c "$SETUP_SCRIPT" </dev/null
"""
"""Runs a script with the variables of a terminal's shell: PATH, keys, folders. A shell that starts
another one instead of running the script is not used."""

_BEGIN = r"""
unset SETUP_SCRIPT
say() { printf '\nlastword-setup:%s=%s\n' "$1" "$2"; }
PATH=$PATH:$HOME/.local/bin:/opt/homebrew/bin:/usr/local/bin
export PATH
status() { lastword gateway status --port {port} "$@"; }
running() { status --json 2>/dev/null | sed -n 's/.*"front_pid": *\([0-9][0-9]*\).*/\1/p'; }
"""

_LOOK = r"""
say home "$HOME"
say python "$(python3 -c 'import sys; print(sys.version.split()[0])' 2>/dev/null)"
say program "$(command -v lastword)"
if command -v lastword >/dev/null; then
  say version "$(lastword --version 2>/dev/null | tail -n 1)"
  say problem "$(status 2>&1 >/dev/null | tail -n 1)"
  pid=$(running)
  say pid "$pid"
  [ -n "$pid" ] && say serves "$(ps -ww -o args= -p "$pid")"
fi
say agent "$(command -v {agent})"
say done yes
"""

_START = r"""
log=${XDG_STATE_HOME:-$HOME/.local/state}/lastword/gateway-{port}.log
why=$({ umask 077; mkdir -p "${log%/*}" && : >>"$log"; } 2>&1)
cd || exit
nohup {line} >>"$log" 2>&1 &
started=$!
tries=0
while [ -z "$(running)" ] && [ "$tries" -lt 60 ] && kill -0 "$started" 2>/dev/null; do
  sleep 0.5
  tries=$((tries + 1))
done
say pid "$(running)"
say log "$log"
say end "${why:-$(tail -n 1 "$log")}"
say done yes
"""

_MAKE_TOKEN = r"""
say token "$(lastword gateway token --expires {days}d 2>/dev/null | tail -n 1)"
say done yes
"""  # noqa: S105 - a script


class RemoteError(Exception):
    """The other machine cannot be used; the text says why and what to do."""


@dataclass(frozen=True, slots=True)
class Remote:
    """Another machine, from the options of `lastword setup`.

    Attributes:
        host: the machine, as `ssh` takes it.
        port: the gateway's port there.
        folder: what `lastword connect --folder` takes; empty for home in place of home.
        program: lastword's own path there, once it is known.
        editor: the editor here, which has a token of its own.
    """

    host: str
    port: int = DEFAULT_PORT
    folder: str = ""
    program: str = "lastword"
    editor: str = ""

    @property
    def suffix(self) -> str:
        """The end of an entry's name."""
        return "-" + re.sub(r"[^\w.-]", "-", self.host.rpartition("@")[2])

    def token_path(self, environment: Mapping[str, str]) -> str:
        """Return the path of the file here with the token."""
        name = re.sub(r"[^\w.@-]", "-", self.host)
        return os.path.join(_token_folder(environment), f"{name}-{self.port}-{self.editor}.token")

    def words(self, home: str, environment: Mapping[str, str]) -> list[str]:
        """Return the words of `lastword connect` for the editor's entry."""
        here = home_of(environment)
        return [
            *("connect", "--ssh", self.host),
            *("--folder", self.folder or f"{here}={home}"),
            *("--token-file", self.token_path(environment), f"http://127.0.0.1:{self.port}"),
        ]

    def command(self, *words: str) -> str:
        """Return a command for its gateway, to be typed there."""
        port = [] if self.port == DEFAULT_PORT else ["--port", str(self.port)]
        return shlex.join([self.program, "gateway", *words, *port])


@dataclass(frozen=True, slots=True)
class RemoteState:
    """The state of the other machine.

    Attributes:
        home: the user's home there.
        program: lastword's path.
        version: lastword's version there.
        is_running: whether a gateway is running at the port.
        serves: the command of its agent.
    """

    home: str
    program: str
    version: str
    is_running: bool
    serves: str


def look(remote: Remote, command: Sequence[str], agent: AgentCommand | None) -> RemoteState:
    """Return the state of the other machine, and change nothing.

    Args:
        remote: The machine.
        command: The agent's command; empty for that of a gateway that is already running there.
        agent: The agent, if it is a known one.

    Raises:
        RemoteError: It cannot be reached, or lacks something that only its user can add.
    """
    if sys.platform == "win32":
        raise RemoteError(ssh.ON_WINDOWS)
    if importlib.util.find_spec("websockets") is None:
        raise RemoteError(
            "`lastword connect`, which the editor will start, needs the extra `gateway` here: "
            f"{command_for('gateway')}"
        )
    host = shlex.quote(remote.host)
    first = shlex.quote(command[0]) if command else "sh"
    answers = _run(remote, _LOOK, agent=first)
    if not answers["program"]:
        raise RemoteError(_absent(host, answers["python"]))
    version = answers["version"].rpartition(" ")[2]
    if _numbers(version) < OLDEST:
        oldest = ".".join(map(str, OLDEST))
        raise RemoteError(
            f"{host} has lastword {version or 'of an unknown version'}, and this needs {oldest} "
            "or newer: upgrade it there, and run this again"
        )
    if not answers["pid"] and answers["problem"]:
        raise RemoteError(f"{host} says: {answers['problem'].removeprefix('lastword: ')}")
    serves = answers.get("serves", "").partition(" -- ")[2] if answers["pid"] else ""
    agent_line = " ".join(command)
    if serves and agent_line and agent_line != serves:
        raise RemoteError(
            f"the gateway on port {remote.port} of {host} serves `{serves}`: leave the agent out "
            f"to use that, or give another --port for a gateway with `{agent_line}`"
        )
    if not answers["pid"] and not agent_line:
        raise RemoteError(
            f"no gateway is running on port {remote.port} of {host}: say which agent it is to serve"
        )
    if not answers["pid"] and not answers["agent"]:
        hint = f": {agent.install}" if agent and agent.install else ": install it"
        raise RemoteError(f"{host} has no program {command[0]!r}{hint}, and run this again")
    return RemoteState(answers["home"], answers["program"], version, bool(answers["pid"]), serves)


def start(remote: Remote, command: Sequence[str], run_words: Sequence[str], home: str) -> None:
    """Start a gateway there, which continues after `ssh` ends.

    Raises:
        RemoteError: It did not start.
    """
    words = [
        *(remote.program, "gateway", "--listen", f"127.0.0.1:{remote.port}"),
        *("--root", remote.folder.rpartition("=")[2] or home, *run_words, "--", *command),
    ]
    answers = _run(remote, _START, line=shlex.join(words))
    if not answers["pid"]:
        why = answers["end"].removeprefix("lastword: ") or "it said nothing"
        raise RemoteError(
            f"the gateway on {shlex.quote(remote.host)} did not start: {why} (its log there: "
            f"{answers['log']})"
        )


def save_token(remote: Remote, environment: Mapping[str, str]) -> None:
    """Get a token from the other machine, and save it here.

    Raises:
        RemoteError: There is none, or it cannot be saved.
    """
    token = _run(remote, _MAKE_TOKEN, days=str(TOKEN_DAYS))["token"]
    if not token or " " in token:
        host = shlex.quote(remote.host)
        raise RemoteError(f"{host} made no token: `{remote.command('token')}` says why there")
    path = remote.token_path(environment)
    folder = os.path.dirname(path)
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        write_whole(path, f"{token}\n".encode())
    except OSError as error:
        why = (error.strerror or "failed").lower()
        raise RemoteError(f"the token cannot be saved in {path}: {why}") from None


def host_of(words: Sequence[str]) -> str:
    """Return the machine of an entry's command; empty if it is none of these."""
    return _value(words, "--ssh") if "connect" in words else ""


def forgotten(words: Sequence[str], environment: Mapping[str, str]) -> list[str]:
    """Delete the token of a removed entry; return notes for the user, in sentences."""
    host = host_of(words)
    path = _value(words, "--token-file")
    if not host or os.path.dirname(path) != _token_folder(environment):
        return []
    with contextlib.suppress(OSError):
        os.unlink(path)
    port = words[-1].rpartition(":")[2]
    remote = Remote(host, int(port) if port.isdecimal() else DEFAULT_PORT)
    return ["The token was deleted here, and the gateway continues.", _end(remote)]


def _value(words: Sequence[str], option: str) -> str:
    return next((after for word, after in pairwise(words) if word == option), "")


def _token_folder(environment: Mapping[str, str]) -> str:
    return os.path.join(state_folder(environment), "hosts")


def notes_of(
    remote: Remote, there: RemoteState, run_words: Sequence[str], *, is_written: bool
) -> list[str]:
    """Return notes for the user on an agent there, in sentences."""
    port = f" on port {remote.port}"
    if there.is_running:
        notes = [f"The gateway{port} of {remote.host} serves `{there.serves or 'an agent'}`."]
        if run_words:
            ignored = shlex.join(run_words)
            notes.append(f"It is already running, so {ignored} has no effect: stop it first.")
    elif is_written:
        restart = "After a restart of that machine, this same command starts it again."
        notes = [f"A gateway was started{port} of {remote.host}. {restart}"]
    else:
        notes = [f"No gateway is running{port} of {remote.host}; --write starts one."]
    here, _, folder = remote.folder.rpartition("=")
    if not remote.folder:
        where = f"Sessions work there: your home there ({there.home}) stands for your home here."
    elif here:
        where = f"Sessions work there: {folder} stands for {here} here."
    else:
        where = f"Sessions work there, in {folder}."
    notes.append(f"{where} Files here are not touched.")
    if is_written:
        notes.append(f"The token is good for {TOKEN_DAYS} days; this command makes a new one.")
    return [*notes, _end(remote)]


def _end(remote: Remote) -> str:
    command = replace(remote, program="lastword").command("stop", "--agents")
    return f"On {remote.host}, `{command}` ends the gateway and its agents."


def _run(remote: Remote, script: str, **values: str) -> dict[str, str]:
    """Run a script there; return the answers that it printed.

    Args:
        remote: The machine.
        script: The script, with the names of values in braces.
        values: The values; at most one of them is not lastword's own.

    Raises:
        RemoteError: It could not be run.
    """
    text = (_BEGIN + script).replace("{port}", str(remote.port))
    for name, value in values.items():
        text = text.replace(f"{{{name}}}", value)
    text = _OUTER.replace("{script}", shlex.quote(text))
    try:
        return _answers(remote, text, ssh.OWN)
    except ssh.SshError as error:
        if not error.is_refused:
            raise RemoteError(str(error)) from None
    try:
        return _answers(remote, text, ssh.SHARED)
    except ssh.SshError as error:
        raise RemoteError(str(error)) from None


def _answers(remote: Remote, text: str, way: str) -> dict[str, str]:
    """Run a script there by one way of `ssh`."""
    host = shlex.quote(remote.host)
    try:
        done = subprocess.run(  # noqa: S603 - the words are our own
            ssh.command(remote.host, way=way, script="exec sh -s"),
            input=text.encode(errors="surrogateescape"),
            capture_output=True,
            check=False,
            timeout=TIMEOUT_SECONDS,
        )
    except FileNotFoundError:
        raise ssh.SshError(ssh.MISSING) from None
    except subprocess.TimeoutExpired:
        text = f"{host} did not answer within {TIMEOUT_SECONDS:g} s"
        raise ssh.SshError(text) from None
    answers = {}
    for line in done.stdout.decode("utf-8", "replace").splitlines():
        if line.startswith(_MARK):
            name, _, value = line.removeprefix(_MARK).partition("=")
            answers[name] = "".join(filter(str.isprintable, value))[:_LAST].strip()
    if "done" not in answers:
        # A shell that lets nobody in says so on stdout, perhaps after a banner on stderr.
        output = done.stderr if answers else done.stderr + done.stdout
        raise ssh.error_of(remote.host, output.decode("utf-8", "replace"), done.returncode)
    return answers


def _absent(host: str, python: str) -> str:
    if _numbers(python) < (3, 11):
        has = f"only Python {python}" if python else "no Python"
        return (
            f"{host} has no lastword and {has}: install Python 3.11 or newer there, then lastword "
            "with its extra `gateway`, and run this again"
        )
    uv, pipx = lasting_commands("gateway")
    if not shlex.split(uv)[3].startswith("lastword"):  # from a folder of this machine
        return (
            f"{host} has no lastword: install it there as you did here, with its extra `gateway`, "
            "and run this again"
        )
    return f"{host} has no lastword: install it there with `{uv}` or `{pipx}`, and run this again"


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:2])
