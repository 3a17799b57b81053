"""lastword setup, piece by piece."""

from __future__ import annotations

import json
from typing import Any


def as_json(plain: Any) -> Any:
    """Return a value of `JsonText` as `json` reads it."""
    if isinstance(plain, dict):
        return {key: as_json(value) for key, value in plain.items()}
    if isinstance(plain, list):
        return [as_json(value) for value in plain]
    return json.loads(plain[0]) if isinstance(plain, tuple) else plain
