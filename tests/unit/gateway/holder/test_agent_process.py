"""What an agent writes, in parts that are committed each in one go."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from lastword.gateway.holder.agent_process import PART_BYTES, parts_of


@given(st.lists(st.integers(0, 3 * PART_BYTES), min_size=1, max_size=12))
def test_a_block_comes_in_parts_of_whole_lines_and_none_is_lost(sizes: list[int]) -> None:
    block = b"".join(b"x" * size + b"\n" for size in sizes)
    parts = list(parts_of(block))
    assert b"".join(parts) == block
    for part in parts:
        assert part.endswith(b"\n")
        assert len(part) <= PART_BYTES or part.count(b"\n") == 1


def test_a_small_block_is_passed_on_unchanged() -> None:
    block = b"{}\n" * 10
    [part] = parts_of(block)
    assert part is block
