"""JSON-RPC's own words, and those of a JSON parser: nobody's provider, and no login."""

from __future__ import annotations

from typing import Any

import pytest

from lastword.core.classify import classify, classify_rpc_error
from lastword.core.failure.taxonomy import ErrorType, Origin
from tests.kit.rows import every

PLAIN: tuple[dict[str, Any], ...] = (
    {"code": -32603, "message": "Internal error"},
    {"code": -32603, "message": "Internal error."},
    {"code": -32603, "message": "internal error", "data": {"details": "Internal error"}},
    {"code": -32603, "message": "Internal JSON-RPC error."},
    {"code": -32000, "message": "Internal error"},
    {"code": -32001, "message": "Internal error", "data": None},
)


@pytest.mark.parametrize("error", PLAIN, ids=str)
def test_the_words_of_json_rpc_name_neither_the_provider_nor_a_login(error: dict[str, Any]) -> None:
    verdict = classify_rpc_error(error)
    assert (verdict.type, verdict.origin) == (ErrorType.INTERNAL, Origin.AGENT)
    assert not verdict.retryable


def test_what_stands_beside_them_still_decides() -> None:
    limited = {"code": -32603, "message": "Internal error", "data": {"details": "429 rate limit"}}
    assert classify_rpc_error(limited).type is ErrorType.RATE_LIMIT
    login = {"code": -32000, "message": "Authentication required"}
    assert classify_rpc_error(login).type is ErrorType.AUTH
    status = {"code": -32603, "message": "Internal error", "data": {"status": 503}}
    assert classify_rpc_error(status).type is ErrorType.PROVIDER_UNAVAILABLE


@pytest.mark.parametrize(
    "text",
    [
        "key must be a string at line 1 column 2",
        "expected value at line 1 column 1",
        "trailing characters at line 1 column 12",
    ],
)
def test_what_a_parser_says_of_json_is_no_demand_for_a_login(text: str) -> None:
    for verdict in (
        classify(text),
        classify_rpc_error({"code": -32603, "message": "Internal error", "data": text}),
    ):
        assert (verdict.type, verdict.origin) == (ErrorType.PROTOCOL_ERROR, Origin.PROVIDER)
    assert classify("API key must be a string").type is ErrorType.AUTH


@every(
    ("message", "kind"),
    [
        ("terminated", "network"),
        ("Unexpected end of JSON input", "protocol_error"),
        ("Expected ',' or '}' after property value in JSON at position 512", "protocol_error"),
        ("Cannot read properties of undefined (reading 'x')", "internal"),
        ("got status: 500 INTERNAL", "provider_unavailable"),
        ("Something odd", "unknown"),
    ],
)
def test_a_500_without_data_is_a_librarys_default_and_the_words_decide(
    message: str, kind: str
) -> None:
    assert classify_rpc_error({"code": 500, "message": message}).type == kind
    verdict = classify_rpc_error({"code": 500, "message": "Odd", "data": {"statusCode": 500}})
    assert (verdict.type, verdict.http_status) == ("provider_unavailable", 500)


@every(
    ("code", "kind"),
    [
        ("provider.connection_error", "network"),
        ("provider.server_error", "provider_unavailable"),
        ("llm.unauthorized", "auth"),
        ("editor.connection_error", "internal"),
    ],
)
def test_a_code_within_the_providers_namespace_is_read_by_its_last_word(
    code: str, kind: str
) -> None:
    error = {"code": -32603, "message": "Internal error", "data": {"code": code}}
    assert classify_rpc_error(error).type == kind
