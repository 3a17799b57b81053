"""The doorkeeper: admits a request to the front, or refuses it with a reason.

Owns the checks of host, origin, site, token and pace, in this order, and the messages. A browser
learns the reason from a close code, since it cannot see a failed upgrade; other clients get an
HTTP status. A valid token or link is admitted whatever else came from its address: any web page
that its owner visits can send wrong ones from there.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import msgspec

from lastword.gateway.api.requests import ProblemError
from lastword.gateway.front.tokens import FAILURES, Grant, TokenError, TokenExpiredError
from lastword.gateway.viewing.access import LastMinute, Rate, RateLimiter
from lastword.gateway.wire import is_loopback

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from starlette.requests import HTTPConnection

    from lastword.gateway.front.fleet_shared import FleetLinks
    from lastword.gateway.front.tokens import Keeper, Links
    from lastword.gateway.viewing.access import AnswerCode

PROTOCOL = "acp.lastword.v1"
BEARER_PROTOCOL = "bearer."
"""Subprotocols: the only place for a browser's token that no log or history keeps."""

OTHER_SITES = frozenset({"cross-site", "same-site"})
"""The values of `Sec-Fetch-Site` for requests from a page of another origin; another port of the
same host is of the same site. Only browsers send the header, and no script can change it."""

DEFAULT_PORTS = {"http": ":80", "https": ":443"}

GUEST_REQUESTS = Rate(per_second=20, burst=400)
ADDRESS_REQUESTS = Rate(per_second=40, burst=800)
"""How many requests may come with one guest's token, and with all guests' from one address."""

FORWARDED = frozenset(
    {
        *("forwarded", "via", "x-real-ip", "x-real-port", "x-client-ip", "x-cluster-client-ip"),
        *("client-ip", "true-client-ip", "x-true-client-ip", "x-remote-ip", "x-remote-addr"),
        *("x-original-forwarded-for", "x-original-host", "x-original-url", "x-proxyuser-ip"),
        *("x-host", "x-scheme", "cf-connecting-ip", "cf-connecting-ipv6", "cf-ray", "cf-visitor"),
        *("cdn-loop", "fastly-client-ip", "fly-client-ip", "fly-forwarded-port"),
        *("x-envoy-external-address", "x-envoy-original-path", "x-amzn-trace-id"),
        *("x-appengine-user-ip", "x-azure-clientip", "x-azure-socketip", "x-arr-log-id"),
        *("x-nf-client-connection-ip", "x-vercel-forwarded-for", "do-connecting-ip"),
        *("tailscale-user-login", "ngrok-trace-id", "x-coming-from", "x-forwarded"),
    }
)
"""Headers by which reverse proxies, load balancers, CDNs and tunnels name the requester, besides
those that begin with `x-forwarded-`."""

PLACE_SECONDS = 30
"""When a guest without a slot may try again."""

NEVER_SECONDS = 400 * 24 * 3600
"""The longest time for which a browser keeps a cookie; used for a token that does not expire."""


class Refusal(ProblemError):  # noqa: N818 - what the doorkeeper does, not what went wrong with it
    """A request is not admitted.

    Attributes:
        code: the WebSocket close code, for requests with an origin.
        retry_after: seconds to wait; 0 if waiting does not help.
    """

    def __init__(
        self, status: int, code: int, reason: str, message: str, *, retry_after: int = 0
    ) -> None:
        headers = {"retry-after": str(retry_after)} if retry_after else {}
        if status == 401:  # noqa: PLR2004
            headers["www-authenticate"] = 'Bearer realm="lastword"'
        super().__init__(status, reason, message, headers)
        self.code = code
        self.retry_after = retry_after


class Requester(msgspec.Struct, frozen=True, kw_only=True):
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
        port: int = 0,
        hosts: Sequence[str] = (),
        origins: Sequence[str] = (),
        clock: Callable[[], float] = time.time,
        waits: Callable[[], float] = time.monotonic,
        links: Links | None = None,
        notified: Links | None = None,
        of_fleet: FleetLinks | None = None,
    ) -> None:
        """Admit whoever has one of the keeper's tokens.

        Args:
            keeper: Reads tokens.
            port: The gateway's port, which distinguishes its cookies from another gateway's.
            hosts: Names of the gateway in addition to those of loopback.
            origins: Origins of pages in addition to its own.
            clock: The time of day in seconds, by which tokens expire.
            waits: A monotonic time in seconds, by which wrong tokens are counted.
            links: The links to the page; without them, no link is valid.
            notified: The links in notifications.
            of_fleet: The links to the page of any gateway of the fleet.
        """
        self._keeper = keeper
        self.cookies: Keeper = keeper.of_cookies(port)
        """Makes and reads the page's cookies."""
        self._of_fleet = of_fleet
        self._links = [each for each in (links, notified) if each is not None]
        self._hosts = {host.lower() for host in hosts}
        self._origins = {origin.lower().rstrip("/") for origin in origins}
        self._clock = clock
        self._failures = LastMinute(FAILURES, waits)
        self._of_token = RateLimiter(GUEST_REQUESTS, waits)
        self._of_address = RateLimiter(ADDRESS_REQUESTS, waits)

    def admit(self, requester: Requester) -> Grant:
        """Admit a request.

        Raises:
            Refusal: It is not admitted.
        """
        self.look_at_place(requester)
        scheme, _, token = requester.headers.get("authorization", "").partition(" ")
        token = token.strip() if scheme.lower() == "bearer" else ""
        if not token:
            bearers = (each for each in requester.subprotocols if each.startswith(BEARER_PROTOCOL))
            token = next(bearers, "").removeprefix(BEARER_PROTOCOL)
        cookie = requester.cookies.get(self.cookies.cookie, "")
        if not token and not cookie:
            message = "A token is missing. `lastword gateway token` prints one."
            raise Refusal(401, 4401, "unauthorized", message)
        try:
            now = self._clock()
            grant = self._keeper.read(token, now) if token else self.cookies.read(cookie, now)
        except TokenError as error:
            message = f"{str(error).capitalize()}. `lastword gateway token` prints a new one."
            raise self._refusal(requester, error, message) from None
        if not grant.is_owners:
            wait = self._of_token.wait_seconds(grant)
            wait = wait or self._of_address.wait_seconds(requester.peer)
            if wait:
                message = (
                    f"Too many requests came from this address. Send the next in {wait} seconds."
                )
                raise Refusal(429, 4429, "too_many", message, retry_after=wait)
        return grant

    async def follow(self, requester: Requester, code: str) -> Grant:
        """Admit somebody by a link, which works once.

        Raises:
            Refusal: The link is not valid.
        """
        self.look_at_place(requester)
        failure = TokenError("this gateway has no links to its page")
        if self._of_fleet is not None:
            try:
                return await self._of_fleet.use(code)
            except TokenError as error:
                raise self._refusal(requester, error, f"{str(error).capitalize()}.") from None
        for links in self._links:
            try:
                return links.take(code)
            except TokenError as error:
                failure = error
        raise self._refusal(requester, failure, f"{str(failure).capitalize()}.") from None

    def read_answer(self, requester: Requester, text: str) -> AnswerCode:
        """Admit somebody who answers a question by a code, and return what it answers.

        Raises:
            Refusal: The code is not valid, or a page of another site sent it.
        """
        self.look_at_place(requester)
        try:
            return self._keeper.read_answer_code(text, self._clock())
        except TokenExpiredError:
            message = "This way to answer has expired. Open the session to answer."
            raise Refusal(410, 4410, "expired", message) from None
        except TokenError as error:
            raise self._refusal(requester, error, f"{str(error).capitalize()}.") from None

    def seconds_left(self, grant: Grant) -> int:
        """Return how long a grant is still valid."""
        return max(grant.expires - int(self._clock()), 1) if grant.expires else NEVER_SECONDS

    def has_expired(self, grant: Grant) -> bool:
        """Return whether the token of an admitted request has expired since."""
        return bool(grant.expires) and grant.expires <= self._clock()

    def _refusal(self, requester: Requester, error: TokenError, message: str) -> Refusal:
        """Return the refusal of a wrong token or link; after too many, its address has to wait."""
        if isinstance(error, TokenExpiredError):
            return Refusal(401, 4401, "unauthorized", message)
        wait = self._failures.wait_seconds(requester.peer)
        if wait:
            message = f"Too many wrong tokens came from this address. Try again in {wait} seconds."
            return Refusal(429, 4429, "too_many_failures", message, retry_after=wait)
        self._failures.note(requester.peer)
        return Refusal(401, 4401, "unauthorized", message)

    def look_at_place(self, requester: Requester) -> None:
        """Check only the host, the origin and the site of a request.

        Raises:
            Refusal: The host is not this gateway's, or a page from another site sent the request.
        """
        # Another name may resolve to this machine: a page from there must not get in.
        host = requester.headers.get("host", "").lower()
        if host.startswith("["):
            name = host.partition("]")[0].removeprefix("[")
        else:
            name = host.rpartition(":")[0] if ":" in host else host
        if not is_loopback(name) and name not in self._hosts:
            message = f"This gateway is not known as {name[:200] or 'nothing'}; see --allow-host."
            raise Refusal(403, 4403, "host", message)
        origin = requester.headers.get("origin")
        if origin is None:
            self.look_at_site(requester)
            return
        origin = origin.lower().rstrip("/")
        try:
            parts = urlsplit(origin)
            # A proxy may name the port that browsers leave out.
            is_own = parts.netloc == host.removesuffix(DEFAULT_PORTS.get(parts.scheme, ""))
        except ValueError:  # as of a bracket that is not closed
            is_own = False
        if not is_own and origin not in self._origins:
            raise _other_origin()

    @staticmethod
    def look_at_site(requester: Requester) -> None:
        """Check only that no page of another site had a browser send this without an origin.

        Raises:
            Refusal: A picture, script, frame or form of such a page did.
        """
        headers = requester.headers
        if headers.get("sec-fetch-site") not in OTHER_SITES:
            return
        # A user may follow a link on a page of another site, as in a chat.
        destination = headers.get("sec-fetch-mode"), headers.get("sec-fetch-dest")
        if destination != ("navigate", "document"):
            raise _other_origin()


def _other_origin() -> Refusal:
    message = "Pages of another origin may not use the gateway; see --allow-origin."
    return Refusal(403, 4403, "origin", message)


def is_forwarded(headers: Mapping[str, str]) -> bool:
    """Return whether a proxy passed a request on: its address is then not the requester's."""
    return any(name in FORWARDED or name.startswith("x-forwarded-") for name in headers)


def too_many(what: str) -> Refusal:
    """Return the refusal of a guest for whom there is no slot."""
    message = f"Too many {what} with this token or from this address. Close one of them."
    return Refusal(429, 4429, "too_many", message, retry_after=PLACE_SECONDS)


def for_session(grant: Grant, session_id: str) -> None:
    """Check that a grant is for this session.

    Raises:
        Refusal: It is for another one.
    """
    if grant.session and grant.session != session_id:
        message = "The token is for another session. `lastword gateway token` prints one for all."
        raise Refusal(403, 4403, "forbidden", message)


def peer_of(connection: HTTPConnection) -> str:
    """Return the address that a request comes from; empty if unknown."""
    return connection.client.host if connection.client else ""
