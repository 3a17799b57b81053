"""Many frames on one line."""

from __future__ import annotations

import time

from lastword.core.protocol.glued import decode_parts


def test_a_long_line_of_glued_frames_costs_its_length_and_not_its_square() -> None:
    frames = 100_000
    begun = time.process_time()
    glued = decode_parts(b'{"jsonrpc":"2.0","method":"x"} ' * frames, may_quote=True)
    assert len(glued) == frames
    assert time.process_time() - begun < 3
