"""Waits in a test: those of retries, of backoff and of limits on silence pass at once.

Owns the public context; what is skipped, and how, is `inprocess.waits`'.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator  # noqa: TC003 - of a public signature

from lastword.inprocess import waits


@contextlib.contextmanager
def without_waits() -> Iterator[None]:
    """Let lastword's own waits pass at once for the agents and calls that are started in here.

    `take_turn` and `open_session` do this by themselves. It is for connections of your own, and for
    functions under `lastword.retry` that are tested without a turn:

    ```python
    with without_waits():
        await ask_the_model()  # decorated with @lastword.retry: its waits are not slept
    ```

    - A wait before a retry is told and recorded as it is (20 s are told as 20 s), counts against
      `Retry.budget_seconds`, and is not slept.
    - A limit on silence that the test sets, such as `Options(idle_timeout_seconds=60)`, passes once
      the agent has done nothing for a quarter of a second, and so does the time that a cancelled
      handler is given. Limits that nobody set never pass.
    - What the agent itself sleeps, and the retries of a provider's package, take their time.

    It concerns this task, and the tasks that are started from it, until it is left.
    """
    with waits.skipped():
        yield
