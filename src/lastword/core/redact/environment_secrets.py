"""Secrets in the environment: the values of variables whose names suggest a secret.

Owns which names do, those of an agent's options included. The environment is an argument, since the
core does not read it. Imported at every start, so it imports as little as it can.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SECRET_NAMES = ("KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL", "CONNECTIONSTRING")
"""Parts that suggest a secret anywhere in a name, once its punctuation is removed."""

SECRET_WORDS = frozenset({"PASS", "PASSPHRASE", "PWD", "PAT", "AUTH", "COOKIE", "CREDS", "DSN"})
"""Whole words that do; as parts of other words they are common (`COMPASS`, `AUTHOR`)."""

NO_SECRETS = frozenset({"PWD", "OLDPWD"})
"""Names that look like secrets but are not: a shell's current and previous folder."""

_WHERE = frozenset({"SOCK", "SOCKET", "TYPE", "METHOD", "MODE", "PROVIDER"})
"""Last words of names that say where or how to log in, not with which secret."""

MIN_SECRET_CHARS = 8
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


def secrets_of(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return the values of variables named like secrets, which no text of ours may contain."""
    secrets = [value for name, value in environment.items() if _names_a_secret(name)]
    for name, value in environment.items():
        if name.endswith("_HEADERS"):
            # `name=value,name=value`: the credentials, without schemes such as `Bearer%20`.
            values = (pair.partition("=")[2].strip() for pair in value.split(","))
            secrets += [text.rpartition("%20")[2].rpartition(" ")[2] for text in values]
    return tuple(value for value in secrets if len(value) >= MIN_SECRET_CHARS)


def secrets_in(command: Sequence[str]) -> tuple[str, ...]:
    """Return the values of a command's options, and of its `NAME=value`, with such names.

    A path does not count: it names the place of a secret.
    """
    secrets: list[str] = []
    named = False
    for argument in command:
        name, assigned, value = argument.partition("=")
        if named and not argument.startswith("-"):
            secrets.append(argument)
        elif assigned and _names_a_secret(name):
            secrets.append(value)
        named = not assigned and argument.startswith("-") and _names_a_secret(argument)
    return tuple(
        value
        for value in secrets
        if len(value) >= MIN_SECRET_CHARS and not value.startswith(("/", "~", "."))
    )


def _names_a_secret(name: str) -> bool:
    bare = "".join(filter(str.isalnum, name)).upper()
    if any(part in bare for part in SECRET_NAMES):
        return True
    words = [word.upper() for word in _WORDS.findall(name)]
    return name not in NO_SECRETS and bool(SECRET_WORDS & {*words}) and words[-1] not in _WHERE
