"""A client before an agent on `lastword.serve`."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from tests.kit.client import Client, Frame, clean_environment

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class ServeClient(Client):
    """One agent's process, and a client that does nothing unasked."""

    first_id: ClassVar[int] = 1
    go: ClassVar[str] = "_test/go"
    info: ClassVar[Frame] = {"name": "raw"}

    def __init__(
        self,
        command: Sequence[str],
        *,
        environment: Mapping[str, str] | None = None,
        reads: bool = True,
    ) -> None:
        """Start the agent; without `reads` nothing is read until `read` is called."""
        super().__init__(
            command, environment=clean_environment() | dict(environment or {}), session=""
        )
        self.stdout.reading = reads

    def read(self) -> None:
        """Begin to read stdout."""
        self.stdout.reading = True
