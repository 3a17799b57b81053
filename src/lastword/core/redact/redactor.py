"""Redaction of secrets in text and JSON, before anything leaves the process or is recorded.

Applied in order: headers and keys whose names always mean a secret, the exact values of secrets
that the caller knows (the core reads no environment), then patterns for the shapes of keys,
credentials and people's names. Text is cut to 8 KiB before any pattern runs, and each pattern is
linear in its length. A hook of the user's own may process what is left. Does not decide which
fields are shown at all: each entry point has an allow-list for that.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any

import msgspec

from lastword.core.redact.forms import broken, forms_of, without_noise
from lastword.core.redact.known_secrets import MIN_SECRET_CHARS
from lastword.core.redact.truncate import from_word_start, to_word_end

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

REDACTED = "(redacted)"
CUT = "(cut)"
MAX_TEXT_CHARS = 8192
MAX_DEPTH = 16
MAX_VALUES = 2000
_MAX_KEY_CHARS = 96


def _names(block: str) -> frozenset[str]:
    return frozenset(block.split())


_DENIED_NAMES = _names("""
    authorization proxyauthorization cookie cookies setcookie apikey xapikey xgoogapikey apisecret
    accesskey accesskeyid secretkey secretaccesskey awssecretaccesskey awssessiontoken accesstoken
    refreshtoken idtoken authtoken bearertoken sessiontoken xauthtoken xamzsecuritytoken token
    csrftoken xcsrftoken secret secrets clientsecret password passwd pwd passphrase privatekey
    credential credentials connectionstring dsn webhooksecret signature sig sessioncookie
    openaiorganization xopenaiorganization githubtoken subscriptionkey ocpapimsubscriptionkey
    anthropicorganizationid email""")
"""Key and header names, lower-case alphanumerics, whose whole value is dropped."""

_DENIED_ENDINGS = tuple(
    _names("""apikey accesstoken refreshtoken authtoken secretkey accesskey privatekey clientsecret
    password authorization secret subscriptionkey securitytoken""")
)


class Shape(msgspec.Struct, frozen=True):
    """The shape of a secret, with the name under which it is counted.

    `hints` are lower-case strings; the secret cannot occur without at least one of them.
    """

    name: str
    hints: tuple[str, ...]
    source: str
    replacement: str
    flags: int

    @property
    def pattern(self) -> re.Pattern[str]:
        """The pattern, compiled on first use, since few patterns occur in one text."""
        return _compiled(self.source, self.flags)


_compiled = cache(re.compile)


def _shape(
    name: str, hints: str, pattern: str, replacement: str = REDACTED, *, flags: int = 0
) -> Shape:
    return Shape(name, tuple(hints.split()), pattern, replacement, flags)


_QUOTE = r"[\"'\\]{0,4}"
_SEPARATOR = rf"{_QUOTE}\s{{0,2}}(?::=|[:=]|=>|%3D)\s{{0,2}}{_QUOTE}"
_DIGIT_SOON = r"(?=[\w.-]{0,48}\d)"
_TELLTALE_NAME = (
    r"(?:\w{1,32}[-_.])?(?:api[-_ ]?key|access[-_]?token|refresh[-_]?token|id[-_]?token"
    r"|auth[-_]?token|bearer[-_]?token|session[-_]?token|client[-_]?secret|secret[-_]?access[-_]?key"
    r"|(?:shared[-_]?)?access[-_]?key(?:[-_]?id)?|account[-_]?key|secret[-_]?key"
    r"|private[-_]?key|subscription[-_]?key"
    r"|security[-_]?token|password|passwd|passphrase|secret|connection[-_]?string|_key|_token)"
)

SHAPES = (
    # A PEM block, even if its end was cut off.
    _shape(
        "private_key",
        "private",
        r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----[A-Za-z0-9+/=\s\\:,.-]*?"
        r"(?:-----END [A-Z0-9 ]{0,40}-----|$)",
    ),
    # The lines of a PEM block whose beginning was cut off.
    _shape(
        "private_key",
        "-----end",
        r"^(?:[A-Za-z0-9+/=]{1,80}\r?\n){1,64}-----END [A-Z0-9 ]{0,40}PRIVATE KEY-----",
        flags=re.MULTILINE,
    ),
    # A JSON Web Token.
    _shape("jwt", "eyj", r"\beyJ[\w-]{8,}(?:\.[\w-]*){1,4}"),
    # scheme://user:password@host, and a token in the user's place
    _shape("url_credentials", "://", r"(?<=://)[^\s/@\"'<>]{1,256}@", f"{REDACTED}@"),
    # "Authorization": any value
    _shape(
        "authorization",
        "authorization",
        r"\b(authorization[\"'\\]{1,4}\s{0,2}[:=,]\s{0,2}[\"'\\]{1,4})(?!\()[^\"'\\\r\n]{4,}",
        rf"\1{REDACTED}",
        flags=re.IGNORECASE,
    ),
    # Authorization: SCHEME VALUE
    _shape(
        "authorization",
        "authorization",
        rf"\b(authorization{_QUOTE}\s{{0,2}}[:=,]\s{{0,2}}{_QUOTE})"
        r"(?:(?:bearer|basic|digest|token|negotiate|apikey|aws4-hmac-sha256)\s{1,3})?"
        r"(?!\()[^\s\"',;}\\]{4,}",
        rf"\1{REDACTED}",
        flags=re.IGNORECASE,
    ),
    # a scheme on its own; "basic authentication" is not a credential
    _shape(
        "authorization",
        "bearer basic",
        r"\b(bearer|basic)(\s{1,3}|%20)(?=[\w.~+/-]{0,40}[0-9=+/._~]|[A-Za-z]{24})[\w.~+/=-]{8,}",
        rf"\1\2{REDACTED}",
        flags=re.IGNORECASE,
    ),
    _shape(
        "cookie",
        "cookie",
        rf"\b(cookie{_QUOTE}\s{{0,2}}:\s{{0,2}}{_QUOTE})(?=[^\s\"']{{0,80}}=)[^\r\n\"']{{4,}}",
        rf"\1{REDACTED}",
        flags=re.IGNORECASE,
    ),
    # --api-key VALUE
    _shape(
        "option",
        "-key -token -password -secret -auth",
        r"(?<![\w-])(--?(?:[a-z]{1,16}-){0,3}(?:api-?key|key|token|password|secret|auth)"
        r"[\"']?[= ,]{1,2}[\"']?)(?![-(])[^\s\"',]{6,}",
        rf"\1{REDACTED}",
        flags=re.IGNORECASE,
    ),
    # name=value, "name": "value", where the name suggests a secret
    _shape(
        "named_secret",
        "key token secret password passwd passphrase string",
        # "/etc/passwd: permission denied" names a file, and holds no secret.
        rf"\b({_TELLTALE_NAME}{_SEPARATOR})(?!\(|permission denied)[^\s\"'\\,;&}}<>()]{{6,}}",
        rf"\1{REDACTED}",
        flags=re.IGNORECASE,
    ),
    # token: value, but not a parser's "unexpected token: end-of-file"
    _shape(
        "named_secret",
        "token",
        rf"(?<!nexpected )\b(token{_SEPARATOR})(?=[\w.~+/=-]{{0,64}}[\d_.~+/=-])[\w.~+/=-]{{8,}}",
        rf"\1{REDACTED}",
        flags=re.IGNORECASE,
    ),
    # <password>value</password>
    _shape(
        "named_secret",
        "</",
        rf"(<(?:{_TELLTALE_NAME}|token)(?:\s[^<>]{{0,128}})?>)(?!\()[^<>]{{3,}}(?=</)",
        rf"\1{REDACTED}",
        flags=re.IGNORECASE,
    ),
    # The last part of a webhook's address is all that is needed to write to it.
    _shape(
        "webhook",
        "hooks.slack.com",
        r"\b(hooks\.slack\.com/(?:services|workflows|triggers)/)[\w/-]{8,}",
        rf"\1{REDACTED}",
        flags=re.IGNORECASE,
    ),
    _shape(
        "webhook",
        "/webhooks/",
        r"\b(discord(?:app)?\.com/api/(?:v\d{1,2}/)?webhooks/)\d{5,}/[\w-]{8,}",
        rf"\1{REDACTED}",
        flags=re.IGNORECASE,
    ),
    # ?key=value in a URL
    _shape(
        "url_parameter",
        "=",
        r"([?&;](?:key|token|sig|signature|auth|code|pwd|pass|session|sid|jwt|x-[a-z]{2,5}-"
        r"(?:signature|credential|security-token))=)(?!\()[^&\s\"'#<>\\]{3,}",
        rf"\1{REDACTED}",
        flags=re.IGNORECASE,
    ),
    _shape(
        "url_parameter",
        "key= token= sig=",
        r"\b((?:key|token|sig)=)(?=[\w.~+/%-]{0,48}\d)[\w.~+/%=-]{12,}",
        rf"\1{REDACTED}",
        flags=re.IGNORECASE,
    ),
    # Keys by their prefix.
    _shape(
        "api_key",
        "sk- pk- rk- ek- sk_ pk_ rk_",
        rf"\bc?[sprek]k[-_](?!\.){_DIGIT_SOON}[\w-]{{8,}}|\bsk-[\w-]{{20,}}",
    ),
    _shape("api_key", "aiza ya29 gocspx 1//0", r"\b(?:AIza|ya29\.|GOCSPX-|1//0)[\w-]{16,}"),
    _shape(
        "api_key",
        "akia asia aroa aida abia acca",
        r"\b(?:AKIA|ASIA|AROA|AIDA|ABIA|ACCA)[A-Z0-9]{12,}\b",
    ),
    _shape("private_key", "age-secret-key-", r"\bAGE-SECRET-KEY-1[A-Z0-9]{20,}"),
    _shape("token", "gh github_pat_", r"\bgh[opsur]_[A-Za-z0-9]{12,}|\bgithub_pat_\w{12,}"),
    _shape("token", "gl", r"\bgl(?:pat|dt|rt|cbt|ptt|oas|soat|ft)-[\w-]{12,}"),
    _shape("token", "xox xapp", r"\b(?:xox[a-z](?:\.xox[a-z])?|xapp)-[\w-]{8,}"),
    _shape(
        "api_key",
        "hf_ gsk_ r8_ npm_ xai- nvapi pplx fw_ tgp_ dop_ shpat sntrys lin_api dapi ntn_ whsec pypi"
        " fal jina tvly voyage absk bedrock-api key-",
        r"\b(?:hf|gsk|r8|npm|xai|nvapi|pplx|fw|tgp_v1|dop_v1|shpat|sntrys|lin_api|dapi|ntn|whsec"
        rf"|pypi|fal|jina|tvly|voyage|ABSK|bedrock-api-key|key)[-_]?{_DIGIT_SOON}[\w-]{{20,}}",
    ),
    _shape("token", "sg. :aa", r"\bSG\.[\w-]{16,}\.[\w-]{16,}|\b\d{8,10}:AA[\w-]{30,}"),
    # Accounts, people, and addresses.
    _shape(
        "account",
        "org- org_ proj acct user- user_ team- team_ workspace",
        rf"\b(?:org|proj|acct|user|team|workspace)[-_]{_DIGIT_SOON}[A-Za-z0-9]{{10,}}",
    ),
    _shape(
        "email", "@", r"(?<![\w.+-])[\w.+-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.){1,5}[A-Za-z]{2,24}\b"
    ),
    _shape(
        "home_directory",
        "/home/ /users/",
        r"(?<![\w./])/(?:home|Users)/[^/\s\"'`:;,)\]}>]{1,64}",
        "~",
    ),
    _shape("home_directory", "/root/", r"(?<![\w./])/root(?=/)", "~"),
    _shape(
        "home_directory",
        "users",
        r"\b[A-Za-z]:(?:\\{1,4}|/)Users(?:\\{1,4}|/)[^\\/\s\"':;,)]{1,64}",
        "~",
        flags=re.IGNORECASE,
    ),
)


class Redactor(msgspec.Struct, frozen=True):
    """A callable that redacts a text; `json` redacts a JSON value.

    Attributes:
        values: Exact secrets that are known, in any order. Those under 8 characters are not looked
            for, since they would match ordinary words.
        hook: Called on what is left after our own rules; for example, a library that finds personal
            data. If it raises or does not return text, the whole text is dropped.
        counts: A dict in which matches are counted by rule, if one is given. It belongs to whoever
            passed it: use one for each record, and never share it between threads.
    """

    values: tuple[str, ...] = ()
    hook: Callable[[str], str] | None = None
    counts: dict[str, int] | None = None
    _forms: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Sort the values longest first, so that a secret inside a longer one does not break it."""
        kept = {value for value in self.values if len(value.strip()) >= MIN_SECRET_CHARS}
        forms = {form for value in kept for form in forms_of(value)}
        msgspec.structs.force_setattr(self, "values", _longest_first(kept))
        msgspec.structs.force_setattr(self, "_forms", _longest_first(forms | kept))

    def __call__(self, text: str) -> str:
        """Return the text without secrets, at most 8 KiB of it."""
        scrubbed = self._clip(text)
        if self._forms:
            # This comes first, so that a value inside a broken one does not break it further.
            scrubbed = self._without_broken(scrubbed)
        for form in self._forms:
            if form in scrubbed:
                self.count("known_value", scrubbed.count(form))
                scrubbed = scrubbed.replace(form, REDACTED)
        lower = scrubbed.lower()
        for shape in SHAPES:
            if any(hint in lower for hint in shape.hints):
                scrubbed, found = shape.pattern.subn(shape.replacement, scrubbed)
                if found:
                    self.count(shape.name, found)
        return scrubbed if self.hook is None else self._hooked(scrubbed, self.hook)

    def _without_broken(self, text: str) -> str:
        """Remove known values that contain a line end, a colour code or an invisible mark."""
        whole = without_noise(text)
        if whole == text:
            return text
        for form in self._forms:
            if without_noise(form) in whole:
                text, found = broken(form).subn(REDACTED, text)
                if found:
                    self.count("known_value", found)
        return text

    def count(self, rule: str, found: int = 1) -> None:
        """Count the matches of a rule."""
        if self.counts is not None:
            self.counts[rule] = self.counts.get(rule, 0) + found

    def _hooked(self, text: str, hook: Callable[[str], str]) -> str:
        hooked: object = None
        try:
            hooked = hook(text)
        except Exception:  # noqa: BLE001 - foreign code: its failure may not become a leak
            self.count("hook_failed")
        if not isinstance(hooked, str):
            return REDACTED
        if hooked != text:
            self.count("hook")
        return hooked[:MAX_TEXT_CHARS]

    def json(
        self, value: object, *, max_depth: int = MAX_DEPTH, max_values: int = MAX_VALUES
    ) -> Any:
        """Return a redacted copy of a JSON value; anything beyond a bound becomes `(cut)`."""
        return _JsonCopy(self, max_depth, max_values).of(value, 0)

    def _clip(self, text: str) -> str:
        """Return head and tail, cut so that no half of a secret is left."""
        if len(text) <= MAX_TEXT_CHARS:
            return text
        half = MAX_TEXT_CHARS // 2
        reach = max((len(form) for form in self._forms), default=0) + 256
        head, tail = text[: half + reach], text[-half - reach :]
        for form in self._forms:
            head, tail = head.replace(form, REDACTED), tail.replace(form, REDACTED)
        return f"{to_word_end(head[:half])} {CUT} {from_word_start(tail[-half:])}"


def _longest_first(texts: set[str]) -> tuple[str, ...]:
    return tuple(sorted(texts, key=lambda text: (-len(text), text)))


class _JsonCopy:
    """One copy of one value: the redactor, and how much of the bound is left."""

    def __init__(self, redactor: Redactor, max_depth: int, values_left: int) -> None:
        self._redactor = redactor
        self._max_depth = max_depth
        self._values_left = values_left

    def of(self, value: object, depth: int) -> Any:
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
            return self._of_dict(value, depth)
        if isinstance(value, (list, tuple)):
            return self._of_list(value, depth)
        return CUT

    def _of_list(self, value: list[Any] | tuple[Any, ...], depth: int) -> list[Any]:
        copied: list[Any] = []
        for child in value:
            if self._values_left <= 0:
                copied.append(CUT)
                break
            copied.append(self.of(child, depth + 1))
        return copied

    def _of_dict(self, value: dict[Any, Any], depth: int) -> dict[str, Any]:
        copied: dict[str, Any] = {}
        for name, child in value.items():
            if self._values_left <= 0:
                copied[CUT] = CUT
                break
            key = self._redactor(name) if isinstance(name, str) else CUT
            if is_denied_name(name) and child is not None and not isinstance(child, bool):
                copied[key] = REDACTED
                self._redactor.count("secret_name")
            else:
                copied[key] = self.of(child, depth + 1)
        return copied


def is_denied_name(name: object) -> bool:
    """Return whether a key or header of this name always carries a secret."""
    if not isinstance(name, str) or len(name) > _MAX_KEY_CHARS:
        return False
    bare = "".join(filter(str.isalnum, name)).lower()
    return bare in _DENIED_NAMES or bare.endswith(_DENIED_ENDINGS)


def redactions_in_words(counts: Mapping[str, int]) -> str:
    """Return what was removed, for a record: `3 redactions: 2 api_key, 1 email`."""
    total = sum(counts.values())
    if not total:
        return "no redactions"
    by_number = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    told = ", ".join(f"{number} {rule}" for rule, number in by_number)
    return f"{total} redaction{'' if total == 1 else 's'}: {told}"


_PLAIN = Redactor()


def redact_text(text: str) -> str:
    """Return the text without anything shaped like a secret, at most 8 KiB of it."""
    return _PLAIN(text)


def redact_json(value: object, *, max_depth: int = MAX_DEPTH, max_values: int = MAX_VALUES) -> Any:
    """Return a redacted copy of a JSON value; the value itself is not changed."""
    return _PLAIN.json(value, max_depth=max_depth, max_values=max_values)
