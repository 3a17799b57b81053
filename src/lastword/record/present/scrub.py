"""Scrubbing for publication: secrets are removed once more, and traces of this machine.

Owns the names of this user and this machine, and their removal. `core.redact.redactor` finds the
secrets.
"""

from __future__ import annotations

import os
import re
import socket
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from lastword.core.failure import taxonomy
from lastword.core.failure.phrases import plain, times
from lastword.core.redact.environment_secrets import secrets_of
from lastword.core.redact.named_values import is_denied
from lastword.core.redact.redactor import CUT, Redactor
from lastword.core.redact.shapes import REDACTED
from lastword.core.timeline import entry as timeline_entry
from lastword.platform.identity import account_names

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_DEPTH = 16
MIN_NAME_CHARS = 3
_MAX_CLEAN = 4096
_LEFT_OUT = frozenset({"pid", "cwd"})

_COMMON = frozenset(
    {"root", "user", "users", "admin", "ubuntu", "debian", "localhost", "home", "nobody", "runner"}
)
"""Names of accounts and machines that identify nobody and occur in ordinary sentences."""


class Scrubber:
    """Removes secrets and the names of a user and a machine, and counts what it removed."""

    def __init__(self, secrets: tuple[str, ...], names: Mapping[str, str]) -> None:
        """Create it; `names` maps each name to remove to the rule under which it is counted."""
        self.counts: dict[str, int] = {}
        self._redactor = Redactor(secrets, counts=self.counts)
        identifying = {name: rule for name, rule in names.items() if _identifies(name)}
        self._names = [
            (re.compile(rf"(?<![^\W_]){re.escape(name)}(?![^\W_])", re.IGNORECASE), rule)
            for name, rule in sorted(identifying.items(), key=lambda each: (-len(each[0]), each[0]))
        ]
        self._clean: set[str] = set()

    def text(self, text: str) -> str:
        """Return the text, scrubbed."""
        if text in self._clean:
            return text
        scrubbed = self._redactor(text)
        for pattern, rule in self._names:
            scrubbed, count = pattern.subn(REDACTED, scrubbed)
            if count:
                self._redactor.count(rule, count)
        # The record's own words occur again and again.
        if scrubbed == text and len(self._clean) < _MAX_CLEAN:
            self._clean.add(text)
        return scrubbed

    def facts(self, value: Any, depth: int = 0) -> Any:
        """Return a JSON value, scrubbed."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict | list) and depth >= MAX_DEPTH:
            return CUT
        if isinstance(value, list):
            return [self.facts(each, depth + 1) for each in value]
        if isinstance(value, dict):
            return {
                self.text(key): self._member(key, each, depth)
                for key, each in value.items()
                if key not in _LEFT_OUT
            }
        return value

    def _member(self, key: str, value: Any, depth: int) -> Any:
        if key == "redactions" and _are_counts(value):
            return value  # its members are named as what was taken out, and hold how often
        if is_denied(key, value):
            self._redactor.count("secret_name")
            return REDACTED
        return self.facts(value, depth + 1)


def _are_counts(value: Any) -> bool:
    return isinstance(value, dict) and all(
        rule in _RULES and isinstance(count, int) for rule, count in value.items()
    )


_RULES = {
    "account": "accounts",
    "api_key": "API keys",
    "authorization": "authorization headers",
    "cookie": "cookies",
    "email": "e-mail addresses",
    "jwt": "signed tokens (JWT)",
    "named_secret": "values that are named as secrets",
    "option": "secrets of command lines",
    "private_key": "private keys",
    "token": "tokens",
    "url_credentials": "passwords in addresses",
    "url_parameter": "secrets in addresses",
    "webhook": "webhook addresses",
    "hook": "what your own rule finds",
    "hook_failed": "texts of which your own rule could say nothing",
    "user_name": "the user's name",
    "host_name": "this machine's name",
    "home_directory": "home folders",
    "known_value": "secrets of this environment",
    "secret_name": "fields with the name of a secret",
}
"""What a rule removes, in words."""


def removal_words(counts: Mapping[str, int]) -> str:
    """Return what a scrubber removed, as a sentence."""
    if not sum(counts.values()):
        return (
            "Nothing had to be removed: no secret was detected, and no name of you or this machine."
        )
    return f"Taken out: {by_rule(counts)}."


def by_rule(counts: Mapping[str, int]) -> str:
    """Return how often each kind of text was removed, as a list in words; empty if nothing was."""
    parts = [
        f"{plain(rule, _RULES)} ({times(count)})"
        for rule, count in sorted(counts.items(), key=lambda each: (-each[1], each[0]))
        if count
    ]
    return ", ".join(parts)


def scrubber_here() -> Scrubber:
    """Return the scrubber for this user, on this machine."""
    return Scrubber(secrets_of(os.environ), _names_here())


def _names_here() -> dict[str, str]:
    home = os.path.expanduser("~").rstrip("/")
    users = {os.environ.get("USER", ""), os.environ.get("LOGNAME", ""), os.path.basename(home)}
    users |= account_names()
    host = socket.gethostname()
    names = dict.fromkeys(users, "user_name")
    names |= dict.fromkeys((host, host.partition(".")[0]), "host_name")
    if home.count("/") > 1:
        names[home] = "home_directory"
    return names


def _identifies(name: str) -> bool:
    plain = name.strip().lower()
    return len(plain) >= MIN_NAME_CHARS and plain not in _COMMON | _OWN_WORDS


def _own_words() -> frozenset[str]:
    """Return the record's own vocabulary, which stays even if somebody is called Agent."""
    vocabulary: set[str] = set()
    for module in (timeline_entry, taxonomy):
        for kind in vars(module).values():
            if isinstance(kind, type) and issubclass(kind, StrEnum):
                for word in kind:
                    vocabulary |= {word.value, *word.value.split("_")}
    return frozenset(vocabulary)


_OWN_WORDS = _own_words() | {"lastword"}
