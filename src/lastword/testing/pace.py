"""Waits in a test: those of retries, of backoff and of limits on silence pass at once.

Owns the public context manager; `inprocess.waits` does the skipping.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator  # noqa: TC003 - of a public signature

from lastword.inprocess import waits


@contextlib.contextmanager
def without_waits() -> Iterator[None]:
    """Let lastword's own waits pass at once for agents and calls started in this context.

    `take_turn` and `open_session` do this by themselves. Use it for connections of your own, and
    for functions under `lastword.retry` that are tested without a turn:

    ```python
    with without_waits():
        await ask_the_model()  # decorated with @lastword.retry: its waits are not slept
    ```

    - A wait before a retry is reported and recorded in full (20 s stay 20 s), counts against
      `Retry.budget_seconds`, and is not slept.
    - A limit on silence that the test sets, such as `Options(idle_timeout_seconds=60)`, passes once
      the agent has done nothing for a quarter of a second, and so does the time that a cancelled
      handler is given. Limits that nobody set never pass.
    - What the agent itself sleeps, and the retries of a provider's package, take their time.

    It applies to this task, and to tasks started from it, until the context is left.
    """
    with waits.skipped():
        yield
