"""The account of the user, as Linux and macOS know it."""

from __future__ import annotations

import os
import sys

assert sys.platform != "win32"

import pwd


def account_names() -> set[str]:
    """Return the user's names: that of the account, and the person's."""
    try:
        account = pwd.getpwuid(os.getuid())
    except KeyError:
        return set()  # a container may run under a user id without a name
    return {account.pw_name, account.pw_gecos.partition(",")[0]}
