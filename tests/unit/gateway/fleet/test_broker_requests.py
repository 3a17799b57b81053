"""What becomes of a request to the fleet's servers whose task is ended, and what is not logged."""

from __future__ import annotations

import asyncio
import logging

import pytest

from lastword.gateway.fleet.broker import Broker, keep_cancellation
from lastword.gateway.settings.values import FleetSettings
from tests.kit.patience import FUSE_SECONDS, fused


@fused
async def test_a_cancellation_that_coincides_with_the_answer_is_not_lost() -> None:
    answer = asyncio.get_running_loop().create_future()

    async def ask() -> None:
        with keep_cancellation():
            await asyncio.wait_for(answer, FUSE_SECONDS)

    asking = asyncio.create_task(ask())
    await asyncio.sleep(0)
    answer.set_result(None)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking


@fused
async def test_an_ending_task_can_still_make_a_request() -> None:
    async def ask() -> str:
        try:
            await asyncio.sleep(FUSE_SECONDS)
        except asyncio.CancelledError:
            with keep_cancellation():
                await asyncio.sleep(0)
            return "asked"
        return "not ended"

    asking = asyncio.create_task(ask())
    await asyncio.sleep(0)
    asking.cancel()
    assert await asking == "asked"


def test_the_end_of_a_servers_tls_is_no_warning(caplog: pytest.LogCaptureFixture) -> None:
    Broker(FleetSettings(urls=["tls://x"]), "test")
    logger = logging.getLogger("asyncio")
    logger.warning("returning true from eof_received() has no effect when using ssl")
    logger.warning("another %s", "warning")
    assert caplog.messages == ["another warning"]
