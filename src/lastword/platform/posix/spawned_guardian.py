"""The guardian, where there is a shell: it waits in a shell, and not in a copy of this program.

Owns its script. A fork would keep 4 to 8 MB of memory, and must not be made where a thread runs; a
shell takes 0.3 MB.
"""

from __future__ import annotations

import os
import sys

assert sys.platform != "win32"

from lastword.platform.posix.process import GUARDIAN_GRACE_SECONDS, SHELL, Guardian, guardian_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from lastword.platform.posix.process import Agent

_PAUSE_SECONDS = 0.05

SCRIPT = """
trap "" TERM INT HUP QUIT
group=$1 tries=$2 pause=$3

# The former leader of the group, if it runs in another one now; Linux can say so.
moved() {
    line=""
    read -r line 2>/dev/null </proc/$group/stat || return 1
    set -- ${line##*) }
    [ "${20}" = "$began" ] && [ "$3" != "$group" ]
}

began=""
if read -r line 2>/dev/null </proc/$group/stat; then
    set -- ${line##*) }
    began=${20}
fi
read -r word
[ -z "$word" ] || exit 0

end() {
    alive=1
    kill -$1 -$group 2>/dev/null && alive=0
    moved && kill -$1 $group 2>/dev/null && alive=0
    return $alive
}

end TERM
while [ $tries -gt 0 ] && end 0; do
    sleep $pause
    tries=$((tries - 1))
done
end KILL
"""
"""Waits for the end of its input, which is ours. A word there says that there is nothing to end."""


class SpawnedGuardian(Guardian):
    """A shell that waits for this process to vanish, and then ends the agent's group."""

    __slots__ = ()

    def _begin(self, read_end: int, pgid: int) -> int:
        """Spawn it; return its process id."""
        tries = round(GUARDIAN_GRACE_SECONDS / _PAUSE_SECONDS)
        words = ("lastword-guardian", str(pgid), str(tries), str(_PAUSE_SECONDS))
        return os.posix_spawn(
            SHELL,
            [SHELL, "-c", SCRIPT, *words],
            {"PATH": os.defpath},
            file_actions=[
                (os.POSIX_SPAWN_DUP2, read_end, 0),
                (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_RDWR, 0),
                (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_RDWR, 0),
            ],
            setsid=True,  # what is sent to our group must not reach it
        )


def spawned_guardian_of(agent: Agent) -> Guardian | None:
    """Return a guardian for a running agent."""
    try:
        return SpawnedGuardian(agent.pid)
    except (OSError, NotImplementedError):
        return guardian_of(agent)  # there is no shell here
