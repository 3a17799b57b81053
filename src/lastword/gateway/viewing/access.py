"""What a viewer may send: its rights, the folders that it may name, and how often.

Paths in a viewer's frames: resolved, and refused outside of the gateway's root. Owns which members
of a request name a folder, and what one may be. A path is resolved once, and the resolved one is
handed on and remembered: a symbolic link that is switched afterwards leads nobody elsewhere. What a
prompt mentions is content, which an agent reads with its user's rights.

Rates: how often something may happen, for each token, address or kind of event. Owns the token
bucket. Sans-IO: the clock is given.

Rights: what a viewer may send, by its role and by the session that it is limited to. Owns the
decision, which the front makes before it passes a frame on, and the holder again.
"""

from __future__ import annotations

import math
import os
from collections import OrderedDict
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote_to_bytes, urlsplit

import msgspec

from lastword.core.protocol import acp, jsonrpc
from lastword.core.protocol.acp import object_of
from lastword.gateway.viewing import refusals

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from lastword.core.protocol.jsonrpc import Envelope, Frame


INITIALIZED: dict[str, Any] = {
    "code": acp.INVALID_REQUEST,
    "message": "This connection has been initialized.",
}
LIST = "session/list"
BEYOND_A_SESSION = acp.LOGIN | {"logout", "auth/logout", "session/new", acp.FORK}
"""Requests that concern more than the session that their params may name."""

_FOR_EVERYBODY = frozenset({None, LIST, acp.CANCEL_REQUEST, "_lastword/ping"})
"""Answers, and requests that concern the viewer alone."""


def refusal(message: Envelope, *, controls: bool, session: str) -> dict[str, Any] | None:
    """Return why a viewer may not send a message; `None` if it may.

    Args:
        message: The message.
        controls: The viewer is a controller.
        session: The only session that it may use; empty for all.
    """
    method, named = message.method, message.session_id
    if named is not None and session not in {"", named}:
        return refusals.unknown_session(named)
    if method == acp.INITIALIZE:
        return INITIALIZED
    if method not in BEYOND_A_SESSION and (named is not None or method in _FOR_EVERYBODY):
        return None  # what an observer may send to its session, the session's hub decides
    if not controls:
        return refusals.observes()
    return refusals.one_session() if session else None


UNCHECKED = acp.BRINGS_BACK | {acp.INITIALIZE, acp.PROMPT, acp.CANCEL, "session/list"}
"""Requests whose paths reach no agent, and prompts, which are content. Who attaches to a session
may be on another machine and not know its folder; the session stays in the one that it has."""


class OutsideRootError(Exception):
    """A path is outside of the root, or cannot be resolved; `member` names it."""

    def __init__(self, member: str) -> None:
        super().__init__(f"{member} is not below the root")
        self.member = member


def within(frame: Frame, root: str) -> Frame:
    """Return a viewer's frame with every path in it resolved.

    Args:
        frame: A frame from a viewer.
        root: The resolved folder below which sessions work; empty for anywhere.

    Raises:
        OutsideRootError: A path is not below the root.
    """
    method = frame.message.method
    if not root or method is None or method in UNCHECKED or method.startswith(("$/", "_lastword/")):
        return frame
    message = jsonrpc.loads(frame.readable)
    if not isinstance(message, dict):
        raise OutsideRootError("params")  # nested as deep as the parser goes
    params = object_of(message.get("params"))
    try:
        resolved = resolved_params(params, root)
        names_folder = _names_folder(params)
    except RecursionError:
        raise OutsideRootError("params") from None
    if method in {"session/new", acp.FORK} and "cwd" not in resolved:
        raise OutsideRootError("cwd")
    if not names_folder:
        return frame
    # Encoded from what was checked: of a member that comes twice, parsers choose differently.
    rewritten = jsonrpc.decode(jsonrpc.dumps(message | {"params": resolved}))
    if frame.shallow or not isinstance(rewritten, jsonrpc.Frame):
        raise OutsideRootError("params")  # nested deeper than can be encoded again
    return rewritten


def resolved_params(params: dict[str, Any], root: str) -> dict[str, Any]:
    """Return params with every path resolved, wherever it is in them.

    Agents read further folders from `_meta` and from the entries of `mcpServers`, so a member is
    known by its name alone.

    Raises:
        OutsideRootError: A path is not below the root.
    """
    resolved: dict[str, Any] = _mapped(params, root)
    return resolved


def _mapped(value: Any, root: str) -> Any:
    if isinstance(value, list):
        return [_mapped(item, root) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        key: _checked(key, item, root) if key in _MEMBERS else _mapped(item, root)
        for key, item in value.items()
    }


def _names_folder(value: Any) -> bool:
    if isinstance(value, list):
        return any(_names_folder(item) for item in value)
    if not isinstance(value, dict):
        return False
    return any(key in _MEMBERS or _names_folder(item) for key, item in value.items())


def _checked(member: str, value: Any, root: str) -> Any:
    """Return a member's paths resolved, in the form in which they came."""
    if value is None and member != "cwd":  # for that, agents have their own folder
        return None
    try:
        return _MEMBERS[member](value, root)
    except (OSError, TypeError, ValueError):  # renamed just now, of another type, or outside
        raise OutsideRootError(member) from None


def _folder(value: Any, root: str) -> str:
    """Return a folder, resolved.

    Raises:
        ValueError: It is relative, or outside of the root.
    """
    if not os.path.isabs(value):
        raise ValueError
    real = str(os.path.realpath(value))
    if real != root and not real.startswith(root.rstrip("/") + "/"):
        raise ValueError
    return real


def _folders(value: Any, root: str) -> list[str]:
    if not isinstance(value, list):
        raise TypeError
    return [_folder(each, root) for each in value]


def _uri(value: Any, root: str) -> str:
    parts = urlsplit(value if isinstance(value, str) else "")
    if parts.scheme != "file" or parts.netloc not in {"", "localhost"}:
        raise ValueError
    return Path(_folder(os.fsdecode(unquote_to_bytes(parts.path)), root)).as_uri()


def _uris(value: Any, root: str) -> list[dict[str, Any]]:
    if not isinstance(value, list):
        raise TypeError
    return [each | {"uri": _uri(each["uri"], root)} for each in map(_object, value)]


def _object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict) or "uri" not in value:
        raise TypeError
    return value


_MEMBERS: dict[str, Callable[[Any, str], Any]] = {
    "cwd": _folder,
    "additionalDirectories": _folders,
    "additionalRoots": _folders,
    "workspaceUri": _uri,
    "workspaceFolders": _uris,
}
"""The members that name folders: ACP's of both versions, those of its drafts (`nes/start`), and
what agents read from `_meta` (claude-agent-acp's `additionalRoots`)."""


MAX_KEYS = 4096
"""Tokens and addresses whose rate is kept; those that have been quiet for the longest go first."""


class Rate(msgspec.Struct, frozen=True):
    """How often something may happen.

    Attributes:
        per_second: in the long run.
        burst: at once, after a pause.
    """

    per_second: float
    burst: float


class RateLimiter:
    """A token bucket for each key."""

    def __init__(self, rate: Rate, clock: Callable[[], float]) -> None:
        """Begin with full buckets; the clock gives seconds."""
        self._rate = rate
        self._clock = clock
        self._buckets: OrderedDict[Hashable, tuple[float, float]] = OrderedDict()

    def wait_seconds(self, key: Hashable) -> int:
        """Count one event of a key; if it comes too soon, return the seconds to wait instead."""
        now = self._clock()
        left, at = self._buckets.pop(key, (self._rate.burst, now))
        left = min(self._rate.burst, left + max(now - at, 0.0) * self._rate.per_second)
        is_too_soon = left < 1
        self._buckets[key] = (left if is_too_soon else left - 1, now)
        if len(self._buckets) > MAX_KEYS:
            self._buckets.popitem(last=False)
        return math.ceil((1 - left) / self._rate.per_second) if is_too_soon else 0
