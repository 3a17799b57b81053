"""Modes that break what is required of methods and sessions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.process.conformance.meddling import OUT, coming, on_end, out, text_frame, update_frame

if TYPE_CHECKING:
    from tests.process.conformance.meddling import Frame, Meddler

# --- methods and ids


@out("nameless")
def _nameless(_: Meddler, frame: Frame) -> list[Frame | bytes]:
    (frame.get("result") or {}).pop("agentInfo", None)
    return [frame]


@out("null-for-unknown-method")
def _null_for_unknown_method(_: Meddler, frame: Frame) -> list[Frame | bytes]:
    if (frame.get("error") or {}).get("code") != -32601:
        return [frame]
    return [{"jsonrpc": "2.0", "id": frame["id"], "result": None}]


@coming("swallows-unknown-methods")
def _swallows_unknown_methods(_: Meddler, frame: Frame) -> bool:
    return frame.get("method") != "session/list"


on_end(
    "asks-for-files",
    lambda m, frame: [
        {
            "jsonrpc": "2.0",
            "id": "read-1",
            "method": "fs/read_text_file",
            "params": {"sessionId": m.last, "path": "/etc/hostname"},
        },
        frame,
    ],
)


@out("ids-of-32-bits")
def _ids_of_32_bits(_: Meddler, frame: Frame) -> list[Frame | bytes]:
    number = frame.get("id")
    return [frame | {"id": number % 2**32}] if isinstance(number, int) else [frame]


@out("ids-by-the-second")
def _ids_by_the_second(_: Meddler, frame: Frame) -> list[Frame | bytes]:
    if str(frame.get("id")).startswith("burst"):
        frame["result"]["sessionId"] = "session-20261122-060000"
    return [frame]


@out("content-in-a-list")
def _content_in_a_list(_: Meddler, frame: Frame) -> list[Frame | bytes]:
    update = (frame.get("params") or {}).get("update") or {}
    return [update_frame(frame["params"]["sessionId"], **{**update, "content": [update["content"]]})
            if "content" in update else frame]  # fmt: skip


# --- sessions


def _on_result(mode: str, method: str, *before: str, **members: object) -> None:
    """Text that comes before a method's result, and members that are put into it."""

    def meddle(meddler: Meddler, frame: Frame) -> list[Frame | bytes]:
        asked = dict(meddler.asked.get(frame.get("id"), {})) if "method" not in frame else {}
        if asked.get("method") != method or "result" not in frame:
            return [frame]
        frame["result"].update(members)
        texts = [text_frame(asked["params"]["sessionId"], text) for text in before]
        return [*texts, frame]

    OUT[mode] = meddle


_on_result("lists-as-object", "session/list", sessions={})
_on_result("replays-on-resume", "session/resume", "Hello.")


@out("loads-without-replay")
def _loads_without_replay(meddler: Meddler, frame: Frame) -> list[Frame | bytes]:
    loading = any(asked["method"] == "session/load" for asked in meddler.asked.values())
    prompting = any(asked["method"] == "session/prompt" for asked in meddler.asked.values())
    return [] if "method" in frame and loading and not prompting else [frame]


@coming("forgets-on-close")
def _forgets_on_close(meddler: Meddler, frame: Frame) -> bool:
    if frame.get("method") != "session/close":
        return True
    meddler.say({"jsonrpc": "2.0", "id": frame["id"], "result": {}})
    return False
