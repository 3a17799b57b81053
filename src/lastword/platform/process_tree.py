"""An agent's processes: the tree below the one that was started, and their sockets."""

from __future__ import annotations

import sys

from lastword.platform.process_info import Process

if sys.platform == "win32":
    from lastword.platform.windows.process_tree import read_tree, sockets_of
else:
    from lastword.platform.posix.process_tree import read_tree, sockets_of

__all__ = ["Process", "read_tree", "sockets_of"]
