"""An option of `lastword gateway` or `lastword connect`: one row for all who show or read it.

Owns the kinds of values, their written forms, and how an unusable value is refused. The
parsers, the help, the configuration file's tables and the shells' completion are made from rows.
"""

from __future__ import annotations

import ipaddress
import re
from copy import copy
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from lastword.core.failure.option_values import DURATION_EXAMPLES, seconds_of
from lastword.core.link.option_table import Option

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_PORT = 65535
MAX_DIGITS = 9
_SIZE = Option("size", "bytes", "")
_URL = Option("url", "url", "")
_DURATIONS = (("d", 86_400), ("h", 3600), ("m", 60))
_NODE_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_-]|\.(?=[A-Za-z0-9_-])){0,62}")
_HOST = re.compile(r"[^/\s]+")
_ORIGIN = re.compile(r"null|[A-Za-z][A-Za-z0-9+.-]*://[^/?#\s]+/?")
_SIZES = (("GiB", 1024**3), ("MiB", 1024**2), ("KiB", 1024))


class Setting(Option):
    """An option, and how its value is written, shown and read.

    As an annotation of a settings class's field, it declares the option that sets the field.

    Attributes:
        metavar: What the help calls its value.
        note: What the help says of the default; empty for the default itself.
    """

    __slots__ = ("_variable", "metavar", "note")

    def __init__(  # noqa: PLR0913 - an option's facts
        self,
        name: str,
        kind: str,
        about: str,
        *,
        group: str = "",
        metavar: str = "",
        note: str = "",
        variable: str = "",
    ) -> None:
        super().__init__(name, kind, about, False if kind == "flag" else "", group=group)
        self.metavar: str = metavar or ("" if kind not in KINDS else KINDS[kind].metavar)
        self.note: str = note
        self._variable = variable

    @property
    def variable(self) -> str:
        """Its name in the environment; empty for most."""
        return self._variable

    @property
    def is_list(self) -> bool:
        """Whether it may be given several times, each time with several values."""
        return self.kind in {"hosts", "origins", "networks"}

    @property
    def expects(self) -> str:
        """What it accepts, in words."""
        return KINDS[self.kind].expects if self.kind in KINDS else super().expects

    @property
    def help(self) -> str:
        """What the help says of it."""
        if self.kind == "flag":
            return self.about
        words = f"{', '.join(self.words)}; " if self.words else ""
        return f"{self.about} ({words}default: {self.note or self.default})"

    def read(self, text: str) -> Any:
        """Return the value that a text means, or `None` if it cannot be used."""
        if self.kind == "off|on":
            return text == "on" if text in self.words else None
        return KINDS[self.kind].read(text) if self.kind in KINDS else super().read(text)

    def with_default(self, value: Any) -> Setting:
        """Return the option of a field with this default."""
        kind = KINDS.get(self.kind)
        if self.kind == "off|on":
            value = "on" if value else "off"
        elif kind is not None:
            value = kind.show(value)
        made = copy(self)
        made.default = False if self.kind == "flag" else value
        return made


SECRET_KINDS = frozenset({"url", "url-or-topic", "nats-urls"})
"""The kinds whose values may hold a password: an error does not quote them."""


class ValueKind(NamedTuple):
    """A kind of value.

    Attributes:
        metavar: what the help calls it.
        expects: what is accepted, in words.
        read: returns the value that a text means, or `None`.
        show: returns a default as it is shown.
    """

    metavar: str
    expects: str
    read: Callable[[str], Any]
    show: Callable[[Any], int | str] = str


def _address(text: str) -> tuple[str, int] | None:
    host, _, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not host or not port.isdecimal() or int(port) > MAX_PORT:
        return None
    return host, int(port)


def _number(text: str) -> int | None:
    is_number = text.isascii() and text.isdigit() and len(text) <= MAX_DIGITS
    return (int(text) or None) if is_number else None


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _formed(text: str, form: re.Pattern[str]) -> list[str] | None:
    names = _names(text)
    return names if all(map(form.fullmatch, names)) else None


def _networks(text: str) -> list[str] | None:
    names = _names(text)
    for name in names:
        try:
            ipaddress.ip_network(name)
        except ValueError:
            return None
    return names


def _nats_urls(text: str) -> list[str] | None:
    urls = _names(text)
    for url in urls:
        try:
            parts = urlsplit(url)
            is_usable = parts.scheme in {"nats", "tls"} and parts.hostname and parts.port != 0
        except ValueError:
            return None
        if not is_usable:
            return None
    return urls


def _with_unit(value: float, units: tuple[tuple[str, int], ...], least: str) -> str:
    for unit, size in units:
        if value and value % size == 0:
            return f"{value // size:g}{unit}"
    return f"{value:g}{least if value else ''}"


def _duration(seconds: float) -> str:
    return _with_unit(seconds, _DURATIONS, "s")


KINDS = {
    "address": ValueKind(
        "HOST:PORT",
        "HOST:PORT, such as 127.0.0.1:7780",
        _address,
        lambda value: f"{value[0]}:{value[1]}",
    ),
    "url-path": ValueKind(
        "PATH", "a path, which begins with /", lambda text: text if text[:1] == "/" else None
    ),
    "web-address": ValueKind(
        "URL",
        "an address, such as https://gateway.example:8443",
        lambda text: None if text and _URL.read(text) is None else text.rstrip("/"),
    ),
    "duration": ValueKind("TIME", f"a duration, {DURATION_EXAMPLES}", seconds_of, _duration),
    "positive-duration": ValueKind(
        "TIME",
        f"a duration above 0, {DURATION_EXAMPLES}",
        lambda text: seconds_of(text) or None,
        _duration,
    ),
    "size": ValueKind(
        "SIZE",
        "a size, such as 16MiB",
        lambda text: _SIZE.read(text) or None,
        lambda value: _with_unit(value, _SIZES, ""),
    ),
    "number": ValueKind("N", "a number from 1 up", _number, int),
    "hosts": ValueKind(
        "NAME",
        "a host name, such as gateway.example",
        lambda text: _formed(text, _HOST),
        ", ".join,
    ),
    "origins": ValueKind(
        "ORIGIN",
        "an origin, such as https://app.example",
        lambda text: _formed(text, _ORIGIN),
        ", ".join,
    ),
    "networks": ValueKind(
        "ADDRESS", "an IP address, or a network such as 10.0.0.0/24", _networks, ", ".join
    ),
    "nats-urls": ValueKind(
        "URL[,URL]",
        "addresses of NATS servers, such as nats://user:password@nats.example:4222",
        _nats_urls,
        ",".join,
    ),
    "node-name": ValueKind(
        "NAME",
        "up to 63 letters, digits, and . _ - between them",
        lambda text: text if not text or _NODE_NAME.fullmatch(text) else None,
    ),
    "folder": ValueKind("DIR", "a folder", lambda text: text or None, lambda value: value or "."),
    "file": ValueKind("FILE", "a file", str),
    "text": ValueKind("TEXT", "a text", str),
}
