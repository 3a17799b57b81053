"""What the scripted agent of these tests does, turn by turn."""

from __future__ import annotations

from typing import Any

SCRIPT: dict[str, Any] = {
    "turns": [
        [
            {"say": "Let me look at the parser. "},
            {"tool": {"title": "Read src/parser.py", "kind": "read", "status": "completed"}},
            {"tool": {"title": "Edit src/parser.py", "kind": "edit"}},
            {"ask_permission": "Edit src/parser.py"},
            {"retry": {"attempt": 2, "http": 429, "message": "slow down", "wait": 1}},
            {"fail": {"http": 529, "message": "Overloaded", "headers": {"retry-after": "2"}}},
        ],
        [{"say": "The parser works again."}, {"result": "end_turn"}],
        [{"result": "end_turn"}],
    ]
}
"""The first turn asks, is told to wait and fails; the second is the one that is tried again."""
