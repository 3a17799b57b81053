"""lastword setup, piece by piece."""

from __future__ import annotations

import json
from typing import Any

from lastword.cli.setup.settings import JsonText


def as_json(plain: Any) -> Any:
    """Return a value of `JsonText` as `json` reads it."""
    if isinstance(plain, dict):
        return {key: as_json(value) for key, value in plain.items()}
    if isinstance(plain, list):
        return [as_json(value) for value in plain]
    return json.loads(plain[0]) if isinstance(plain, tuple) else plain


def meaning(text: str) -> Any:
    """Return what a settings file has, as `json` reads it."""
    root = JsonText(text).root
    assert root is not None
    return as_json(root.plain)
