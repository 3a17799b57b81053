"""The doorkeeper: whether a request to the front is admitted, and otherwise the refusal.

Owns the checks of address, host, origin and token, in this order, and the messages. A browser
learns the reason from a close code, since it cannot see a failed upgrade; other clients get an
HTTP status.
"""

from __future__ import annotations

import ipaddress
import time
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import msgspec

from lastword.gateway.tokens import Failures, Grant, TokenError, TokenExpiredError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from lastword.gateway.links import Links
    from lastword.gateway.tokens import Keeper

PROTOCOL = "acp.lastword.v1"
BEARER_PROTOCOL = "bearer."
"""Subprotocols: a browser can send a token in no other place that is not kept."""

COOKIE = "lastword_token"

NEVER_SECONDS = 400 * 24 * 3600
"""How long a browser keeps a cookie at most, which is what it is told of a token without an end."""


class Refusal(Exception):  # noqa: N818 - what the doorkeeper does, not what went wrong with it
    """A request is not admitted.

    Attributes:
        status: the HTTP status.
        code: the WebSocket close code, for requests with an origin.
        reason: a low-cardinality word.
        said: what is wrong and what to do, as a sentence.
        retry_after: seconds to wait; 0 if waiting does not help.
    """

    def __init__(
        self, status: int, code: int, reason: str, said: str, *, retry_after: int = 0
    ) -> None:
        super().__init__(said)
        self.status = status
        self.code = code
        self.reason = reason
        self.said = said
        self.retry_after = retry_after


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """What the doorkeeper knows about a request.

    Attributes:
        peer: the address it comes from.
        headers: its headers, with names in lower case.
        subprotocols: the subprotocols it offers.
        cookies: its cookies.
    """

    peer: str
    headers: Mapping[str, str]
    subprotocols: Sequence[str] = ()
    cookies: Mapping[str, str] = {}


class Doorkeeper:
    """Admits requests."""

    def __init__(  # noqa: PLR0913 - what it is given
        self,
        keeper: Keeper,
        *,
        hosts: Sequence[str] = (),
        origins: Sequence[str] = (),
        clock: Callable[[], float] = time.time,
        waits: Callable[[], float] = time.monotonic,
        links: Links | None = None,
    ) -> None:
        """Admit whoever has one of the keeper's tokens.

        Args:
            keeper: Reads tokens.
            hosts: Names of the gateway in addition to those of loopback.
            origins: Origins of pages in addition to its own.
            clock: The time of day in seconds, by which tokens expire.
            waits: A monotonic time in seconds, by which wrong tokens are counted.
            links: The links to the page; without them, no link is valid.
        """
        self._keeper = keeper
        self._links = links
        self._hosts = {host.lower() for host in hosts}
        self._origins = {origin.lower().rstrip("/") for origin in origins}
        self._clock = clock
        self._failures = Failures(waits)

    def admit(self, asked: Asked) -> Grant:
        """Admit a request.

        Raises:
            Refusal: It is not admitted.
        """
        self._look_at_where(asked)
        token = _token_of(asked)
        if not token:
            said = "A token is missing. `lastword gateway token` prints one."
            raise Refusal(401, 4401, "unauthorized", said)
        try:
            return self._keeper.read(token, self._clock())
        except TokenError as error:
            if not isinstance(error, TokenExpiredError):
                self._failures.note(asked.peer)
            said = f"{str(error).capitalize()}. `lastword gateway token` prints a new one."
            raise Refusal(401, 4401, "unauthorized", said) from None

    def follow(self, asked: Asked, code: str) -> Grant:
        """Admit somebody by a link, which works once.

        Raises:
            Refusal: The link is not valid.
        """
        self._look_at_where(asked)
        said = "No link leads here."
        try:
            if self._links is not None:
                return self._links.take(code)
        except TokenError as error:
            said = f"{str(error).capitalize()}."
        self._failures.note(asked.peer)
        raise Refusal(401, 4401, "unauthorized", said)

    def seconds_left(self, grant: Grant) -> int:
        """Return how long a grant is still valid."""
        return max(grant.expires - int(self._clock()), 1) if grant.expires else NEVER_SECONDS

    def _look_at_where(self, asked: Asked) -> None:
        """Check where a request comes from, and which host it is for."""
        self.look_at_place(asked)
        wait = self._failures.wait_seconds(asked.peer)
        if wait:
            said = f"Too many wrong tokens came from here. Try again in {wait} seconds."
            raise Refusal(429, 4429, "too_many_failures", said, retry_after=wait)

    def look_at_place(self, asked: Asked) -> None:
        """Check only the host and the origin of a request.

        Raises:
            Refusal: A page from another site sent it.
        """
        self._look_at_host(asked.headers.get("host", ""))
        origin = asked.headers.get("origin")
        if origin is not None:
            self._look_at_origin(origin, asked.headers.get("host", ""))

    def _look_at_host(self, host: str) -> None:
        """Refuse other names that resolve to this machine: a page there must not get in."""
        name = _host_name(host)
        if is_loopback(name) or name in self._hosts:
            return
        said = f"The gateway is not known as {name[:200] or 'nothing'}; see --allow-host."
        raise Refusal(403, 4403, "host", said)

    def _look_at_origin(self, origin: str, host: str) -> None:
        wanted = origin.lower().rstrip("/")
        if _netloc(wanted) == host.lower() or wanted in self._origins:
            return
        said = "Pages of another origin may not use the gateway; see --allow-origin."
        raise Refusal(403, 4403, "origin", said)


def for_session(grant: Grant, session_id: str) -> None:
    """Check that a grant is for this session.

    Raises:
        Refusal: It is for another one.
    """
    if grant.session and grant.session != session_id:
        said = "The token is for another session. `lastword gateway token` prints one for all."
        raise Refusal(403, 4403, "forbidden", said)


def _token_of(asked: Asked) -> str:
    header = asked.headers.get("authorization", "")
    scheme, _, token = header.partition(" ")
    if scheme.lower() == "bearer" and token.strip():
        return token.strip()
    for offered in asked.subprotocols:
        if offered.startswith(BEARER_PROTOCOL):
            return offered.removeprefix(BEARER_PROTOCOL)
    return asked.cookies.get(COOKIE, "")


def _netloc(origin: str) -> str:
    try:
        return urlsplit(origin).netloc
    except ValueError:  # as of a bracket that is not closed
        return ""


def _host_name(host: str) -> str:
    if host.startswith("["):
        return host.partition("]")[0].removeprefix("[").lower()
    return host.rpartition(":")[0].lower() if ":" in host else host.lower()


def is_loopback(name: str) -> bool:
    """Tell whether this is a name or an address of this machine."""
    if name == "localhost":
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False
