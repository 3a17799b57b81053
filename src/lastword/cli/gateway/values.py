"""The values of the gateway's options: types for argparse."""

from __future__ import annotations

import argparse
import ipaddress

from lastword.core.link.option_table import Option

MAX_PORT = 65535
_SIZE = Option("size", "bytes", "")
_URL = Option("url", "url", "")


def address(text: str) -> tuple[str, int]:
    """Return a host and a port, written `HOST:PORT`."""
    host, _, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not host or not port.isdecimal() or int(port) > MAX_PORT:
        raise _unusable(text, "HOST:PORT, such as 127.0.0.1:7780")
    return host, int(port)


def url_path(text: str) -> str:
    """Return the path of a URL."""
    if not text.startswith("/"):
        raise _unusable(text, "a path, which begins with /")
    return text


def url(text: str) -> str:
    """Return the address of a web server, without a slash at its end."""
    if text and _URL.read(text) is None:
        raise _unusable(text, "an address, such as https://gateway.example:8443")
    return text.rstrip("/")


def size(text: str) -> int:
    """Return a size above 0, in bytes."""
    value = _SIZE.read(text)
    if not isinstance(value, int) or value <= 0:
        raise _unusable(text, "a size, such as 16MiB")
    return value


def number(text: str) -> int:
    """Return a whole number from 1 up."""
    value = int(text) if text.isascii() and text.isdigit() and len(text) <= 9 else 0  # noqa: PLR2004
    if value < 1:
        raise _unusable(text, "a number from 1 up")
    return value


def networks(text: str) -> str:
    """Return IP addresses and networks, separated by commas, as they were given."""
    for name in filter(None, map(str.strip, text.split(","))):
        try:
            ipaddress.ip_network(name)
        except ValueError:
            raise _unusable(name, "an IP address, or a network such as 10.0.0.0/24") from None
    return text


def _unusable(text: str, takes: str) -> argparse.ArgumentTypeError:
    return argparse.ArgumentTypeError(f"cannot be {text!r}: it takes {takes}")
