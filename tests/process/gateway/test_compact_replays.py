"""Compact replays, through a gateway: whose past is joined, and what of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.kit.gateway.viewing import ViewerClient

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.kit.gateway.serving import Gateway

    Serve = Callable[..., Gateway]

WORDS = [f"<{number}>" for number in range(20)]
TALKS: dict[str, Any] = {
    "turns": [
        [
            *({"say": word} for word in WORDS[:10]),
            {"tool": {"title": "Read", "kind": "read"}},
            *({"say": word} for word in WORDS[10:]),
            {"result": "end_turn"},
        ],
        [*({"say": word} for word in WORDS), {"result": "end_turn"}],
    ],
    "sessions": "resume",
}
INVALID_PARAMS = -32602


def said(viewer: ViewerClient) -> list[str]:
    return [update["content"]["text"] for update in viewer.updates("agent_message_chunk")]


def asks_for(replay: Any, **more: Any) -> dict[str, Any]:
    return {"_meta": {"lastword": {"replay": replay} | more}}


def test_a_past_is_joined_for_stock_clients_and_on_request_and_live_updates_never_are(
    serve: Serve,
) -> None:
    gateway = serve(TALKS)
    with ViewerClient(gateway, replay=True) as first, ViewerClient(gateway) as stock:
        session = first.new(gateway.root)
        first.answer(first.prompt(session))
        assert said(first) == WORDS
        joined = ["".join(WORDS[:10]), "".join(WORDS[10:])]

        assert "_meta" not in stock.load(session, gateway.root)
        wrong = {"sessionId": session, "cwd": str(gateway.root), "mcpServers": []}
        refused = stock.answer(stock.request("session/load", wrong | asks_for("short")))
        assert refused["error"]["code"] == INVALID_PARAMS
        assert said(stock) == joined
        with ViewerClient(gateway) as whole:
            whole.load(session, gateway.root, **asks_for("full"))
            assert said(whole) == WORDS
        with ViewerClient(gateway, replay=True) as numbered:
            place = numbered.load(session, gateway.root)["_meta"]["lastword"]
            assert place["replay"] == "full"
            assert said(numbered) == WORDS
        with ViewerClient(gateway, replay=True) as compact:
            compact.load(session, gateway.root, **asks_for("compact"))
            assert said(compact) == joined
            assert set(compact.seqs()) < set(first.seqs()) | set(range(99))
            middle = next(
                frame["params"]["_meta"]["lastword"]["seq"]
                for frame in first.frames
                if WORDS[4] in str(frame.get("params"))
            )
            after = {"epoch": place["epoch"], "seq": middle}
        with ViewerClient(gateway, replay=True) as rest:
            rest.load(session, gateway.root, **asks_for("compact", after=after))
            assert said(rest) == ["".join(WORDS[5:10]), joined[1]]

        first.answer(first.prompt(session))
        stock.find(lambda _: len(said(stock)) == len(joined + WORDS))
        assert said(stock) == joined + WORDS
