"""Tokens, links that work once, and how many connections a token may have.

Tokens: who may connect to the gateway, in which role, to which session, and until when. Owns the
key file and what is derived from it. A token is `v1.ROLE.SESSION.EXPIRES.MAC`: its members are
base64url or digits, and the last is an HMAC-SHA256 over the others, so that a restarted gateway
accepts every token of its predecessor.

Slots: how many connections one token or one address may have at once. Owns two rules. A guest,
whose token does not allow everything, has a share of the slots for itself and for its address, and
all guests together have half. The owner's own tokens always get a slot: if none is left, the oldest
slot of the token with the most is given up.

Links to the page, each of which works once. Owns the folder of unused links: one file for each,
named by a keyed hash of the link's code. A link survives the end or reload of a gateway, and ends
with the tokens' key. Using a link removes its file, which only one process can do.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import hmac
import os
import secrets
from collections import Counter
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import urlencode

import msgspec

from lastword.errors import StoreError
from lastword.gateway.run_folder import make_private
from lastword.gateway.viewing.access import AnswerCode
from lastword.gateway.viewing.reader import Role
from lastword.platform.files import write_whole

if TYPE_CHECKING:
    from collections.abc import Callable


KEY_NAME = "gateway.key"
KEY_BYTES = 32
TOKEN_SECONDS = 12 * 3600
"""How long a token or a login lasts by default: a day's work, as its connections end with it."""

FAILURES = 10
"""After this many wrong tokens within a minute, a peer has to wait before its next wrong one."""

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
    """A token is not valid, or not any longer."""


class TokenExpiredError(TokenError):
    """A token has expired; it was valid, so nobody guessed it."""


class Keeper:
    """Makes and reads tokens."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def of_cookies(self, port: int) -> Keeper:
        """Return the keeper whose tokens are the cookies of the gateway on a port.

        Browsers send a host's cookies to each of its ports. Because of the keeper's own key, a
        cookie is valid at one gateway only.
        """
        return Keeper(self._digest(b"cookies", str(port)))

    @property
    def cookie(self) -> str:
        """Return the cookie's name, which differs between the gateways of one host."""
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
            if not os.path.exists(path):
                write_whole(path, secrets.token_bytes(KEY_BYTES), create=True)
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


CODE_BYTES = 24
LINK_SECONDS = 10 * 60
"""How long a link waits to be followed."""

NOTIFIED_SECONDS = 12 * 3600
"""How long a link in a notification waits: its reader may be asleep."""

MAX_CODE_CHARS = 128
MAX_LINKS = 1000
"""The most links that wait; another one displaces the oldest."""


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
        """Return the links in notifications, which displace none of the others."""
        return cls(folder, clock, keeper, name="notified-links", seconds=NOTIFIED_SECONDS)

    def make(self, grant: Grant) -> str:
        """Return the code of a new link; remove expired ones, and the oldest of too many.

        Raises:
            StoreError: It cannot be stored.
        """
        code = secrets.token_urlsafe(CODE_BYTES)
        path = os.path.join(self._folder, self._keeper.link_name(code))
        waiting_link = WaitingLink(grant, self._clock() + self._seconds)
        try:
            make_private(self._folder)
            waiting: list[tuple[float, str]] = []
            with os.scandir(self._folder) as files:
                for each in files:
                    # Another process may use or remove a link at any moment.
                    with contextlib.suppress(FileNotFoundError):
                        waiting.append((each.stat().st_mtime, each.path))
            too_old = self._clock() - self._seconds
            for place, (made_at, old) in enumerate(sorted(waiting)):
                if made_at < too_old or len(waiting) - place >= MAX_LINKS:
                    with contextlib.suppress(FileNotFoundError):
                        os.unlink(old)
            made = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
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
        path = os.path.join(self._folder, self._keeper.link_name(code[:MAX_CODE_CHARS]))
        try:
            with open(path, "rb") as file:
                waiting_link = msgspec.json.decode(file.read(), type=WaitingLink)
            os.unlink(path)
        except (OSError, msgspec.MsgspecError):
            raise TokenError("the link has been used before, or is not valid") from None
        if waiting_link.until <= self._clock():
            raise TokenError("the link has expired")
        return waiting_link.grant


def address(page: str, code: str) -> str:
    """Return the link, to the page at this URL."""
    return f"{page.rstrip('/')}/?{urlencode({'code': code})}"


MIN_GUESTS = 64
"""Sockets of one guest's token, at most, where `--viewers` does not allow more."""


class Shares(msgspec.Struct, frozen=True, kw_only=True):
    """How many slots there are.

    Attributes:
        of_all: all of them; 0 for no limit.
        of_guests: for all guests together.
        of_address: for the guests of one address.
        of_token: for one guest's token.
    """

    of_all: int
    of_guests: int
    of_address: int
    of_token: int


def socket_shares(viewers: int) -> Shares:
    """Return the shares of sockets, for sessions with this many viewers each."""
    of_token = max(viewers, MIN_GUESTS)
    return Shares(of_all=0, of_guests=4 * of_token, of_address=2 * of_token, of_token=of_token)


class Slot(msgspec.Struct, eq=False):
    """A slot in use.

    Attributes:
        grant: what the token allows.
        peer: the address.
        give_up: ends what the slot is for.
    """

    grant: Grant
    peer: str
    give_up: Callable[[], None]


class Slots:
    """The slots of one kind, such as those for sockets."""

    def __init__(self, shares: Shares) -> None:
        self._shares = shares
        self._in_use: dict[Slot, None] = {}
        """Oldest first."""

    def acquire(
        self, grant: Grant, peer: str, give_up: Callable[[], None] = lambda: None
    ) -> Slot | None:
        """Return a slot; `None` if there is none for this guest.

        Args:
            grant: What the token allows.
            peer: The address.
            give_up: Ends what the slot is for, when another needs it.
        """
        shares = self._shares
        if not grant.is_owners:
            guests = [slot for slot in self._in_use if not slot.grant.is_owners]
            if (
                len(guests) >= shares.of_guests
                or sum(slot.peer == peer for slot in guests) >= shares.of_address
                or sum(slot.grant == grant for slot in guests) >= shares.of_token
            ):
                return None
        if shares.of_all and len(self._in_use) >= shares.of_all:
            # The oldest slot of the token with the most is given up, guests' first.
            counts = Counter(slot.grant for slot in self._in_use)
            most = max(counts, key=lambda grant: (not grant.is_owners, counts[grant]))
            oldest = next(slot for slot in self._in_use if slot.grant == most)
            del self._in_use[oldest]
            oldest.give_up()
        slot = Slot(grant, peer, give_up)
        self._in_use[slot] = None
        return slot

    def release(self, slot: Slot) -> None:
        """Give a slot back."""
        self._in_use.pop(slot, None)
