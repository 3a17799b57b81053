"""Tools for testing an agent: take a turn, and look at what a client received.

```python
def test_a_rate_limit_is_told_with_its_wait():
    turn = asyncio.run(take_turn(MyAgent(), "Hi"))
    assert turn.outcome == "failed"
    assert turn.error.type == "rate_limit"
    assert [retry.wait_seconds for retry in turn.retries] == [20]
```

`take_turn` takes one turn and `open_session` several; both run the agent in the process of the
test, behind the same core that serves a real client, with no socket and no further process. Waits
between retries are skipped, and reported in full (`without_waits`). `capture_timeline` collects the
turns of your own connection.
"""

from lastword.client.reading import RetryNotice
from lastword.core.timeline.entry import Entry, Kind
from lastword.core.timeline.summary import Outcome, Summary
from lastword.testing.session import AgentSession, open_session, take_turn, without_waits
from lastword.testing.timeline import CapturedTurn, Timeline, ToolCall, TurnResult, capture_timeline

__all__ = [
    "AgentSession",
    "CapturedTurn",
    "Entry",
    "Kind",
    "Outcome",
    "RetryNotice",
    "Summary",
    "Timeline",
    "ToolCall",
    "TurnResult",
    "capture_timeline",
    "open_session",
    "take_turn",
    "without_waits",
]
