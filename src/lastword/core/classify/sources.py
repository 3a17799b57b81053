"""The provider that failed, and its request id, if the evidence states them plainly."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lastword.core.classify.evidence import Evidence

_MODULES = {
    "anthropic": "anthropic",
    "botocore": "bedrock",
    "cerebras": "cerebras",
    "cohere": "cohere",
    "dashscope": "dashscope",
    "google": "google",
    "groq": "groq",
    "mistralai": "mistral",
    "ollama": "ollama",
    "together": "together",
}
"""First component of an exception's module; `openai` is left out, as every gateway speaks it."""

_TEXT_SIGNS = (
    ("openrouter", "openrouter"),
    ("generativelanguage.googleapis.com", "google"),
    ("cloudcode-pa.googleapis.com", "google"),
    ("ai.google.dev", "google"),
    ("vertex", "vertex"),
    ("azure", "azure"),
    ("bedrock", "bedrock"),
    ("console.groq.com", "groq"),
    ("platform.openai.com", "openai"),
    ("api.openai.com", "openai"),
    ("chatgpt.com", "openai"),
    ("api.anthropic.com", "anthropic"),
    ("docs.anthropic.com", "anthropic"),
    ("docs.claude.com", "anthropic"),
    ("api.mistral.ai", "mistral"),
    ("api.deepseek.com", "deepseek"),
    ("console.x.ai", "xai"),
    ("ollama", "ollama"),
)
_ID_HEADERS = (
    "request-id",
    "x-request-id",
    "x-amzn-requestid",
    "apim-request-id",
    "x-goog-request-id",
)
_ID_FIELDS = ("requestid", "awsrequestid")
_MAX_NAME = 64
_MAX_ID = 128


def read_source(evidence: Evidence) -> str | None:
    """Return the provider's name, in lower case."""
    stated = evidence.fields.get("providername")
    if isinstance(stated, str) and stated.strip() and len(stated) <= _MAX_NAME:
        return stated.strip().lower()
    for module in evidence.modules:
        name = _MODULES.get(module.partition(".")[0])
        if name is not None:
            return name
    if any(name.startswith("anthropic-ratelimit-") for name in evidence.headers):
        return "anthropic"
    return next((name for sign, name in _TEXT_SIGNS if sign in evidence.folded), None)


def read_request_id(evidence: Evidence) -> str | None:
    """Return the provider's id of the failed request, for its support staff."""
    for name in _ID_HEADERS:
        if evidence.headers.get(name):
            return evidence.headers[name][:_MAX_ID]
    for key in _ID_FIELDS:
        stated = evidence.fields.get(key)
        if isinstance(stated, str) and stated:
            return stated[:_MAX_ID]
    return None
