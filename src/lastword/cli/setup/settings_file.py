"""A settings file: read whole, replaced in one step, with a copy of the old one beside it.

Owns the guarantee that nothing is lost: a link is followed and stays a link, mode and owner stay,
and a file that was changed in the meantime is left alone.
"""

from __future__ import annotations

import contextlib
import os
import stat
import time
from dataclasses import dataclass

from lastword.cli.setup.settings_text import SettingsError
from lastword.platform.settings_files import copy_rights, replace

BIGGEST_BYTES = 8 * 1024 * 1024
_BOM = "\ufeff"


@dataclass(frozen=True, slots=True)
class SettingsFile:
    """A file as it was read.

    Attributes:
        path: what the user calls it.
        target: the file itself, if `path` is a link.
        text: its text, without a byte order mark.
        mark: the byte order mark, if there is one.
        status: its `stat` result; `None` if it does not exist yet.
    """

    path: str
    target: str
    text: str
    mark: str
    status: os.stat_result | None


def load(path: str) -> SettingsFile:
    """Read a file; a missing one is empty.

    Raises:
        SettingsError: It cannot be read, or is not text.
    """
    target = os.path.realpath(path)
    try:
        status = os.stat(target)
        if not stat.S_ISREG(status.st_mode):
            raise SettingsError("it is not a regular file")
        if status.st_size > BIGGEST_BYTES:
            raise SettingsError("it is larger than 8 MiB")
        with open(target, "rb") as file:
            data = file.read()
        text = data.decode()
    except FileNotFoundError:
        return SettingsFile(path, target, "", "", None)
    except OSError as error:
        raise SettingsError(f"it cannot be read: {_reason(error)}") from None
    except UnicodeDecodeError:
        raise SettingsError("it is not UTF-8") from None
    mark = _BOM if text.startswith(_BOM) else ""
    return SettingsFile(path, target, text.removeprefix(_BOM), mark, status)


def save(file: SettingsFile, text: str, *, may_create: bool = False) -> str:
    """Replace the file's text; return the path of the old one's copy, empty for a new file.

    Args:
        file: The file as it was read.
        text: Its new text.
        may_create: Whether to create the folder that it is in.

    Raises:
        SettingsError: It cannot be written, and is unchanged.
    """
    status = file.status
    if status and status.st_nlink > 1:
        raise SettingsError("it has a second name (a hard link), which a change would cut off")
    folder = os.path.dirname(file.target)
    new = os.path.join(folder, f".{os.path.basename(file.target)}.lastword-{os.getpid()}")
    leftovers = [new]
    try:
        if may_create:
            os.makedirs(folder, exist_ok=True)
        if not os.path.isdir(folder):
            raise SettingsError(
                f"there is no folder {folder} (is the editor installed?); --create makes it"
            )
        _check_unchanged(file)
        if status and not os.access(file.target, os.W_OK):
            raise SettingsError(f"{_named(file)} is read-only")
        _write(new, (file.mark + text).encode(), status)
        backup = _copied(file) if status else ""
        leftovers.append(backup)
        _check_unchanged(file)
        replace(new, file.target)
        leftovers = []
    except UnicodeEncodeError:
        raise SettingsError("the agent's command has bytes that JSON cannot represent") from None
    except OSError as error:
        raise SettingsError(f"{_named(file)} cannot be written: {_reason(error)}") from None
    finally:
        for path in leftovers:
            with contextlib.suppress(OSError):
                os.unlink(path)
    return backup


def _copied(file: SettingsFile) -> str:
    """Write the old text beside the file, under an unused name; return its path."""
    base = f"{file.target}.lastword-backup-{time.strftime('%Y%m%d-%H%M%S')}"
    for number in range(100):
        path = f"{base}-{number}" if number else base
        with contextlib.suppress(FileExistsError):
            _write(path, (file.mark + file.text).encode(), file.status)
            return path
    raise SettingsError("there are too many backups beside it")


def _write(path: str, data: bytes, like: os.stat_result | None) -> None:
    """Write a new file with another file's mode and owner, and sync it to the disk."""
    mode = 0o600 if like else 0o666
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    try:
        with open(handle, "wb", closefd=False) as file:
            file.write(data)
        if like:
            copy_rights(handle, like)
        os.fsync(handle)
    except BaseException:
        os.close(handle)  # before: Windows deletes no open file
        os.unlink(path)
        raise
    os.close(handle)


def _check_unchanged(file: SettingsFile) -> None:
    then = file.status
    now = os.stat(file.target) if os.path.exists(file.target) else None
    if _marks(now) != _marks(then):
        raise SettingsError("it was changed by another program just now; try again")


def _marks(status: os.stat_result | None) -> tuple[int, ...]:
    return (status.st_mtime_ns, status.st_size, status.st_ino) if status else ()


def _named(file: SettingsFile) -> str:
    """Name what cannot be written: the file, or the target of its link."""
    return (
        "it" if file.target == os.path.abspath(file.path) else f"it leads to {file.target}, which"
    )


def _reason(error: OSError) -> str:
    return (error.strerror or "it failed").lower()
