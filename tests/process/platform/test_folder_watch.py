"""A watch on a folder reports what is deleted in it, also in one that took its name."""

from __future__ import annotations

import asyncio
import shutil
from typing import TYPE_CHECKING

from lastword.gateway.front.process import UNWATCHED_SECONDS, WATCHED_SECONDS, FolderWatch
from tests.kit.patience import FUSE_SECONDS

if TYPE_CHECKING:
    from pathlib import Path


def test_a_deleted_file_and_a_renewed_folder_are_noticed(tmp_path: Path) -> None:
    folder = tmp_path / "run"

    async def play() -> None:
        folder.mkdir()
        (folder / "socket").touch()
        deleted = asyncio.Event()
        watch = FolderWatch(str(folder), deleted.set)
        assert watch.look_seconds in {WATCHED_SECONDS, UNWATCHED_SECONDS}
        if watch.look_seconds == UNWATCHED_SECONDS:
            return  # nothing is reported here: whoever needs to know looks
        for _ in range(2):
            shutil.rmtree(folder)
            async with asyncio.timeout(FUSE_SECONDS):
                await deleted.wait()
            deleted.clear()
            folder.mkdir()
            (folder / "socket").touch()
            watch.renew()
        watch.close()
        assert watch.look_seconds == UNWATCHED_SECONDS

    asyncio.run(play())
