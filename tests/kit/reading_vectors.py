"""The vectors for readers, in `protocol/reading/vectors.json`."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from tests.kit.places import PROTOCOL
from tests.kit.vector_format import Matching

FOLDER = PROTOCOL / "reading"


@cache
def document() -> dict[str, list[dict[str, Any]]]:
    read: dict[str, list[dict[str, Any]]] = json.loads((FOLDER / "vectors.json").read_text())
    return read


def expect_error(vector: dict[str, Any], error: dict[str, Any] | None) -> None:
    """Raise `MismatchError` unless a reader made this of what the vector gave it."""
    Matching().match(vector["error"], error, vector["id"])


def expect_view(vector: dict[str, Any], view: dict[str, Any]) -> None:
    """Raise `MismatchError` unless this is what the vector has shown."""
    Matching().match(vector["view"], view, vector["id"])
