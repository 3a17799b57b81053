"""Tokens: who may connect to the gateway, in which role, to which session, and until when.

Owns the key file and what is derived from it. A token is `v1.ROLE.SESSION.EXPIRES.MAC`: its
members are base64url or digits, and the last is an HMAC-SHA256 over the others, so that a
restarted gateway accepts every token of its predecessor.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import secrets
from collections import deque
from typing import TYPE_CHECKING, TypeVar

import msgspec

from lastword.errors import StoreError
from lastword.gateway.run_folder import make_private
from lastword.gateway.viewing.answer_codes import AnswerCode
from lastword.gateway.viewing.attachment import Role

if TYPE_CHECKING:
    from collections.abc import Callable

KEY_NAME = "gateway.key"
KEY_BYTES = 32
TOKEN_SECONDS = 12 * 3600
"""How long a token or a login lasts by default: a day's work, since its connections end with it."""

FAILURES = 10
FAILURES_WITHIN_SECONDS = 60.0
"""After this many wrong tokens within this time, a peer has to wait before its next wrong one."""

MAX_PEERS = 4096
_VERSION = "v1"
_Signed = TypeVar("_Signed", bound=msgspec.Struct)


class Grant(msgspec.Struct, frozen=True):
    """What a token allows.

    Attributes:
        role: what its bearer may do.
        session: the only session that it is for; empty for all.
        expires: in seconds since 1970 UTC; 0 for never.
    """

    role: Role
    session: str = ""
    expires: int = 0

    @property
    def is_owners(self) -> bool:
        """Return whether it allows everything, as the owner's own tokens do."""
        return self.role is Role.CONTROLLER and not self.session


class SignedLink(msgspec.Struct, frozen=True):
    """A link to the page that any gateway of a fleet knows by its signature.

    Attributes:
        grant: what it allows.
        until: until when it works, in seconds since 1970 UTC.
        code: a random text, by which it differs from every other.
    """

    grant: Grant
    until: int
    code: str


class TokenError(Exception):
    """A token is not valid, or no longer."""


class TokenExpiredError(TokenError):
    """A token has expired; it was valid, so nobody has guessed it."""


class Keeper:
    """Makes and reads tokens."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def of_cookies(self, port: int) -> Keeper:
        """Return the keeper whose tokens are the cookies of the gateway on a port.

        Browsers send the cookies of a host to each of its ports: by its key, a cookie is valid at
        one gateway alone.
        """
        return Keeper(self._digest(b"cookies", str(port)))

    @property
    def cookie(self) -> str:
        """Return the name of a cookie with its tokens: gateways of one host need different ones."""
        return f"lastword_{self._digest(b'name', '').hex()[:12]}"

    @classmethod
    def at(cls, folder: str) -> Keeper:
        """Return the keeper of a state folder, whose key is made at the first start.

        Raises:
            StoreError: The key cannot be read or made.
        """
        path = os.path.join(folder, KEY_NAME)
        try:
            make_private(folder)
            try:
                made = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            except FileExistsError:
                pass
            else:
                os.fchmod(made, 0o600)  # whatever the umask
                with os.fdopen(made, "wb") as file:
                    file.write(secrets.token_bytes(KEY_BYTES))
            with open(path, "rb") as file:
                key = file.read()
        except OSError as error:
            reason = (error.strerror or "failed").lower()
            raise StoreError(f"{path} cannot be used ({reason})") from error
        if len(key) != KEY_BYTES:
            raise StoreError(f"{path} does not contain a key; delete it to get a new one")
        return cls(key)

    def token(self, grant: Grant) -> str:
        """Return the token for a grant."""
        session = base64.urlsafe_b64encode(grant.session.encode()).decode().rstrip("=")
        content = f"{_VERSION}.{grant.role.value}.{session}.{grant.expires}"
        return f"{content}.{self._mac(b'token', content)}"

    def read(self, token: str, now: float) -> Grant:
        """Return what a token allows.

        Raises:
            TokenError: It is not valid or has expired; the text says which.
        """
        content, _, mac = token.rpartition(".")
        given = mac.encode(errors="surrogatepass")
        if not hmac.compare_digest(given, self._mac(b"token", content).encode()):
            raise TokenError("the token is wrong")
        _, role, session, expires = content.split(".")
        if int(expires) and int(expires) <= now:
            raise TokenExpiredError("the token has expired")
        padded = session + "=" * (-len(session) % 4)
        return Grant(Role(role), base64.urlsafe_b64decode(padded).decode(), int(expires))

    def answer_code(self, code: AnswerCode) -> str:
        """Return the text of a code that answers a question."""
        return self._signed(b"answer", code)

    def read_answer_code(self, text: str, now: float) -> AnswerCode:
        """Return what a code answers.

        Raises:
            TokenError: It is not valid or has expired; the text says which.
        """
        code = self._read(b"answer", text, AnswerCode, "the code is wrong")
        if code.expires <= now:
            raise TokenExpiredError("the code has expired")
        return code

    def link_code(self, grant: Grant, until: int) -> str:
        """Return the code of a link to the page of any gateway of a fleet.

        Args:
            grant: What it allows.
            until: Until when it works, in seconds since 1970 UTC.
        """
        return self._signed(b"fleet-link", SignedLink(grant, until, secrets.token_hex(8)))

    def read_link_code(self, text: str, now: float) -> Grant:
        """Return what a link of a fleet allows, which may have been used.

        Raises:
            TokenError: It is not valid or has expired; the text says which.
        """
        link = self._read(b"fleet-link", text, SignedLink, "the link is not valid")
        if link.until <= now:
            raise TokenError("the link has expired")
        return link.grant

    def _signed(self, use: bytes, value: msgspec.Struct) -> str:
        content = base64.urlsafe_b64encode(msgspec.json.encode(value)).decode().rstrip("=")
        return f"{content}.{self._mac(use, content)}"

    def _read(self, use: bytes, text: str, form: type[_Signed], wrong: str) -> _Signed:
        content, _, mac = text.rpartition(".")
        given = mac.encode(errors="surrogatepass")
        if not hmac.compare_digest(given, self._mac(use, content).encode()):
            raise TokenError(wrong)
        padded = content + "=" * (-len(content) % 4)
        return msgspec.json.decode(base64.urlsafe_b64decode(padded), type=form)

    def secret(self, viewer_id: str) -> str:
        """Return the secret by which a returning viewer proves its identity."""
        return self._mac(b"viewer", viewer_id)

    def is_secret(self, viewer_id: str, secret: str) -> bool:
        """Return whether this is that viewer's secret."""
        given = secret.encode(errors="surrogatepass")  # of a lone surrogate, which JSON allows
        return hmac.compare_digest(given, self.secret(viewer_id).encode())

    def link_name(self, code: str) -> str:
        """Return the name of the file of a link with this code."""
        return self._digest(b"link", code).hex()[:32]

    def _mac(self, use: bytes, content: str) -> str:
        return base64.urlsafe_b64encode(self._digest(use, content)).decode().rstrip("=")

    def _digest(self, use: bytes, content: str) -> bytes:
        message = use + b"\0" + content.encode(errors="surrogatepass")
        return hmac.new(self._key, message, hashlib.sha256).digest()


class Failures:
    """Wrong tokens, by the peer that sent them."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._by_peer: dict[str, deque[float]] = {}

    def note(self, peer: str) -> None:
        """Count a wrong token of a peer."""
        if peer not in self._by_peer and len(self._by_peer) >= MAX_PEERS:
            self._by_peer.pop(next(iter(self._by_peer)))
        self._by_peer.setdefault(peer, deque(maxlen=FAILURES)).append(self._clock())

    def wait_seconds(self, peer: str) -> int:
        """Return how long a peer must wait before its next attempt; 0 for not at all."""
        times = self._by_peer.get(peer)
        if times is None or len(times) < FAILURES:
            return 0
        left = times[0] + FAILURES_WITHIN_SECONDS - self._clock()
        if left <= 0:
            return 0
        return int(left) + 1
