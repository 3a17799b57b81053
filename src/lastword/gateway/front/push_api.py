"""Browsers' subscriptions to notifications: who has one, how one is made, and how it ends.

Owns the checks of a browser's request. Subscribing needs a controller's token. A subscription ends
with the token by which it was made, and a token for one session subscribes to that session.
"""

from __future__ import annotations

import asyncio
import socket
import time
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import msgspec
from msgspec import UNSET, UnsetType

from lastword.errors import LastwordError, StoreError
from lastword.gateway.api import requests
from lastword.gateway.api.requests import JSON_TYPE, MAX_BODY_BYTES, NoSessionError, ProblemError
from lastword.gateway.api.shapes import VERSION, PushRequest, PushRow, PushView
from lastword.gateway.viewing.reader import Role
from lastword.gateway.wire import is_loopback
from lastword.notify.web_push import PushSubscription, Subscriptions, decoded, id_of, is_available
from lastword.outbox.post import HTTPS_PORT, NotOutsideError, outside_addresses

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.requests import Request
    from starlette.responses import Response

    from lastword.gateway.front.fleet_shared import FleetPush
    from lastword.gateway.front.tokens import Grant


NO_ADDRESS = "The endpoint of a push service is an https address"


class PushApi:
    """Everything below `/v1/push`."""

    def __init__(self, folder: str, shared: FleetPush | None = None) -> None:
        """Store subscriptions in a folder, and share them with other gateways, if there are any."""
        self._subscriptions = Subscriptions(folder)
        self._shared = shared

    async def push(self, request: Request, grant: Grant) -> Response:
        """`GET /v1/push`."""
        requests.accepts(request, JSON_TYPE)
        _check_role(grant)
        return await self._view(grant)

    async def subscribe(self, request: Request, grant: Grant) -> Response:
        """`POST /v1/push`."""
        requests.accepts(request, JSON_TYPE)
        _check_role(grant)
        if not requests.is_json(request):
            raise ProblemError(415, "bad_request", f"Post {JSON_TYPE}.")
        browser = read_subscription(await requests.body_of(request, MAX_BODY_BYTES))
        by_guest = not grant.is_owners
        if by_guest and not _is_outside(browser.endpoint):
            raise _bad(NO_ADDRESS)  # a guest must not reach the servers of this network
        session = "" if browser.session_id is UNSET else browser.session_id
        if grant.session and session not in {"", grant.session}:
            raise NoSessionError
        session = session or grant.session
        made = PushSubscription(
            subscription_id=id_of(browser.endpoint, session, by_guest=by_guest),
            endpoint=browser.endpoint,
            p256dh=browser.keys.p256dh.rstrip("="),
            auth=browser.keys.auth.rstrip("="),
            session=session,
            origin=request.headers.get("origin", ""),
            expires=grant.expires,
            by_guest=by_guest,
        )
        if self._shared is not None:
            made = await _shared(self._shared.put(made))
        await _stored(lambda: self._subscriptions.put(made, time.time()), grant)
        return await self._view(grant, made.subscription_id, status=201)

    async def unsubscribe(self, request: Request, grant: Grant) -> Response:
        """`DELETE /v1/push/{subscription_id}`."""
        requests.accepts(request, JSON_TYPE)
        _check_role(grant)
        ended = request.path_params["subscription_id"]
        if all(each.id != ended for each in self._rows(grant)):
            message = "There is no such subscription. It may have ended already."
            raise ProblemError(404, "not_found", message)
        if self._shared is not None:
            removed = await _shared(self._shared.remove(ended))
            await _stored(lambda: self._subscriptions.put(removed, time.time()), grant)
        else:
            await _stored(lambda: self._subscriptions.remove(ended), grant)
        return await self._view(grant)

    def _rows(self, grant: Grant) -> list[PushRow]:
        """Return all subscriptions for the owner, and those of the same login for a guest."""
        now = time.time()
        login = (True, grant.session, grant.expires)
        return [
            PushRow(
                id=each.subscription_id,
                place="{0.scheme}://{0.netloc}".format(urlsplit(each.endpoint)),
                session_id=each.session,
                expires=each.expires,
            )
            for each in self._subscriptions.all()
            if each.covers(each.session, now) and (grant.is_owners or each.login == login)
        ]

    async def _view(
        self, grant: Grant, made: str | UnsetType = UNSET, status: int = 200
    ) -> Response:
        try:
            key = await asyncio.to_thread(self._subscriptions.public_key) if is_available() else ""
        except StoreError as error:
            raise _unusable(error, grant) from None
        rows = self._rows(grant)
        view = PushView(version=VERSION, key=key, id=made, subscriptions=rows)
        return requests.answer(view, status)


async def _shared(change: Awaitable[PushSubscription]) -> PushSubscription:
    """Change a shared subscription; return it.

    Raises:
        ProblemError: It cannot be changed now.
    """
    try:
        return await change
    except LastwordError:
        message = "The fleet's servers do not answer. Try again."
        raise ProblemError(500, "internal", message) from None


async def _stored(change: Callable[[], None], grant: Grant) -> None:
    """Change the file, in a thread since the disk may be slow.

    Raises:
        ProblemError: It cannot be written.
    """
    try:
        await asyncio.to_thread(change)
    except StoreError as error:
        raise _unusable(error, grant) from None


def _unusable(error: StoreError, grant: Grant) -> ProblemError:
    """Return the refusal, which names the file to the owner alone."""
    message = str(error).capitalize() if grant.is_owners else "The subscriptions cannot be stored"
    return ProblemError(500, "internal", f"{message}. Try again.")


def read_subscription(body: bytes) -> PushRequest:
    """Return a browser's request.

    Its address must be that of a push service: over TLS, or on this machine.

    Raises:
        ProblemError: It is not one, or is too large.
    """
    if len(body) > MAX_BODY_BYTES:
        message = f"A subscription has at most {MAX_BODY_BYTES} bytes."
        raise ProblemError(413, "too_large", message)
    try:
        browser = msgspec.json.decode(body, type=PushRequest)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise _bad(f"This is not a push subscription: {str(error)[:200]}") from None
    endpoint = browser.endpoint
    try:
        parts = urlsplit(endpoint)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        raise _bad(NO_ADDRESS) from None
    is_printable = endpoint.isascii() and endpoint.isprintable() and " " not in endpoint
    if not is_printable or not host or "@" in parts.netloc:
        raise _bad(NO_ADDRESS)
    if parts.scheme != "https" and not is_loopback(host):
        raise _bad(NO_ADDRESS)
    try:
        from cryptography.hazmat.primitives.asymmetric import ec  # noqa: PLC0415 - of the extra

        key = decoded(browser.keys.p256dh)
        ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), key)
    except (ImportError, ValueError):
        raise _bad("The key p256dh is not a point on the curve P-256") from None
    return browser


def _bad(message: str) -> ProblemError:
    return ProblemError(400, "bad_request", f"{message}.")


def _is_outside(endpoint: str) -> bool:
    """Return whether an address may be outside; names are resolved again for each message."""
    host = urlsplit(endpoint).hostname or ""
    try:
        outside_addresses(host, HTTPS_PORT, socket.AI_NUMERICHOST)
    except socket.gaierror:
        return not is_loopback(host)
    except (NotOutsideError, UnicodeError):
        return False
    return True


def _check_role(grant: Grant) -> None:
    if grant.role is not Role.CONTROLLER:
        message = "Notifications need a controller's token; this is an observer's."
        raise ProblemError(403, "forbidden", message)
