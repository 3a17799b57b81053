"""Secrets out of text and JSON, before anything leaves the process or reaches a record.

In order: header and key names that always carry a secret, the exact values of secrets that the
caller knows (the core reads no environment), then patterns for the shapes of keys, credentials
and personal names in paths. Text is cut to 8 KiB before any pattern runs, and each pattern is
linear in its length. Does not decide which fields are shown at all: that is an allow-list at each
door.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import msgspec

REDACTED = "(redacted)"
MAX_TEXT_CHARS = 8192
MIN_SECRET_CHARS = 8
MAX_DEPTH = 16
MAX_VALUES = 2000
CUT = "(cut)"

_DENIED_NAMES = frozenset(
    [
        "authorization",
        "proxyauthorization",
        "cookie",
        "setcookie",
        "apikey",
        "xapikey",
        "xgoogapikey",
        "apisecret",
        "accesskey",
        "accesskeyid",
        "secretkey",
        "secretaccesskey",
        "awssecretaccesskey",
        "awssessiontoken",
        "accesstoken",
        "refreshtoken",
        "idtoken",
        "authtoken",
        "bearertoken",
        "sessiontoken",
        "xauthtoken",
        "xamzsecuritytoken",
        "token",
        "csrftoken",
        "xcsrftoken",
        "secret",
        "clientsecret",
        "password",
        "passwd",
        "pwd",
        "passphrase",
        "privatekey",
        "credential",
        "credentials",
        "connectionstring",
        "dsn",
        "webhooksecret",
        "signature",
        "sig",
        "sessioncookie",
        "openaiorganization",
        "xopenaiorganization",
        "githubtoken",
        "subscriptionkey",
        "ocpapimsubscriptionkey",
        "anthropicorganizationid",
    ]
)
"""Key and header names, lower-case alphanumerics, whose whole value is dropped."""

_DENIED_ENDINGS = (
    "apikey", "accesstoken", "refreshtoken", "authtoken", "secretkey", "accesskey", "privatekey",
    "clientsecret", "password", "authorization", "secret",
)  # fmt: skip

_DIGIT_SOON = r"(?=[\w.-]{0,48}\d)"

_PATTERNS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern, flags), replacement)
    for pattern, replacement, flags in (
        # PEM blocks, also where the end was cut off.
        (
            r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----[A-Za-z0-9+/=\s\\]*(?:-----END [A-Z0-9 ]{0,40}-----)?",
            REDACTED,
            0,
        ),
        # JSON Web Tokens.
        (r"\beyJ[\w-]{8,}(?:\.[\w-]*){1,4}", REDACTED, 0),
        # scheme://user:password@host
        (r"(?<=://)[^\s/@:\"']{0,128}:[^\s/@\"']{1,256}@", f"{REDACTED}@", 0),
        # Authorization: Bearer ..., and the schemes on their own.
        (
            r"\b((?:proxy-)?authorization[\"'\\]{0,4}\s{0,2}[:=]\s{0,2}[\"'\\]{0,4})"
            r"(?:(?:bearer|basic|digest|token|negotiate|apikey)\s{1,3})?[^\s\"',;}\\]{4,}",
            rf"\1{REDACTED}",
            re.IGNORECASE,
        ),
        (
            r"\b(bearer|basic)\s{1,3}(?=[A-Za-z0-9._~+/=-]{0,40}[0-9=+/._~]|[A-Za-z]{24})"
            r"[A-Za-z0-9._~+/=-]{8,}",
            rf"\1 {REDACTED}",
            re.IGNORECASE,
        ),
        # Cookies.
        (
            r"\b((?:set-)?cookie[\"'\\]{0,4}\s{0,2}:\s{0,2}[\"'\\]{0,4})[^\r\n\"']{4,}",
            rf"\1{REDACTED}",
            re.IGNORECASE,
        ),
        # --api-key X, -p password and the like.
        (
            r"(--?(?:[a-z]{1,16}-){0,3}(?:api-?key|token|password|secret|auth|key)[= ]{1,2}[\"']?)"
            r"(?![-(])[^\s\"']{4,}",
            rf"\1{REDACTED}",
            re.IGNORECASE,
        ),
        # name=value and "name": "value" where the name says secret.
        (
            r"\b((?:\w{1,32}[-_.])?(?:api[-_ ]?key|apikey|access[-_]?token|refresh[-_]?token"
            r"|id[-_]?token|auth[-_]?token|bearer[-_]?token|session[-_]?token|client[-_]?secret"
            r"|secret[-_]?access[-_]?key|access[-_]?key(?:[-_]?id)?|secret[-_]?key|private[-_]?key"
            r"|security[-_]?token|password|passwd|passphrase|secret|connection[-_]?string)"
            r"[\"'\\]{0,4}\s{0,2}(?:[:=]|=>)\s{0,2}[\"'\\]{0,4})(?!\()[^\s\"'\\,;&}<>()]{4,}",
            rf"\1{REDACTED}",
            re.IGNORECASE,
        ),
        (
            r"([?&;](?:key|token|sig|signature|auth|code|pwd|pass|session|sid|apikey|x-[a-z]{2,5}-"
            r"(?:signature|credential|security-token))=)(?!\()[^&\s\"'#<>\\]{3,}",
            rf"\1{REDACTED}",
            re.IGNORECASE,
        ),
        (
            r"\b((?:key|token|sig)=)(?=[\w.~+/%-]{0,48}\d)[\w.~+/%=-]{12,}",
            rf"\1{REDACTED}",
            re.IGNORECASE,
        ),
        # Keys by their prefix.
        (rf"\b(?:sk|pk|rk|csk|ek)[-_]{_DIGIT_SOON}[\w-]{{8,}}|\bsk-[\w-]{{20,}}", REDACTED, 0),
        (r"\bAIza[\w-]{16,}|\bya29\.[\w-]{10,}|\bGOCSPX-[\w-]{10,}", REDACTED, 0),
        (r"\b(?:AKIA|ASIA|AROA|AIDA|ABIA|ACCA)[A-Z0-9]{12,}", REDACTED, 0),
        (r"\bgh[opsur]_[A-Za-z0-9]{12,}|\bgithub_pat_\w{12,}", REDACTED, 0),
        (r"\bgl(?:pat|dt|rt|cbt|ptt|oas)-[\w-]{12,}", REDACTED, 0),
        (r"\bxox[a-z](?:\.xox[a-z])?-[\w-]{8,}|\bxapp-[\w-]{8,}", REDACTED, 0),
        (
            r"\b(?:hf|gsk|r8|npm|xai|nvapi|pplx|fw|tgp_v1|dop_v1|shpat|sntrys|lin_api|dapi|ntn"
            r"|whsec|pypi|fal|jina|tvly|voyage|ABSK|bedrock-api-key|ak|api)[-_]?"
            rf"{_DIGIT_SOON}[A-Za-z0-9_-]{{20,}}",
            REDACTED,
            0,
        ),
        (r"\bSG\.[\w-]{16,}\.[\w-]{16,}|\b\d{8,10}:AA[\w-]{30,}", REDACTED, 0),
        # Accounts and people.
        (rf"\b(?:org|proj|acct|user|team)[-_]{_DIGIT_SOON}[A-Za-z0-9]{{10,}}", REDACTED, 0),
        (
            r"(?<![\w.+-])[\w.+-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.){1,5}[A-Za-z]{2,24}\b",
            REDACTED,
            0,
        ),
        (r"(?<![\w./])/(?:home|Users)/[^/\s\"':;,)]{1,64}", "~", 0),
        (r"(?<![\w./])/root(?=/)", "~", 0),
        (r"\b[A-Za-z]:(?:\\{1,4}|/)Users(?:\\{1,4}|/)[^\\/\s\"':;,)]{1,64}", "~", 0),
    )
)


class Redactor(msgspec.Struct, frozen=True):
    """A redactor that also knows exact values, longest first. Make one with `of`."""

    values: tuple[str, ...] = ()

    @classmethod
    def of(cls, values: Iterable[str]) -> Redactor:
        """A redactor for these secrets; those under 8 characters would hit ordinary words."""
        kept = {value for value in values if len(value) >= MIN_SECRET_CHARS and value.strip()}
        return cls(tuple(sorted(kept, key=lambda value: (-len(value), value))))

    def __call__(self, text: str) -> str:
        """The text without secrets, at most 8 KiB of it."""
        clipped = _clip(text, self.values)
        for value in self.values:
            if value in clipped:
                clipped = clipped.replace(value, REDACTED)
        for pattern, replacement in _PATTERNS:
            clipped = pattern.sub(replacement, clipped)
        return clipped

    def json(
        self, value: object, *, max_depth: int = MAX_DEPTH, max_values: int = MAX_VALUES
    ) -> Any:
        """A scrubbed copy of a JSON value; what goes over a bound becomes `(cut)`."""
        return _JsonWalk(self, max_depth, max_values).copy(value, 0)


class _JsonWalk:
    """One walk over one value: the redactor, and how much of the bound is left."""

    def __init__(self, redactor: Redactor, max_depth: int, values_left: int) -> None:
        self._redactor = redactor
        self._max_depth = max_depth
        self._values_left = values_left

    def copy(self, value: object, depth: int) -> Any:
        self._values_left -= 1
        if self._values_left < 0:
            return CUT
        if isinstance(value, str):
            return self._redactor(value)
        if value is None or isinstance(value, (bool, int, float)):
            return value
        if depth >= self._max_depth:
            return CUT
        if isinstance(value, dict):
            return self._copy_dict(value, depth)
        if isinstance(value, (list, tuple)):
            copied = []
            for child in value:
                if self._values_left <= 0:
                    copied.append(CUT)
                    break
                copied.append(self.copy(child, depth + 1))
            return copied
        return CUT

    def _copy_dict(self, value: dict[Any, Any], depth: int) -> dict[str, Any]:
        copied: dict[str, Any] = {}
        for name, child in value.items():
            if self._values_left <= 0:
                copied[CUT] = CUT
                break
            key = self._redactor(name if isinstance(name, str) else str(name)[:64])
            if is_denied_name(name) and child is not None and not isinstance(child, bool):
                copied[key] = REDACTED
            else:
                copied[key] = self.copy(child, depth + 1)
        return copied


def is_denied_name(name: object) -> bool:
    """Whether a key or header of this name always carries a secret."""
    if not isinstance(name, str) or len(name) > 96:  # noqa: PLR2004 - no header name is longer
        return False
    bare = "".join(filter(str.isalnum, name)).lower()
    return bare in _DENIED_NAMES or bare.endswith(_DENIED_ENDINGS)


def _clip(text: str, values: tuple[str, ...]) -> str:
    """Head and tail, cut so that no known secret is left standing in half."""
    if len(text) <= MAX_TEXT_CHARS:
        return text
    half = MAX_TEXT_CHARS // 2
    head, tail = text[:half], text[-half:]
    for value in values:
        for size in range(min(len(value), half) - 1, MIN_SECRET_CHARS // 2, -1):
            if head.endswith(value[:size]):
                head = head[:-size]
                break
        for size in range(min(len(value), half) - 1, MIN_SECRET_CHARS // 2, -1):
            if tail.startswith(value[-size:]):
                tail = tail[size:]
                break
    return f"{head} {CUT} {tail}"


_PLAIN = Redactor()


def redact_text(text: str) -> str:
    """The text without the shapes of secrets, at most 8 KiB of it."""
    return _PLAIN(text)


def redact_json(value: object, *, max_depth: int = MAX_DEPTH, max_values: int = MAX_VALUES) -> Any:
    """A scrubbed copy of a JSON value; the value itself is left alone."""
    return _PLAIN.json(value, max_depth=max_depth, max_values=max_values)
