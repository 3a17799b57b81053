"""Lag: a viewer that falls far behind is told so while it does, if it shows notices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.kit.gateway.viewing import ViewerClient
from tests.process.gateway.test_recorded import FLOODS, kinds, until

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.kit.gateway.serving import Gateway

NOTICES: dict[str, Any] = {"session": {"notices": {}}}


def test_a_viewer_that_lags_is_told_by_a_notice_before_it_has_caught_up(
    serve: Callable[..., Gateway],
) -> None:
    gateway = serve(FLOODS, "--log-limit", "8MiB")
    with ViewerClient(gateway, capabilities=NOTICES, receive_bytes=64 * 1024) as viewer:
        session = viewer.new(gateway.root)
        prompt = viewer.prompt(session)
        until("it lags", lambda: "viewer_lags" in kinds(gateway, session))
        viewer.answer(prompt)
        told, *more = viewer.updates("notice")
        assert 1 + len(more) == kinds(gateway, session).count("viewer_lags")
        assert told["severity"] == "info"
        assert "None is lost." in told["title"]
        frames = viewer.frames
        at = next(index for index, frame in enumerate(frames) if "None is lost." in str(frame))
        assert at < len(frames) - 2
