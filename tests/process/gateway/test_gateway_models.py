"""A gateway with `--fallback-model`: every viewer sees the model that is in force."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.kit.gateway.viewing import TYPED, ViewerClient

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.kit.gateway.serving import Gateway

    Serve = Callable[..., Gateway]

LIMITED: dict[str, Any] = {"fail": {"http": 429, "message": "Rate limited"}}
SCENARIO = {
    "turns": [[LIMITED], [{"say": "Done."}, {"result": "end_turn"}]],
    "models": {"big": "switch", "small": "switch"},
}


def model_in(members: dict[str, Any]) -> str:
    (option,) = members["configOptions"]
    return str(option["currentValue"])


def test_a_turn_continues_with_another_model_before_all_viewers_including_later_ones(
    serve: Serve,
) -> None:
    gateway = serve(SCENARIO, "--fallback-model", "small", "--fallback-stays")
    with ViewerClient(gateway, capabilities=TYPED) as first, ViewerClient(gateway) as second:
        session = first.new(gateway.root)
        second.load(session, gateway.root)
        answer = first.answer(first.prompt(session, "hello"))
        assert answer["result"]["stopReason"] == "end_turn"
        (retry,) = first.updates("agent_retry")
        assert "Going on with the model small." in retry["error"]["message"]
        second.find(lambda frame: "config_option_update" in str(frame))
        for viewer in (first, second):
            assert [model_in(each) for each in viewer.updates("config_option_update")] == ["small"]
        with ViewerClient(gateway) as third:
            loaded = third.load(session, gateway.root)
            assert model_in(loaded) == "small"
