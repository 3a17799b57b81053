"""Links to the page, each of which works once.

Owns the folder of unused links: one file each, named by a keyed hash of the link's code. So a link
neither works twice nor is lost if a gateway ends or is reloaded, and it ends with the tokens' key.
Using a link removes its file, which only one process can do.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import msgspec

from lastword.errors import StoreError
from lastword.gateway.front.tokens import Grant, TokenError
from lastword.gateway.run_folder import make_private

if TYPE_CHECKING:
    from collections.abc import Callable

    from lastword.gateway.front.tokens import Keeper

CODE_BYTES = 24
LINK_SECONDS = 10 * 60
"""How long a link waits to be followed."""

NOTIFIED_SECONDS = 12 * 3600
"""How long one in a notification waits: somebody may be asleep."""

MAX_CODE_CHARS = 128
MAX_LINKS = 1000
"""Links that wait; with one more, the oldest is gone."""


class WaitingLink(msgspec.Struct, frozen=True):
    """An unused link.

    Attributes:
        grant: what it allows.
        until: until when it works, in seconds since 1970 UTC.
    """

    grant: Grant
    until: float


class Links:
    """The unused links."""

    def __init__(
        self,
        folder: str,
        clock: Callable[[], float],
        keeper: Keeper,
        *,
        name: str = "links",
        seconds: int = LINK_SECONDS,
    ) -> None:
        """Keep them in a subfolder of this folder.

        Args:
            folder: The gateway's folder.
            clock: Gives the time of day.
            keeper: Names their files.
            name: The subfolder's name.
            seconds: How long a link waits to be followed.
        """
        self._keeper = keeper
        self._folder = os.path.join(folder, name)
        self._clock = clock
        self._seconds = seconds

    @classmethod
    def notified(cls, folder: str, clock: Callable[[], float], keeper: Keeper) -> Links:
        """Return the links in notifications, however many of which displace none of the others."""
        return cls(folder, clock, keeper, name="notified-links", seconds=NOTIFIED_SECONDS)

    def make(self, grant: Grant) -> str:
        """Return the code of a new link.

        Raises:
            StoreError: It cannot be stored.
        """
        code = secrets.token_urlsafe(CODE_BYTES)
        waiting_link = WaitingLink(grant, self._clock() + self._seconds)
        try:
            make_private(self._folder)
            self._forget()
            made = os.open(self._path(code), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            os.fchmod(made, 0o600)  # whatever the umask
            with os.fdopen(made, "wb") as file:
                file.write(msgspec.json.encode(waiting_link))
        except OSError as error:
            reason = (error.strerror or "failed").lower()
            raise StoreError(f"{self._folder} cannot be used ({reason})") from error
        return code

    def take(self, code: str) -> Grant:
        """Return what a link allows, and use it up.

        Raises:
            TokenError: There is no such link, or it has expired.
        """
        path = self._path(code[:MAX_CODE_CHARS])
        try:
            with open(path, "rb") as file:
                waiting_link = msgspec.json.decode(file.read(), type=WaitingLink)
            os.unlink(path)
        except (OSError, msgspec.MsgspecError):
            raise TokenError("the link has been used before, or is not valid") from None
        if waiting_link.until <= self._clock():
            raise TokenError("the link has expired")
        return waiting_link.grant

    def _path(self, code: str) -> str:
        return os.path.join(self._folder, self._keeper.link_name(code))

    def _forget(self) -> None:
        """Remove expired links."""
        waiting: list[tuple[float, str]] = []
        with os.scandir(self._folder) as found:
            for each in found:
                # Another process may use or remove a link at any moment.
                with contextlib.suppress(FileNotFoundError):
                    waiting.append((each.stat().st_mtime, each.path))
        too_old = self._clock() - self._seconds
        for place, (made, path) in enumerate(sorted(waiting)):
            if made < too_old or len(waiting) - place >= MAX_LINKS:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(path)


def address(page: str, code: str) -> str:
    """Return the link, to the page at this URL."""
    return f"{page.rstrip('/')}/?{urlencode({'code': code})}"
