"""A push service on loopback: takes messages as RFC 8030, 8291 and 8292 have them, and no others.

Owns a browser's side of a subscription, too: its keys, by which a message is decrypted.
"""

from __future__ import annotations

import base64
import json
import os
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple, Self

import http_ece
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from py_vapid import Vapid02

MAX_BODY_BYTES = 4096


def base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class PushBrowser:
    def __init__(self, service: PushService, name: str) -> None:
        self.endpoint = f"{service.place}/push/{name}"
        self._private = ec.generate_private_key(ec.SECP256R1())
        self._auth = os.urandom(16)

    @property
    def request(self) -> dict[str, Any]:
        point = self._private.public_key().public_bytes(
            Encoding.X962, PublicFormat.UncompressedPoint
        )
        keys = {"p256dh": base64url(point), "auth": base64url(self._auth)}
        return {"endpoint": self.endpoint, "keys": keys}

    def decrypted(self, body: bytes) -> Any:
        plain = http_ece.decrypt(
            body, private_key=self._private, auth_secret=self._auth, version="aes128gcm"
        )
        return json.loads(plain)


class PushMessage(NamedTuple):
    path: str
    headers: dict[str, str]
    body: bytes


class PushService:
    def __init__(self) -> None:
        self.messages: list[PushMessage] = []
        self.refusals: list[str] = []
        self.statuses: list[int] = []
        """What the next requests are answered, in place of being looked at."""
        service = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length", "0")))
                headers = {name.lower(): value for name, value in self.headers.items()}
                status = service.take(self.path, headers, body)
                self.send_response(status)
                self.send_header("location", f"{service.place}/message/1")
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.place = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def take(self, path: str, headers: dict[str, str], body: bytes) -> int:
        if self.statuses:
            return self.statuses.pop(0)
        wrong = self._wrong(headers, body)
        if wrong:
            self.refusals.append(wrong)
            return 400
        self.messages.append(PushMessage(path, headers, body))
        return 201

    def _wrong(self, headers: dict[str, str], body: bytes) -> str:
        if not headers.get("ttl", "").isdigit():
            return "TTL is missing (RFC 8030, 5.2)"
        if headers.get("urgency") not in {"very-low", "low", "normal", "high"}:
            return "Urgency is none (RFC 8030, 5.3)"
        if len(headers.get("topic", "")) > 32:
            return "Topic is too long (RFC 8030, 5.4)"
        if headers.get("content-encoding") != "aes128gcm" or len(body) > MAX_BODY_BYTES:
            return "not a message of RFC 8291"
        scheme, _, rest = headers.get("authorization", "").partition(" ")
        parts = dict(part.split("=", 1) for part in rest.split(","))
        if scheme != "vapid" or not Vapid02.verify(f"vapid {rest}"):
            return "not signed (RFC 8292)"
        claims = json.loads(base64.urlsafe_b64decode(parts["t"].split(".")[1] + "=="))
        return "" if claims["aud"] == self.place else "signed for another service"

    def key_of(self, message: PushMessage) -> str:
        parts = message.headers["authorization"].removeprefix("vapid ").split(",")
        return dict(part.split("=", 1) for part in parts)["k"]
