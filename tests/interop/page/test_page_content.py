"""What an agent says and does, in Chromium: Markdown, code, diffs, plans and pictures."""

from __future__ import annotations

import base64
import json
import re
import struct
import zlib
from datetime import datetime
from typing import TYPE_CHECKING, Any

from tests.interop.page.test_page import holds_for_all, new_session
from tests.kit.gateway.api import ApiClient
from tests.kit.gateway.serving import Gateway, agent, until
from tests.kit.gateway.viewing import TYPED, ViewerClient
from tests.kit.patience import FUSE_SECONDS

if TYPE_CHECKING:
    from pathlib import Path

    from tests.interop.page.browser import Browser, Serve

LOADED = "() => performance.getEntriesByType('resource').map((one) => new URL(one.name).pathname)"
LIBRARY = "/page/markdown-it.js"
TEXT = """\
# What I found in `parser.py`

The parser **drops** the last line when a file has no `\\n` at its end, see
[the notes](https://example.com/notes) and `read_line()`.

1. Read the whole buffer.
2. Keep what is left:
   - as bytes
   - *not* as text

> It was always so.

| file | lines |
|:--|--:|
| parser.py | 210 |
| lexer.py | 98 |

```python
def read_line(self) -> bytes:
    return self.rest or b""
```

---

That is all.
"""
DIFF = {
    "type": "diff",
    "path": "/home/user/src/parser.py",
    "oldText": "".join(f"line {number}\n" for number in range(40)),
    "newText": "".join(
        f"line {number}\n" if number != 20 else "a new line\nand another\n" for number in range(40)
    ),
}


def png(width: int = 60, height: int = 40, *, claims: int = 0) -> str:
    """A picture of one colour, as base64; `claims` is a width that it only says it has."""

    def chunk(name: bytes, data: bytes) -> bytes:
        checked = zlib.crc32(name + data)
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", checked)

    rows = b"".join(b"\x00" + b"\x33\x66\x99" * width for _ in range(height))
    head = struct.pack(">IIBBBBB", claims or width, claims or height, 8, 2, 0, 0, 0)
    data = chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    return base64.b64encode(b"\x89PNG\r\n\x1a\n" + data).decode()


def picture(data: str, kind: str = "image/png") -> dict[str, Any]:
    return {"type": "image", "mimeType": kind, "data": data}


def said(content: dict[str, Any]) -> dict[str, Any]:
    return {"update": {"sessionUpdate": "agent_message_chunk", "content": content}}


def tool(call: str, content: list[dict[str, Any]]) -> dict[str, Any]:
    about = {"toolCallId": call, "title": "Edit parser.py", "kind": "edit", "status": "completed"}
    return {"update": {"sessionUpdate": "tool_call", **about, "content": content}}


PLAN = {
    "update": {
        "sessionUpdate": "plan",
        "entries": [
            {"content": "Read the parser", "status": "completed", "priority": "medium"},
            {"content": "Mend it", "status": "in_progress", "priority": "high"},
            {"content": "Run the tests", "status": "pending", "priority": "low"},
        ],
    }
}


def chunks(text: str, size: int = 7) -> list[dict[str, Any]]:
    return [{"say": text[start : start + size]} for start in range(0, len(text), size)]


def serving(serve: Serve, folder: Path, *turns: list[dict[str, Any]]) -> Gateway:
    file = folder / "script.json"
    file.write_text(json.dumps({"turns": list(turns)}), encoding="utf-8")
    return serve(folder, agent(str(file)))


def test_words_code_a_diff_a_plan_and_a_picture_are_shown_in_their_forms(
    browser: Browser, tmp_path: Path, serve: Serve
) -> None:
    steps = [
        *chunks(TEXT),
        PLAN,
        tool("one", [DIFF, {"type": "content", "content": picture(png(300, 20))}]),
        said(picture(png())),
        said(picture(png(), "image/svg+xml")),
        said(picture("bm90IGEgcGljdHVyZQ==")),
        said(picture(png(claims=20_000))),
        {"say": "Done."},
        {"result": "end_turn"},
    ]
    gateway = serving(serve, tmp_path, [{"say": "Plain words."}, {"result": "end_turn"}], steps)
    tab = browser.tab()
    session = new_session(gateway)
    with tab.without_errors():
        tab.session(gateway, session)
        tab.say("Say something plain")
        tab.see("Plain words.")
        assert LIBRARY not in tab.do("evaluate", LOADED)
        tab.say("Mend the parser")
        tab.see("Done.")
        until("its library has come", lambda: tab.do("evaluate", LOADED).count(LIBRARY) == 1)
        for selector, count in {
            ".rich strong": 1,
            ".rich em": 1,
            ".rich table": 1,
            ".rich blockquote": 1,
            ".rich ol > li": 2,
            ".rich ul > li": 2,
            ".rich p.heading": 1,
            ".rich hr": 1,
            ".rich .code": 1,
            ".picture img": 1,
            ".plan li": 3,
        }.items():
            tab.do("until", f"() => document.querySelectorAll({selector!r}).length === {count}")
        link = "() => { const a = document.querySelector('.rich a');"
        link += " return [a.getAttribute('href'), a.rel, a.target]; }"
        assert tab.do("evaluate", link) == [
            *("https://example.com/notes", "noopener noreferrer", "_blank"),
        ]
        display = "() => getComputedStyle(document.querySelector('.rich p.heading')).display"
        assert tab.do("evaluate", display) == "block"  # its parts stay together
        assert 'return self.rest or b""' in tab.do("text", ".rich .code .text")
        assert "python" in tab.do("text", ".rich .code .label")
        shown = tab.do("text", ".transcript")
        assert shown.count("A picture that is not shown") == 3
        assert {"Mend it under way, of high priority", "Read the parser done"} <= {
            line.removeprefix("✓").removeprefix("…").strip() for line in shown.splitlines()
        }
        tab.do("evaluate", "() => document.querySelector('.tool summary').click()")
        tab.see("2 lines added, 1 removed")
        assert tab.do("count", ".diff ins") == 2
        assert tab.do("count", ".diff del") == 1
        assert tab.do("text", ".diff del") == "line 20"
        assert tab.do("count", ".diff .line") == 2 + 1 + 6 + 2  # with three lines around
        sources = "() => [...document.images].map((one) => one.src.split(':', 1)[0])"
        tab.do("until", "() => document.images.length === 2")
        assert set(tab.do("evaluate", sources)) == {"blob"}
        holds_for_all(tab, "content")
        tab.do("reload")
        tab.see("Done.")
        tab.do("until", "() => document.querySelectorAll('.rich table').length === 1")


HOSTILE = [
    "<script>window.hacked = 1</script>\n\n<img src=x onerror='window.hacked = 2'>\n\n",
    "[one](javascript:window.hacked=3) [two](JaVaScRiPt:window.hacked=4)\n",
    "[three](data:text/html,<script>1</script>) [four](vbscript:x) [five](file:///etc/passwd)\n",
    "[six](/v1/sessions) [seven](//evil.invalid/x) <javascript:window.hacked=5>\n\n",
    "![pixel](https://evil.invalid/pixel.png) ![inline](data:image/svg+xml,<svg onload=1>)\n\n",
    '[eight](https://evil.invalid/"onmouseover="window.hacked=6 "t")\n\n',
    "<a href='javascript:1' onclick='window.hacked = 7'>nine</a>\n\n",
    "<style>*{display:none}</style>\n\n",
    "```html\n<script>window.hacked = 8</script>\n```\n\n",
    "&lt;script&gt;window.hacked = 9&lt;/script&gt; &#106;avascript:\n\n",
    "[ten]: javascript:window.hacked=10\n\n[ten] [ten][] ![ten]\n\n",
]


def in_turn(times: int, one: str, other: str) -> dict[str, Any]:
    """Return a step that says both again and again; one piece alone would be an agent's loop."""
    return {"repeat": {"times": times, "steps": [{"say": one}, {"say": other}]}}


HEAVY: dict[str, str | list[dict[str, Any]]] = {
    "a table": "|a|b|\n|-|-|\n" + "|x|y|\n" * 20_000,
    "code": [
        {"say": "```\n"},
        in_turn(35, "a line of code\n" * 1000, "another line of code\n" * 1000),
        {"say": "```\n"},
    ],
    "quotes": ">" * 100_000 + " deep\n",
    "brackets": "[" * 60_000 + "](x)",
    "one line": [in_turn(50, "*word* " * 2000, "*other* " * 2000)],
}


def test_an_agents_words_never_become_a_script_markup_or_a_request(
    browser: Browser, tmp_path: Path, serve: Serve
) -> None:
    gateway = serving(
        serve,
        tmp_path,
        [*({"say": text} for text in HOSTILE), {"say": "The end."}, {"result": "end_turn"}],
    )
    tab = browser.tab()
    with ViewerClient(gateway, capabilities=TYPED) as viewer:
        session = viewer.new(gateway.root)
        viewer.answer(viewer.prompt(session))
    with tab.without_errors():
        tab.session(gateway, session)
        tab.see("The end.")
        tab.do("wait", ".rich .code")
        assert tab.do("evaluate", "() => window.hacked ?? null") is None
        inside = ".transcript :is(script, style, iframe, object, embed, svg, img, form, base)"
        assert tab.do("count", inside) == 0
        handlers = "() => [...document.querySelectorAll('.transcript *')].flatMap((one) =>"
        handlers += " [...one.attributes].map((each) => each.name)).filter((name) =>"
        handlers += " name.startsWith('on') || name === 'style' || name === 'src')"
        assert tab.do("evaluate", handlers) == []
        links = "() => [...document.querySelectorAll('.rich a')].map((one) => one.protocol)"
        assert set(tab.do("evaluate", links)) == {"https:"}
        assert not [name for name in tab.do("evaluate", LOADED) if "pixel" in name]
        shown = tab.do("text", ".transcript")
        assert "<script>window.hacked = 1</script>" in shown
        assert "Picture: pixel" in shown
        over = "() => { for (const one of document.querySelectorAll('.rich *'))"
        over += " one.dispatchEvent(new MouseEvent('mouseover', { bubbles: true })); }"
        tab.do("evaluate", over)
        assert tab.do("evaluate", "() => window.hacked ?? null") is None
        assert tab.do("axe") == []
        tab.shot("hostile-markdown")


def test_the_page_keeps_working_with_heavy_markdown(
    browser: Browser, tmp_path: Path, serve: Serve
) -> None:
    turns = [
        [
            *([{"say": said}] if isinstance(said, str) else said),
            {"tool": {"title": f"After {name}"}},
            {"result": "end_turn"},
        ]
        for name, said in HEAVY.items()
    ]
    gateway = serving(serve, tmp_path, *turns)
    tab = browser.tab()
    session = new_session(gateway)
    tab.session(gateway, session)
    watch = "() => { window.longest = 0; new PerformanceObserver((list) => { for (const one of"
    watch += " list.getEntries()) window.longest = Math.max(window.longest, one.duration); })"
    watch += ".observe({ type: 'longtask' }); }"
    tab.do("wait", "button[type=submit]:enabled")
    tab.do("evaluate", watch)
    took = {}
    for name in HEAVY:
        tab.do("evaluate", "() => { window.longest = 0; }")
        tab.say(name)
        tab.see(f"After {name}")
        tab.do("wait", "button[type=submit]:enabled")
        tab.do("evaluate", "() => new Promise((go) => setTimeout(go, 400))")
        took[name] = round(tab.do("evaluate", "() => window.longest"))
    print("longest task, ms:", took)
    assert max(took.values()) < FUSE_SECONDS * 1000, took
    assert tab.do("evaluate", "() => document.querySelectorAll('*').length") < 60_000
    text = tab.do("evaluate", "() => document.querySelector('.transcript').textContent")
    for mark in ("deep", "a line of code", "word"):
        assert mark in text
    assert tab.do("errors") == []


def test_a_past_turn_shows_its_times_and_who_answered_its_question(
    browser: Browser, tmp_path: Path, serve: Serve
) -> None:
    limit = {"http": 429, "message": "slow down", "headers": {"retry-after": "20"}}
    turn = [{"say": "Hm. "}, {"ask_permission": "Edit src/parser.py"}, {"fail": limit}]
    gateway = serving(serve, tmp_path, turn)
    tab = browser.tab()
    with ViewerClient(gateway, capabilities=TYPED) as viewer:
        session = viewer.new(gateway.root)
        prompt = viewer.prompt(session)
        question = viewer.question()
        outcome = {"outcome": "selected", "optionId": question["params"]["options"][0]["optionId"]}
        viewer.send({"id": question["id"], "result": {"outcome": outcome}})
        viewer.answer(prompt)
    tab.do("clock")
    tab.do("forward", 3_600_000)
    tab.session(gateway, session)
    tab.see("Answered in a test: Allow (Edit src/parser.py).")
    failed = ApiClient(gateway).json(f"/v1/sessions/{session}")["session"]["last_failure"]
    now = tab.do("evaluate", "() => Date.now()")
    assert now - failed["at_epoch_ms"] > 3_000_000
    times = "() => [...document.querySelectorAll('main time')].map((each) => each.dateTime)"
    shown = tab.do("evaluate", times)
    assert len(shown) == 3
    assert all(abs(parsed(each) - failed["at_epoch_ms"]) < 60_000 for each in shown), shown
    assert re.search(r"\(20 s after [\d: -]+\)\.$", tab.do("text", ".card.failure .sentence"))


def parsed(moment: str) -> float:
    return datetime.fromisoformat(moment).timestamp() * 1000


def test_a_card_counts_down_one_wait(browser: Browser, tmp_path: Path, serve: Serve) -> None:
    limit = {"http": 429, "message": "slow down", "headers": {"retry-after": "660"}}
    gateway = serving(serve, tmp_path, [{"fail": limit}])
    tab = browser.tab()
    session = new_session(gateway)
    tab.do("clock")
    tab.session(gateway, session)
    tab.say("Go")
    tab.see("Rate limited")
    seen = []  # below two minutes it runs by the second
    for _ in range(3):
        card = tab.do("text", ".card.failure")
        waits = re.findall(r"\d+ (?:s|min|minutes?|seconds?)\b", card)
        assert len(waits) == 1, card
        seen.append(waits[0])
        tab.do("forward", 240_000)
    assert seen == ["11 min", "7 min", "3 min"]
    tab.do("until", "() => !/\\d+ min/.test(document.querySelector('.card.failure').innerText)")
    sentence = tab.do("text", ".card.failure .sentence")
    assert re.search(r"Try again \(at \d\d:\d\d\)\.$", sentence), sentence
    tab.see("Try again")


def test_the_list_says_when_a_session_failed_and_whether_it_is_over(
    browser: Browser, tmp_path: Path, serve: Serve
) -> None:
    limit = {"http": 429, "message": "slow down"}
    gateway = serving(
        serve, tmp_path, [{"fail": limit}], [{"say": "Well."}, {"result": "end_turn"}]
    )
    tab = browser.tab()
    with ViewerClient(gateway, capabilities=TYPED) as viewer:
        failed, mended, ended = (viewer.new(gateway.root) for _ in range(3))
        for session in (failed, mended, mended, ended):
            viewer.answer(viewer.prompt(session))
        viewer.request("session/close", {"sessionId": ended})
        with tab.without_errors():
            tab.log_in(gateway)
            tab.do("wait", "li[data-state=ended]")
            rows = {
                session: tab.do("text", f"li.card:has(a[href='#/session/{session}/log'])")
                for session in (failed, mended, ended)
            }
    failure = (
        r"Rate limited at \d\d:\d\d\. The model provider is limiting requests\..* What happened"
    )
    assert re.search(rf"Last turn failed\s+{failure}", rows[failed])
    assert re.search(rf"Ready\s+Recovered from: {failure}", rows[mended])
    assert re.search(rf"Ended\s+Its last turn failed: {failure}", rows[ended])
    holds_for_all(tab, "sessions-failed")
