"""Made-up secrets and personal data, in the shapes of the real ones, for every test of redaction.

Each is put together here, so that no scanner takes this file for a leak.
"""

from __future__ import annotations


def fake(length: int, alphabet: str = "a7Kq2Zx9Wm4Rt6Yb1Nc8") -> str:
    """So many characters of a made-up secret."""
    return (alphabet * (length // len(alphabet) + 1))[:length]


HEX = "0f3a9c4e7b"
UPPER = "Q7ZK2XW9MR4TY6BN"

CANARIES = {
    "openai": "sk-" + fake(48),
    "openai project": "sk-" + "proj-" + fake(60),
    "openai service account": "sk-" + "svcacct-" + fake(40),
    "anthropic": "sk-" + "ant-api03-" + fake(80) + "-" + fake(6) + "AA",
    "openrouter": "sk-" + "or-v1-" + fake(64, HEX),
    "langfuse": "pk-" + "lf-" + fake(30),
    "stripe": "sk_" + "live_" + fake(24),
    "google": "AI" + "za" + fake(35),
    "google oauth": "ya" + "29." + fake(60),
    "aws access key": "AK" + "IA" + fake(16, UPPER),
    "aws session key": "AS" + "IA" + fake(16, UPPER),
    "github": "gh" + "p_" + fake(36),
    "github fine-grained": "github" + "_pat_" + fake(22) + "_" + fake(59),
    "gitlab": "gl" + "pat-" + fake(20),
    "slack": "xo" + "xb-" + fake(11, "0123456789") + "-" + fake(24),
    "hugging face": "h" + "f_" + fake(34),
    "groq": "gs" + "k_" + fake(52),
    "replicate": "r" + "8_" + fake(37),
    "xai": "xa" + "i-" + fake(80),
    "perplexity": "pp" + "lx-" + fake(48),
    "nvidia": "nv" + "api-" + fake(64),
    "npm": "np" + "m_" + fake(36),
    "jwt": "ey" + "J" + fake(20) + "." + "ey" + "J" + fake(40) + "." + fake(43),
    "age": "AGE-SECRET-" + "KEY-1" + fake(58, UPPER),
    "organisation": "org" + "-" + fake(24),
    "e-mail": "jane.doe+work" + "@" + "mail.example.org",
}
"""Shapes that give themselves away, wherever they stand."""

PLAIN = "plainsecretvalue" + "99x"
"""A secret of no known shape: only what stands before it can give it away."""

NAMED_CANARIES = {
    "bearer header": f"Authorization: Bearer {PLAIN}",
    "key header": f"x-api-key: {PLAIN}",
    "cookie": f"Set-Cookie: session={PLAIN}; Path=/",
    "basic auth in a url": f"https://user:{PLAIN}@host.example/path",
    "key in a url": f"https://host.example/v1?key={PLAIN}",
    "signature in a url": f"https://host.example/blob?sv=1&sig={PLAIN}",
    "environment variable": f"ANTHROPIC_API_KEY={PLAIN}",
    "option": f"agent --api-key {PLAIN}",
    "password": f"password: {PLAIN}",
    "aws secret": f"aws_secret_access_key = {PLAIN}",
    "account key": f"AccountName=x;AccountKey={PLAIN};EndpointSuffix=y",
    "token": f"token: {PLAIN}",
    "assignment": f"secret := {PLAIN}",
    "element": f"<password>{PLAIN}</password>",
    "slack webhook": f"https://hooks.slack.com/services/T01AB2CD3/B01AB2CD3/{PLAIN}",
    "discord webhook": f"https://discord.com/api/webhooks/123456789012345678/{PLAIN}",
    "private key": f"-----BEGIN RSA PRIVATE KEY-----\n{PLAIN}\n-----END RSA PRIVATE KEY-----",
    "home directory": f"/home/{PLAIN}/src/app.py",
}
"""The secret `PLAIN` as texts carry it."""
