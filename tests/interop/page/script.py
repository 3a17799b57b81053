"""What the scripted agent of these tests does, turn by turn, and what nobody should be hurt by."""

from __future__ import annotations

from typing import Any

HOSTILE = (
    "<img src=x onerror='document.title=1'><script>document.title='hacked'</script>"
    "<a href='javascript:alert(1)'>a</a> \u202eevil\u202c \U0001f468\u200d\U0001f469\u200d\U0001f467"
    " &amp; {{7*7}} \x07\x1b[31m"
)

SCRIPT: dict[str, Any] = {
    "turns": [
        [
            {"say": "Let me look at the parser. "},
            {"tool": {"title": "Read src/parser.py", "kind": "read", "status": "completed"}},
            {"tool": {"title": "Edit src/parser.py", "kind": "edit"}},
            {"ask_permission": "Edit src/parser.py"},
            {"retry": {"attempt": 2, "http": 429, "message": "slow down", "wait": 1}},
            {"wait": 0.7},
            {"fail": {"http": 529, "message": "Overloaded", "headers": {"retry-after": "2"}}},
        ],
        [{"say": "The parser works again."}, {"result": "end_turn"}],
        [{"result": "end_turn"}],
    ]
}
"""The first turn asks, is told to wait and fails; the second is the one that is tried again."""


def many_tools(count: int, title_chars: int, text_chars: int) -> dict[str, Any]:
    """Turns in which an agent says what could hurt a page, and a great deal of it."""
    tool = {
        "sessionUpdate": "tool_call",
        "status": "completed",
        "kind": "read",
        "rawInput": {"path": HOSTILE},
    }
    long_title = {**tool, "toolCallId": "long", "title": "t" * title_chars}
    tools = [
        {"update": {**tool, "toolCallId": f"c{number}", "title": f"Read {number} {HOSTILE}"}}
        for number in range(count)
    ]
    info = {"sessionUpdate": "session_info_update", "title": HOSTILE + "x" * title_chars}
    said = [{"say": HOSTILE}, {"update": info}, {"update": long_title}]
    long_text = [{"say": "l" * text_chars}, {"think": HOSTILE}, {"say": "That was all."}]
    return {"turns": [[*tools, *said, *long_text, {"result": "end_turn"}]]}
