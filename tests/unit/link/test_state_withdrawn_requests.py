"""Requests of dead agents that the client may still answer: remembered, and not for ever."""

from __future__ import annotations

from lastword.core.link.options import LinkOptions
from lastword.core.link.state import MAX_WITHDRAWN, Link, OpenRequest


def test_the_oldest_withdrawn_request_is_forgotten_beyond_the_bound() -> None:
    link = Link(LinkOptions())
    for number in range(MAX_WITHDRAWN + 1):
        request_id = str(number).encode()
        link.add_agent_request(request_id, OpenRequest("fs/read_text_file"))
        link.withdraw(request_id)
    assert len(link.withdrawn) == MAX_WITHDRAWN
    assert link.pop_withdrawn(b"0") is None
    assert link.pop_withdrawn(b"1") is not None
