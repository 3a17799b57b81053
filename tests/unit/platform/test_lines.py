"""Lines out of chunks, and frames into descriptors that do not take them all at once."""

from __future__ import annotations

import contextlib
import fcntl
import gc
import os
import socket
import tracemalloc
from typing import TYPE_CHECKING

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lastword.platform.framing import (
    HEAD_BYTES,
    HIGH_WATER_BYTES,
    PIPE_BUF_BYTES,
    STDERR_PENDING_BYTES,
    TAIL_BYTES,
    FrameWriter,
    LineReader,
    StderrWriter,
)
from tests.kit.growth import costs_its_length

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MIB = 1024 * 1024

# Few different bytes, so that line ends are common and shrunk examples read well.
TEXT = st.lists(st.sampled_from([b"\n", b"\r", b"\0", b"a", b"\xff", b"bc\n", b"\n\n"])).map(
    b"".join
)
SIZES = st.lists(st.integers(0, 9), max_size=60)


def chunks_of(data: bytes, sizes: list[int]) -> Iterator[bytes]:
    """The data in chunks of these sizes, then the rest."""
    for size in sizes:
        yield data[:size]
        data = data[size:]
    yield data


def feed_all(reader: LineReader, chunks: Iterator[bytes]) -> tuple[bytes, list[bytes]]:
    """Everything that comes out: the blocks joined, and the ends of skipped lines."""
    blocks, heads = [], []
    for chunk in chunks:
        head, block = reader.feed(chunk)
        assert not block or block.endswith(b"\n")
        blocks.append(block)
        if head is not None:
            heads.append(head)
    return b"".join(blocks), heads


@given(TEXT, SIZES)
def test_the_same_lines_come_out_of_bytes_in_any_chunks(data: bytes, sizes: list[int]) -> None:
    reader = LineReader(1000)
    out, heads = feed_all(reader, chunks_of(data, sizes))
    whole = data[: data.rfind(b"\n") + 1]
    assert out == whole
    assert heads == []
    assert reader.rest() == data[len(whole) :]
    assert reader.rest() == b""


@given(st.lists(st.tuples(st.integers(0, 60), st.booleans()), max_size=12), SIZES)
@example([(60, True), (3, True)], [30, 30, 30])
def test_a_line_over_the_limit_is_skipped_and_every_other_line_survives(
    lengths: list[tuple[int, bool]], sizes: list[int]
) -> None:
    limit, largest_chunk = 20, 9
    lines = [bytes([97 + n % 26]) * length + b"\n" for n, (length, _) in enumerate(lengths)]
    data = b"".join(lines)
    cuts = [size for size in sizes if size] + [largest_chunk] * (len(data) // largest_chunk)
    reader = LineReader(limit)
    out, heads = feed_all(reader, chunks_of(data, cuts))
    came = out.splitlines(keepends=True)
    # A line may be over the limit by what comes in one chunk with its end; never by more.
    assert [line for line in lines if len(line) <= limit] == [
        line for line in came if len(line) <= limit
    ]
    assert all(len(line) <= limit + largest_chunk for line in came)
    skipped = [line for line in lines if line not in came]
    assert len(heads) == len(skipped)
    for ends, line in zip(heads, skipped, strict=True):
        head, _, tail = ends.partition(b"\n")
        assert line.startswith(head)
        assert line.endswith(tail + b"\n")


def test_an_oversized_line_is_dropped_and_its_head_and_tail_reported_at_its_end() -> None:
    reader = LineReader(MIB)
    head = b'{"jsonrpc":"2.0","id":7,"result":"'
    assert reader.feed(head) == (None, b"")
    for _ in range(100):
        assert reader.feed(b"x" * 64 * 1024) == (None, b"")
    assert reader.rest() == b""
    oversized, block = reader.feed(b'"}\n{"next":1}\n{"cut')
    assert oversized is not None
    began, _, ended = oversized.partition(b"\n")
    assert began.startswith(head)
    assert len(began) == HEAD_BYTES
    assert ended.endswith(b'x"}')
    assert len(ended) == TAIL_BYTES
    assert block == b'{"next":1}\n'
    assert reader.rest() == b'{"cut'


def test_a_line_of_exactly_the_limit_passes_and_a_limit_of_0_means_none() -> None:
    reader = LineReader(10)
    assert reader.feed(b"12345") == reader.feed(b"67890") == (None, b"")
    assert reader.feed(b"\n") == (None, b"1234567890\n")
    reader = LineReader(0)
    reader.feed(b"x" * MIB)
    assert reader.feed(b"x\n") == (None, b"x" * (MIB + 1) + b"\n")


def test_a_long_line_in_small_pieces_is_read_in_linear_time() -> None:
    def read(line: bytes) -> None:
        reader = LineReader(64 * MIB)
        for at in range(0, len(line), 4096):
            reader.feed(line[at : at + 4096])
        _, block = reader.feed(b"\n")
        assert len(block) == len(line) + 1

    assert costs_its_length(read, b"x" * (16 * MIB))


def held_bytes(keep: Callable[[], object]) -> int:
    """How much memory more is held after a call."""
    gc.collect()
    tracemalloc.start()
    try:
        keep()
        return tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()


def test_a_line_in_pieces_of_three_bytes_takes_its_length_in_memory() -> None:
    reader = LineReader(MIB)

    def feed() -> None:
        for number in range(10_000):
            reader.feed(b"%03d" % (number % 1000))

    assert held_bytes(feed) < 40_000
    assert reader.part_bytes == 30_000
    assert reader.feed(b"\n")[1] == b"".join(b"%03d" % n for n in range(1000)) * 10 + b"\n"
    assert reader.part_bytes == 0


class Pair:
    """A descriptor to write to without blocking, and its reader."""

    def __init__(self, reading: int, writing: int) -> None:
        self.reading, self.writing = reading, writing
        os.set_blocking(writing, False)
        self.received = bytearray()

    def read(self, limit: int = MIB) -> None:
        """Take some of what is there."""
        self.received += os.read(self.reading, limit)

    def drain(self, outlet: FrameWriter) -> None:
        """Read until nothing waits any more."""
        while outlet.pending_bytes:
            self.read()
            outlet.flush()


@pytest.fixture(params=["pipe", "small pipe", "socket"])
def pair(request: pytest.FixtureRequest) -> Iterator[Pair]:
    """Each kind of descriptor that a client may have given us."""
    if request.param == "socket":
        ours, theirs = socket.socketpair()
        pair = Pair(theirs.detach(), ours.detach())
    else:
        pair = Pair(*os.pipe())
        if request.param == "small pipe" and hasattr(fcntl, "F_SETPIPE_SZ"):
            fcntl.fcntl(pair.writing, fcntl.F_SETPIPE_SZ, 4096)
    yield pair
    for fd in (pair.reading, pair.writing):
        try:
            os.close(fd)
        except OSError:
            continue


def test_frames_that_the_reader_does_not_accept_wait_and_arrive_in_order(pair: Pair) -> None:
    outlet = FrameWriter(pair.writing)
    outlet.write(b"")
    assert (outlet.pending_bytes, outlet.full) == (0, False)
    frames = [b"%07d" % number * 1500 + b"\n" for number in range(200)]
    for number, frame in enumerate(frames):
        outlet.write(frame)
        if number % 3 == 0:
            pair.read(5000)
            outlet.flush()
    assert outlet.pending_bytes > 0
    while not outlet.full:  # which it says before more is written
        frames.append(b"x" * 1000)
        outlet.write(frames[-1])
        assert outlet.pending_bytes <= HIGH_WATER_BYTES + 1000
    pair.drain(outlet)
    assert (outlet.pending_bytes, outlet.full) == (0, False)
    outlet.close()
    outlet.close()
    outlet.write(b"y")
    assert outlet.pending_bytes == 0
    while data := os.read(pair.reading, MIB):
        pair.received += data
    assert bytes(pair.received) == b"".join(frames)


def test_small_frames_that_wait_take_their_length_in_memory(pair: Pair) -> None:
    outlet = FrameWriter(pair.writing)
    while not outlet.pending_bytes:
        outlet.write(b"x" * 1000)
    filled = outlet.pending_bytes

    def write() -> None:
        for number in range(5_000):
            outlet.write(b"%05d\n" % number)

    assert held_bytes(write) < 40_000
    assert outlet.pending_bytes == filled + 30_000
    pair.drain(outlet)
    os.set_blocking(pair.reading, False)
    with contextlib.suppress(BlockingIOError):
        while True:
            pair.read()
    assert pair.received.endswith(b"".join(b"%05d\n" % number for number in range(5_000)))


def test_a_large_frame_in_small_pieces_is_written_in_linear_time(pair: Pair) -> None:
    outlet = FrameWriter(pair.writing)

    def write(frame: bytes) -> None:
        outlet.write(frame)
        pair.drain(outlet)

    assert costs_its_length(write, b"x" * (16 * MIB))


def test_a_writer_whose_reader_has_left_accepts_everything_and_stores_nothing(pair: Pair) -> None:
    outlet = FrameWriter(pair.writing)
    outlet.write(b"x" * (4 * MIB))
    assert outlet.pending_bytes
    os.close(pair.reading)
    outlet.flush()
    assert outlet.broken
    outlet.write(b"y" * MIB)
    outlet.flush()
    assert outlet.pending_bytes == 0
    assert not outlet.full


def _drain_stderr(outlet: StderrWriter, reading: int) -> bytes:
    received = bytearray()
    while outlet.pending:
        outlet.flush()
        received += os.read(reading, MIB)
    return bytes(received)


def test_stderr_is_relayed_whole_in_pieces_that_fit_a_pipe() -> None:
    reading, writing = os.pipe()
    outlet = StderrWriter(writing)
    data = bytes(range(256)) * 512
    outlet.write(data)
    outlet.flush()
    assert len(os.read(reading, MIB)) == PIPE_BUF_BYTES
    assert _drain_stderr(outlet, reading) == data[PIPE_BUF_BYTES:]
    assert not outlet.pending
    os.close(reading)
    os.close(writing)


def test_the_cut_part_of_stderr_is_counted_to_the_byte() -> None:
    reading, writing = os.pipe()
    outlet = StderrWriter(writing)
    kept, cut = b"k" * STDERR_PENDING_BYTES, 0
    outlet.write(kept)
    for size in (1, 1000, 3 * MIB):
        outlet.write(b"c" * size)
        cut += size
    said = _drain_stderr(outlet, reading)
    assert said.startswith(kept)
    note = f"\nlastword: {cut} bytes of the agent's stderr left out here\n"
    assert said[len(kept) :] == note.encode()
    outlet.write(b"and on\n")
    assert _drain_stderr(outlet, reading) == b"and on\n"
    os.close(reading)
    os.close(writing)


def test_stderr_without_a_reader_is_given_up() -> None:
    reading, writing = os.pipe()
    outlet = StderrWriter(writing)
    outlet.write(b"a warning\n")
    os.close(reading)
    outlet.flush()
    assert outlet.broken
    assert not outlet.pending
    os.close(writing)
