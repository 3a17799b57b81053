"""Another machine: a real `sshd` on loopback, with a home of its own.

Owns its start, its end, its address and its keys. The `ssh` of a user is the real one, with a
configuration in which the machine is called `box`.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.kit.fleet.servers import free_port
from tests.kit.gateway.serving import until
from tests.kit.patience import FUSE_SECONDS

SSHD = shutil.which("sshd", path=os.environ.get("PATH", "") + os.pathsep + "/usr/sbin") or "sshd"
PRIVILEGE_SEPARATION = Path("/run/sshd")
"""A folder that `sshd` wants of root; Debian's service makes it."""


class Box:
    """A machine that `ssh box` reaches."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "box"
        self.home = self.folder / "home"
        (self.home / ".local/bin").mkdir(parents=True)
        self.runtime = Path(tempfile.mkdtemp(prefix="lw-", dir="/tmp"))  # a socket's path is short
        self.user_bin = folder / "user-bin"
        self.user_bin.mkdir()
        self.known_hosts = self.folder / "known_hosts"
        self.port = 0
        self._process: subprocess.Popen[bytes] | None = None
        for name in ("host", "user", "stranger"):
            self.make_key(name)
        shutil.copy(self.folder / "user.pub", self.folder / "authorized_keys")
        self.accept_host_key()
        self.install("lastword", f'exec {sys.executable} -P -m lastword "$@"')
        self.use_key("user")
        self.start()

    def make_key(self, name: str) -> None:
        """Make a key, or another one in its place."""
        path = self.folder / name
        path.unlink(missing_ok=True)
        words = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", str(path)]
        subprocess.run(words, check=True, timeout=FUSE_SECONDS)

    def accept_host_key(self) -> None:
        """Have the user know the machine's key."""
        key = (self.folder / "host.pub").read_text()
        self.known_hosts.write_text(f"box {key}")

    def install(self, name: str, script: str) -> None:
        program = self.home / ".local/bin" / name
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)

    def use_key(self, name: str) -> None:
        """Have the user's `ssh` use this key."""
        self._key = self.folder / name
        self._write_user_config()

    def _write_user_config(self) -> None:
        config = self.folder / "ssh_config"
        name = pwd.getpwuid(os.geteuid()).pw_name  # whatever the variables say
        config.write_text(
            f"Host box\n  HostName 127.0.0.1\n  Port {self.port}\n  User {name}\n"
            f"  HostKeyAlias box\n  IdentityFile {self._key}\n  IdentitiesOnly yes\n"
            f"  UserKnownHostsFile {self.known_hosts}\n"
            f"  ControlPath {self.runtime}/master\n"
            "Host *\n  GlobalKnownHostsFile /dev/null\n  StrictHostKeyChecking yes\n"
        )
        program = self.user_bin / "ssh"
        program.write_text(f'#!/bin/sh\nexec {shutil.which("ssh")} -F {config} "$@"\n')
        program.chmod(0o755)

    def start(self) -> None:
        """Start it, at a new address."""
        if os.geteuid() == 0:
            PRIVILEGE_SEPARATION.mkdir(exist_ok=True)
        self.port = free_port()
        config = self.folder / "sshd_config"
        path = os.environ.get("PATH", os.defpath)
        config.write_text(
            f"ListenAddress 127.0.0.1:{self.port}\nHostKey {self.folder}/host\nPidFile none\n"
            f"AuthorizedKeysFile {self.folder}/authorized_keys\nStrictModes no\nUsePAM no\n"
            "PasswordAuthentication no\nKbdInteractiveAuthentication no\n"
            f"SetEnv HOME={self.home} XDG_RUNTIME_DIR={self.runtime} PATH={path}\n"
        )
        self._write_user_config()
        with (self.folder / "sshd.log").open("ab") as log:
            self._process = subprocess.Popen(
                [SSHD, "-D", "-e", "-f", str(config)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=log,
            )
        until("sshd listens", self._listens)

    def _listens(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, (self.folder / "sshd.log").read_text()
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
            return True
        return False

    def sessions(self) -> list[int]:
        """The processes that serve the connections to it."""
        assert self._process is not None
        pid = self._process.pid
        if self._process.poll() is not None:
            return []
        text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
        return [int(each) for each in text.split()]

    def cut(self) -> None:
        for pid in self.sessions():
            self._signal(pid, signal.SIGKILL)

    def fall_silent(self) -> list[int]:
        """Have all connections say nothing more, as a network does that is gone."""
        silent = self.sessions()
        for pid in silent:
            self._signal(pid, signal.SIGSTOP)
        return silent

    def stop(self) -> None:
        """Stop it: its address leads nowhere."""
        assert self._process is not None
        serving = self.sessions()
        self._process.terminate()
        self._process.wait(FUSE_SECONDS)
        for pid in serving:
            self._signal(pid, signal.SIGKILL)

    def environment(self, home: Path) -> dict[str, str]:
        """The environment of a user at another machine, whose `ssh` reaches it."""
        kept = {key: value for key, value in os.environ.items() if not key.startswith("LASTWORD_")}
        path = f"{self.user_bin}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
        return kept | {"HOME": str(home), "PATH": path, "LASTWORD_NO_CONFIG": "1"}

    def ssh(self, command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(self.user_bin / "ssh"), "box", command],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=FUSE_SECONDS,
        )

    def close(self) -> None:
        """End it, and what was started there."""
        for pid in self.sessions():
            self._signal(pid, signal.SIGCONT)
        for port in {int(path.stem.rpartition("-")[2]) for path in self._logs()}:
            self.ssh(f"$HOME/.local/bin/lastword gateway stop --agents --port {port}")
        self.stop()
        shutil.rmtree(self.runtime, ignore_errors=True)

    def _logs(self) -> list[Path]:
        return list((self.home / ".local/state/lastword").glob("gateway-*.log"))

    @staticmethod
    def _signal(pid: int, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)
