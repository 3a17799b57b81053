"""Named values: `NAME=value`, `"name": "value"`, whose name says that the value is a secret.

Owns which names do, in texts and in the keys of JSON objects, and where the value after a name
ends. A name is judged by its last words: `NPM_TOKEN` and `db.pass` name secrets, `max_token` and
`primary_key` do not.
"""

from __future__ import annotations

import re
from enum import Enum, auto
from functools import lru_cache

from lastword.core.redact.shapes import REDACTED, value_of

_MAX_NAME_CHARS = 96


def _words(block: str) -> frozenset[str]:
    return frozenset(block.split())


DENIED_NAMES = _words("""
    authorization proxyauthorization cookie cookies setcookie apikey xapikey xgoogapikey apisecret
    accesskey accesskeyid secretkey secretaccesskey awssecretaccesskey awssessiontoken accesstoken
    refreshtoken idtoken authtoken bearertoken sessiontoken xauthtoken xamzsecuritytoken token
    csrftoken xcsrftoken secret secrets clientsecret password passwd pwd passphrase privatekey
    credential credentials connectionstring dsn webhooksecret signature sig sessioncookie
    openaiorganization xopenaiorganization githubtoken subscriptionkey ocpapimsubscriptionkey
    anthropicorganizationid codeverifier devicecode clientassertion email""")
"""Key and header names, lower-case alphanumerics, whose whole value is dropped."""

DENIED_ENDINGS = tuple(
    _words("""apikey accesstoken refreshtoken authtoken secretkey accesskey privatekey clientsecret
    password authorization secret subscriptionkey securitytoken codeverifier devicecode
    clientassertion""")
)

_SECRET_ENDINGS = (
    *DENIED_ENDINGS,
    *("idtoken", "bearertoken", "sessiontoken", "accesskeyid", "accountkey", "connectionstring"),
    *("passwd", "passphrase"),
)
"""The endings of names whose value is a secret, whatever it looks like."""

_LAST_WORDS = _words("token key pass pwd pw pat auth dsn cookie credential credentials creds")
"""The last word of a name of two or more whose value may be one."""

_GLUED_ENDINGS = ("token", "credential", "credentials", "creds", "pgpass", "dbpass")

_HARMLESS = {
    "key": _words("""primary foreign sort partition cache public group index lookup hot object
        unique composite row routing idempotency dedup hash map dict json yaml config message i18n
        item query field column order lang locale registry shard parent child state meta label tag
        topic storage react translation s3 websocket"""),
    "token": _words("""max min eos bos pad unk sep cls mask next page stop per first last special
        input output continuation"""),
    "pass": _words("first second third next last render multi single by tests all did"),
    "cookie": _words("no set has"),
    "auth": _words("no requires needs is basic"),
}
"""The words before a last word with which it names something that is not secret."""

_COMPLAINTS = _words("invalid missing expired unexpected unknown bad wrong error errors")
"""Words of a name that is a sentence or an exception, as in `InvalidSessionToken: ...`."""

_ACCOUNTS = _words("""db database user admin root smtp mail email imap ftp sftp ssh http https proxy
    redis mysql mariadb pg postgres mongo rabbitmq amqp ldap vpn wifi keystore login""")
_PASSWORDS = _words("pass pwd pw password passwd")
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


class Naming(Enum):
    """The kind of value that a name suggests."""

    NOTHING = auto()
    SECRET = auto()
    """A secret."""
    VARIABLE = auto()
    """A secret, unless it is a number or a word such as `true`."""
    PASSWORD = auto()
    """A secret, even if it is a number."""
    PERHAPS = auto()
    """A secret if it looks like one."""


@lru_cache(maxsize=512)
def naming_of(name: str) -> Naming:
    """Return the kind of value that a name suggests."""
    bare = "".join(filter(str.isalnum, name)).lower().rstrip("0123456789")
    words = [word.lower() for word in _WORD.findall(name) if not word.isdigit()]
    if words[-2:] in (["key", "id"], ["key", "base"]):
        bare = bare.removesuffix(words.pop())
    is_variable = not any(map(str.islower, name))
    if not words or _COMPLAINTS.intersection(words):
        return Naming.NOTHING
    last, before = words[-1], words[-2] if words[1:] else ""
    if bare.endswith(_SECRET_ENDINGS):
        is_password = is_variable and bare.endswith(("password", "passwd"))
        return Naming.PASSWORD if is_password else Naming.SECRET
    if before in _HARMLESS.get(last, ()):
        return Naming.NOTHING
    if is_variable and (bare.endswith(_GLUED_ENDINGS) or (before and last in _LAST_WORDS)):
        return Naming.PASSWORD if last in _PASSWORDS else Naming.VARIABLE
    if last in _PASSWORDS and before in _ACCOUNTS:
        return Naming.VARIABLE
    if last in _LAST_WORDS and (before or last.startswith("cred") or last in _PASSWORDS):
        return Naming.PERHAPS
    return Naming.NOTHING


def is_denied_name(name: object) -> bool:
    """Return whether a key or header of this name always carries a secret."""
    if not isinstance(name, str) or len(name) > _MAX_NAME_CHARS:
        return False
    bare = "".join(filter(str.isalnum, name)).lower()
    return bare in DENIED_NAMES or bare.endswith(DENIED_ENDINGS)


def is_denied(name: object, value: object) -> bool:
    """Return whether a member of a JSON object is to be dropped, by its name."""
    if value is None or isinstance(value, bool):
        return False
    if is_denied_name(name):
        return True
    if not isinstance(name, str) or len(name) > _MAX_NAME_CHARS or not isinstance(value, str):
        return False
    pattern = _VALUES.get(naming_of(name))
    return pattern is not None and pattern.match(value) is not None


def is_denied_argument(before: object, value: object) -> bool:
    """Return whether a member of a JSON list is to be dropped, by the member before it.

    It is the value of an option such as `--token`, or follows a header's name.
    """
    if not isinstance(before, str) or len(before) > _MAX_NAME_CHARS or "=" in before:
        return False
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        return False
    name = before.lstrip("-")
    if name != before:
        is_option = isinstance(value, str) and value.startswith("--")
        is_named = name.lower() in _LAST_WORDS or naming_of(name) is not Naming.NOTHING
        return not is_option and (is_named or is_denied_name(name))
    looks_like_one = isinstance(value, str) and _VALUES[Naming.PERHAPS].match(value) is not None
    return looks_like_one and is_denied_name(name)


_MARKS = r"(?:[\"'\\]|&quot;|&#3[49];|(?<=\\)u002[27]){0,4}"
_STYLE = r"(?:(?:\x1b|\\{1,4}u001b|\\{1,4}x1b)\[[\d;]{0,12}m){0,2}"
_ASSIGNMENT = re.compile(
    r"(?:token|secret|passw(?:or)?d|passphrase|pass|pwd|pw|key(?:[-_]?id|_base)?|credentials?|creds"
    r"|pat|auth|dsn|cookie|connection[-_]?string|code[-_]?verifier|device[-_]?code"
    r"|client[-_]?assertion)(?:_?\d{1,2})?"
    rf"{_STYLE}{_MARKS}(?:[ \t]{{0,24}}|\s{{0,2}})(?::=|=>|[:=]|%3d)[ \t]{{0,24}}"
    rf"(?:[|>][+-]?(?:\r?\n|(?:\\{{1,4}}r)?\\{{1,4}}n)[ \t]{{0,16}}|\r?\n[ \t]?)?{_STYLE}"
    rf"(?:some\((?=[\"'\\])|\$(?='))?{_MARKS}{_STYLE}"
)
"""The end of a name in small letters, and everything between it and its value."""

_HINTS = (
    *("token", "secret", "pass", "key", "cred", "pwd", "auth", "pat", "dsn", "cookie", "pw"),
    *("verifier", "device", "assertion"),
)

_NOT_A_SENTENCE = r"(?!\(|permission denied|(?:my|your|the|an?) )"
_NOT_CODE = (
    r"(?!(?:string|str|bool|boolean|number|bytes)(?![\w.-])"
    r"|(?:process\.env|import\.meta\.env|os\.environ|os\.getenv|self|this|request|getpass)[.(\[]"
    r"|(?:option|optional|secret|secretstr|secretstring|maybe|box|arc|list|vec)[<\[]"
    r"|[a-z]+_[a-z_]+\(|\$\{?(?-i:[A-Z_]{2,})\b)"
)
"""A type, an expression or a variable's name is not a value."""
_NOT_REDACTED = r"(?!\(redacted\)|\{\w*\}|\$\{?[A-Z_]{2,}\b|%\w+%)"
_NOT_A_NUMBER = r"(?!\d[\d.,_]{0,16}(?:[A-Za-z%]{0,3}|/\w{1,3})(?![\w@!#$*+=/-]))"
_NOT_A_WORD = (
    r"(?!(?i:true|false|none|null|nil|yes|no|on|off|unset|undefined|required|missing|empty|invalid"
    r"|string|str)(?![\w.-]))"
)
_MIXED = (
    r"(?=[^\s\"',;]{0,64}\d)(?=[^\s\"',;]{0,64}[A-Za-z])[\w.~+/=@:!$%^*#-]{8,}"
    r"|[A-Za-z+/]{20,}={0,2}"
)
"""Letters and digits, or more letters than a word has."""

_PLAIN_VALUE = value_of(4, r"[^\s\"'\\;&}<>]")
_VALUES = {
    # "/etc/passwd: permission denied" names a file, and holds no secret.
    Naming.SECRET: re.compile(
        _NOT_A_SENTENCE + _NOT_CODE + value_of(6, r"[^\s\"'\\,;&}<>()]"), re.IGNORECASE
    ),
    Naming.VARIABLE: re.compile(_NOT_REDACTED + _NOT_A_NUMBER + _NOT_A_WORD + _PLAIN_VALUE),
    Naming.PASSWORD: re.compile(_NOT_REDACTED + _NOT_A_WORD + _PLAIN_VALUE),
    Naming.PERHAPS: re.compile(rf"{_NOT_REDACTED}{_NOT_A_NUMBER}(?![/~.])(?:{_MIXED})"),
}
_MIXED_PASSWORD = re.compile(
    rf"{_NOT_REDACTED}(?![/~.])(?=[^\s\"',;&]{{0,40}}\d)(?=[^\s\"',;&]{{0,40}}[A-Za-z])"
    r"[^\s\"'\\,;&}<>()]{6,}"
)


def redact_named(text: str, lower: str) -> tuple[str, int]:
    """Return the text without the values whose names say that they are secrets, and their number.

    Args:
        text: The text.
        lower: The same in small letters, character for character.
    """
    if not any(hint in lower for hint in _HINTS):
        return text, 0
    parts: list[str] = []
    done = 0
    for match in _ASSIGNMENT.finditer(lower):
        at, start, end = match.end(), match.start(), match.start()
        if at >= len(text) or start < done:
            continue
        # The name ends within the match, and may begin before it.
        while start and match.start() - start < _MAX_NAME_CHARS and _is_of_a_name(text[start - 1]):
            start -= 1
        while end < at and _is_of_a_name(text[end]):
            end += 1
        if start and text[start - 1] == "\\" and text[start] in "nrt":
            start += 1
        name = text[start:end].strip(".-")
        if name.lower() == "key" and text[max(start - 4, 0) : start].lower() == "api ":
            name = "api_key"
        naming = naming_of(name)
        is_assigned = text[end : end + 2].lstrip("\"'\\")[:1] == "="
        if naming in (Naming.VARIABLE, Naming.PASSWORD) and not is_assigned:
            # "GITHUB_TOKEN: not set" is a sentence.
            naming = Naming.PERHAPS if naming is Naming.VARIABLE else Naming.SECRET
        pattern = _VALUES.get(naming)
        if naming is Naming.PERHAPS and name.lower() in _PASSWORDS:
            pattern = _MIXED_PASSWORD if "=" in text[end:at] else None
        value = pattern.match(text, at) if pattern is not None else None
        if value is not None:
            parts += (text[done:at], REDACTED)
            done = value.end()
    return "".join((*parts, text[done:])), len(parts) // 2


def _is_of_a_name(char: str) -> bool:
    return char.isalnum() or char in "_.-"
