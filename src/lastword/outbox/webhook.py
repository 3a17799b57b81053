"""A webhook's headers, by which its receiver verifies the sender and detects repeats.

Owns the signature of the Standard Webhooks specification (HMAC-SHA256 over id, time and body),
for which libraries exist. The body is the same as for a collector.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac

SECRET_PREFIX = "whsec_"  # noqa: S105 - how a secret begins that is written in base64


def headers_of(report_id: str, body: bytes, secret: bytes, now_seconds: int) -> dict[str, str]:
    """Return the headers of one request; without a secret there is no signature.

    Args:
        report_id: The report's id.
        body: The body.
        secret: Shared with the receiver; may be empty.
        now_seconds: The time of day, in seconds since 1970 UTC.
    """
    headers = {"webhook-id": report_id, "webhook-timestamp": str(now_seconds)}
    if secret:
        signed = f"{report_id}.{now_seconds}.".encode() + body
        mac = hmac.new(secret, signed, hashlib.sha256).digest()
        headers["webhook-signature"] = f"v1,{base64.b64encode(mac).decode()}"
    return headers


def secret_of(text: str) -> bytes:
    """Return the secret in a text, with or without the specification's prefix."""
    text = text.strip()
    if text.startswith(SECRET_PREFIX):
        try:
            return base64.b64decode(text.removeprefix(SECRET_PREFIX), validate=True)
        except binascii.Error:
            pass
    return text.encode()
