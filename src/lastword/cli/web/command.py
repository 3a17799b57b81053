"""`lastword log --web`: the record in a browser on this machine.

Owns the messages on the terminal, whether a browser is opened, and the end: Ctrl-C, or half an
hour without a request.
"""

from __future__ import annotations

import errno
import os
import sys
import threading
import webbrowser
from typing import TYPE_CHECKING
from urllib.parse import quote

from lastword.cli.record_access import UnusableError, chosen_session
from lastword.cli.web.server import LogServer
from lastword.record import reader

if TYPE_CHECKING:
    import argparse

IDLE_SECONDS = 30 * 60
"""A page that is looked at asks each second."""


def serve(options: argparse.Namespace, path: str, *, idle_seconds: float = IDLE_SECONDS) -> int:
    """Serve the record until the user stops it; return the exit status.

    Raises:
        UnusableError: The session does not exist, or the port is not available.
        StoreError: The record cannot be read.
    """
    place = "#/frames" if options.frames else _place(options, path)
    try:
        server = LogServer(path, options.port or 0, options.frames)
    except OSError as error:
        raise UnusableError(_no_port(error, options.port)) from None
    with server:
        try:
            _announce(server.door.link(place), opened=options.open)
            server.serve_until_idle(idle_seconds)
        except KeyboardInterrupt:
            _say("ended")
        else:
            _say(f"ended: no request for {idle_seconds / 60:.0f} minutes")
    return 0


def _announce(link: str, *, opened: bool) -> None:
    sys.stdout.write(f"{link}\n")
    sys.stdout.flush()
    _say("serving the record; the link works once; press Ctrl-C to stop")
    if opened:
        # Some browsers' commands run as long as their windows.
        threading.Thread(target=_open, args=(link,), daemon=True).start()


def _place(options: argparse.Namespace, path: str) -> str:
    """Return where in the page to begin."""
    with reader.reading(path) as record:
        if options.session is None and not options.last:
            reader.latest_parts(record, 1)  # report a damaged record now
            return ""
        name = chosen_session(record, options).name
        named = options.session or ""
        is_incident = bool(named) and not name.startswith(named) and f"/{named}" not in name
    incident = f"?incident={quote(named, safe='')}" if is_incident else ""
    return f"#/session/{quote(name, safe='')}{incident}"


def _no_port(error: OSError, port: int | None) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"port {port} is in use; leave --port out for one that is free"
    return f"cannot listen on port {port or 'any'}: {(error.strerror or 'failed').lower()}"


def _open(link: str) -> None:
    if not (_has_screen() and webbrowser.open(link)):
        _say("no browser could be opened; open the link in one on this machine")


def _has_screen() -> bool:
    """Return whether a browser could open a window. A text browser might take over the terminal."""
    names = ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY")
    return sys.platform == "darwin" or any(os.environ.get(name) for name in names)


def _say(message: str) -> None:
    sys.stderr.write(f"lastword log: {message}\n")
    sys.stderr.flush()
