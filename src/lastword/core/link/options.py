"""Options of a link: what the user set, and what the shell that runs the link adds.

Owns the shell's part. The user's is in `core.link.user_options`; a shell that has not all of it to
offer refuses the rest (`lastword.inprocess.settings`).
"""

from __future__ import annotations

from collections.abc import Callable  # noqa: TC003 - needed at runtime, as for the user's part
from datetime import tzinfo  # noqa: TC003 - as above

from lastword.core.failure.retry_bucket import RetryBucket  # noqa: TC001 - as above
from lastword.core.link import user_options


class LinkOptions(user_options.Options, frozen=True, kw_only=True):
    """Options of a link, complete.

    Attributes:
        in_process: the handler runs in this process: it can be cancelled, and needs no restart.
        implementation: the name and version that are reported to the client.
        roll: returns random numbers from 0 to 1, for the jitter of waits before a prompt is sent
            again. The core draws none itself; without it, each wait is as long as it can be.
        notify_content: entries of questions and failures carry their texts, for notifications.
        zone_of: returns the time zone of a name (`Europe/Berlin`), or `None` if it knows none.
        retry_bucket: the process's bound on prompts that are sent again; without it, the link has
            one of its own.
        answers_questions: the link itself answers a question that `ask_timeout` ends. A gateway's
            holder does so for its viewers.
    """

    in_process: bool = False
    implementation: str = "lastword"
    roll: Callable[[], float] | None = None
    notify_content: bool = False
    zone_of: Callable[[str], tzinfo | None] | None = None
    retry_bucket: RetryBucket | None = None
    answers_questions: bool = True

    @property
    def watches_questions(self) -> bool:
        """Whether a question that nobody answers is to be noticed."""
        return bool(self.ask_reminder_seconds or self.ask_timeout)

    @property
    def tries_again(self) -> bool:
        """Whether a turn that failed may be worked on once more before it is answered."""
        return bool(self.retry or self.continue_at_reset_seconds or self.fallback_model)
