"""A turn that somebody wanted to end: who that was, and what it left behind.

Owns what is said of a turn that has no failure to be told of: cancelled, or left open. A failure's
own sentences are `core.summary`'s.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lastword.core.taxonomy import RetrySafety
from lastword.core.timeline import By

if TYPE_CHECKING:
    from lastword.core.story import Story

_NO_FAILURE = "No failure is recorded."
_NOT_SEEN = (
    "No fault of the agent's or the model provider's is recorded; whether the client was closed "
    "or crashed is not seen from here."
)
LOOK_FIRST = "Look at what has been done before you send the prompt again."
OPEN_AGAIN = "Open the session again to go on."
OPEN_AND_LOOK = "Open the session again and look at what has been done."


def cancelled(story: Story, after: str) -> str:
    """How a cancelled turn ended."""
    if story.was_cancelled_by(By.USER):
        return f"The user cancelled the turn, and it ended {after}."
    if story.shutdown is not None:
        return f"lastword was told to stop, and the turn was cancelled {after}."
    if client_left(story):
        return f"The client left, and the turn was cancelled {after}."
    return f"The agent ended the turn as cancelled {after}."


def left_open(story: Story, after: str) -> str:
    """How far a turn without an end was followed."""
    if story.shutdown is not None:
        return f"lastword was told to stop ({story.shutdown}) {after}, while the turn ran."
    if client_left(story):
        return f"The client left {after}, while the turn ran: nobody was there to be answered."
    if story.exited is not None:
        return f"The agent's process ended {after}, and nothing is recorded after that."
    return (
        "No end of the turn is recorded: it still runs, or lastword was killed. "
        f"What is known of it ends {after}."
    )


def who_confirmed(story: Story) -> str:
    """Who brought a cancelled turn to its end, where it was not the agent."""
    if (story.answer or {}).get("by") != By.LASTWORD.value:
        return ""
    if client_left(story):
        return "Nobody was there to be answered."
    if story.exited is not None:
        return "The agent's process ended before it had confirmed that; lastword answered for it."
    return "The agent did not confirm that; lastword answered for it."


def fault(story: Story) -> str:
    """Whose fault it was, as far as that can be known."""
    if story.was_cancelled_by(By.USER) or story.shutdown is not None:
        return _NO_FAILURE
    return _NOT_SEEN if client_left(story) else ""


def safety(story: Story) -> RetrySafety:
    """Whether the same prompt may be sent again, by what the turn is known to have done."""
    if story.acted:
        return RetrySafety.ASK
    return RetrySafety.AUTO if story.output_at is None else RetrySafety.OFFER_CONTINUE


def action(story: Story) -> str:
    """What to do; empty where there is nothing."""
    if story.ended and not client_left(story):
        return LOOK_FIRST if story.unsafe_tools else ""
    if story.acted:
        return OPEN_AND_LOOK
    return OPEN_AGAIN if client_left(story) else ""


def client_left(story: Story) -> bool:
    """Was the client gone while the turn ran?"""
    return story.client_gone_at is not None or story.was_cancelled_by(By.CLIENT_GONE) is not None
