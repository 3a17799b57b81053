"""What a run leaves on disk, and what the commands make of it: where no secret may be."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.kit import left_behind
from tests.kit.patience import FUSE_SECONDS
from tests.kit.recording import everything_in, lastword

if TYPE_CHECKING:
    from pathlib import Path

    from tests.kit.sidecar import SidecarClient

COMMANDS = (
    ("log", "--last"),
    ("log", "--last", "--json"),
    ("log", "--errors"),
    ("export", "--last", "-o", "-"),
)


def all_stored_text(client: SidecarClient, state: Path) -> str:
    """End the run; gives its record's files, and all that is shown of them."""
    client.close_stdin()
    client.wait(fuse=FUSE_SECONDS)
    left_behind.wait_for_none(client.mark)  # a recorder may outlive its run
    texts = [everything_in(state)]
    for command in COMMANDS:
        done = lastword(*command, state=state)
        assert done.returncode == 0, (command, done.stderr)
        texts += [done.stdout, done.stderr]
    kept = "".join(texts)
    assert "rate_limit" in kept, "nothing was recorded, so nothing was proved"
    return kept
