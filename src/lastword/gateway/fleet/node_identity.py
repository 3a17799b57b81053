"""The identity of a fleet's listener: its certificate, and the proof that it has the fleet's key.

Owns what both ends of a connection between nodes check. A listener's certificate is
made as it starts, and its record, which only a node can write, has the fingerprint: so a node
knows what it connects to, and nothing can stand between the two. Then each end shows, by a
code over the other's random bytes, that it has the fleet's key. The code is also over the
fingerprint, and names the end: it is of no use in another connection, nor at another listener,
nor sent back.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import hmac
import os
import secrets
import ssl
import tempfile

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
)
from cryptography.x509.oid import NameOID

NONCE_BYTES = 32
CODE_BYTES = 32

DIALER, LISTENER = b"dialer", b"listener"
"""The two ends: the one that connects, and the one that accepts."""

_PROTOCOL = b"lastword node link 1"
_VALID = dt.timedelta(days=3650)
"""Nobody reads a certificate's dates: it ends with its process."""


def fingerprint_of(certificate: bytes) -> str:
    """Return the SHA-256 of a certificate in DER, as hex digits."""
    return hashlib.sha256(certificate).hexdigest()


def code(key: bytes, end: bytes, own: bytes, other: bytes, fingerprint: str) -> bytes:
    """Return the code by which one end shows that it has the key.

    Args:
        key: The fleet's key for connections between nodes.
        end: Whose code it is.
        own: The random bytes of that end.
        other: The random bytes of the other end.
        fingerprint: That of the certificate of the end that accepts.
    """
    signed = b"\0".join((_PROTOCOL, end, own.hex().encode(), other.hex().encode()))
    return hmac.digest(key, signed + b"\0" + fingerprint.encode(), "sha256")


def is_code(received: bytes, expected: bytes) -> bool:
    """Return whether a code is the expected one, in the same time for any."""
    return hmac.compare_digest(received, expected)


def listening_context() -> tuple[ssl.SSLContext, str]:
    """Return the TLS of a process that accepts connections, and its certificate's fingerprint."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "lastword")])
    now = dt.datetime.now(dt.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _VALID)
        .not_valid_after(now + _VALID)
        .sign(key, hashes.SHA256())
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.num_tickets = 0  # no session is resumed: its certificate would not be seen
    # OpenSSL reads keys from files alone: this one is of no use without the password.
    password = secrets.token_hex(32)
    private = key.private_bytes(
        Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(password.encode())
    )
    number, path = tempfile.mkstemp(prefix="lastword-")
    try:
        with open(number, "wb") as file:
            file.write(private + certificate.public_bytes(Encoding.PEM))
        context.load_cert_chain(path, password=password)
    finally:
        os.unlink(path)
    return context, fingerprint_of(certificate.public_bytes(Encoding.DER))


def dialing_context() -> ssl.SSLContext:
    """Return the TLS of a process that connects; who is at the other end it checks itself."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context
