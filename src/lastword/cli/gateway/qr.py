"""A link as a QR code in a terminal, for a phone's camera.

Owns the encoding (ISO/IEC 18004): bytes, correction level L, versions 1 to 9, always mask 0, which
readers take from the code as they would any other.
"""

from __future__ import annotations

from itertools import product

_SIZES = (
    *((19, 7, 1), (34, 10, 1), (55, 15, 1), (80, 20, 1), (108, 26, 1)),
    *((136, 18, 2), (156, 20, 2), (194, 24, 2), (232, 30, 2)),
)
"""By version: bytes of data, bytes of correction for each block, blocks (table 9)."""

_ALIGNMENT: tuple[tuple[int, ...], ...] = (
    *((), (6, 18), (6, 22), (6, 26), (6, 30)),
    *((6, 34), (6, 22, 38), (6, 24, 42), (6, 26, 46)),
)
"""By version: where the centres of the alignment patterns are (annex E)."""

_FORMAT = 0x77C4
"""Level L and mask 0 (annex C)."""

_VERSIONS = {7: 0x07C94, 8: 0x085BC, 9: 0x09A99}
"""What states the version, from 7 on (annex D)."""

_QUIET = 4
_HALVES = (" ", "▄", "▀", "█")


def drawn(text: str) -> list[str]:
    """Return the code's lines, dark on light whatever the terminal's colours; none if too long."""
    modules = matrix(text.encode())
    if not modules:
        return []
    width = len(modules) + 2 * _QUIET
    empty = [[False] * width] * _QUIET
    side = [False] * _QUIET
    rows = [*empty, *([*side, *row, *side] for row in modules), *empty, [False] * width]
    return [
        "\x1b[30;107m"
        + "".join(_HALVES[2 * up + down] for up, down in zip(rows[at], rows[at + 1], strict=True))
        + "\x1b[0m"
        for at in range(0, width, 2)
    ]


def matrix(data: bytes) -> list[list[bool]]:
    """Return which modules are dark, by row and column; nothing if there are too many bytes."""
    version = next((at for at, row in enumerate(_SIZES, 1) if len(data) + 2 <= row[0]), 0)
    if not version:
        return []
    modules = _patterns(version)
    words = _codewords(data, *_SIZES[version - 1])
    bits = (bool(word >> at & 1) for word in words for at in range(7, -1, -1))
    size = len(modules)
    for number, right in enumerate([*range(size - 1, 6, -2), 5, 3, 1]):
        for row in range(size) if number % 2 else range(size - 1, -1, -1):
            for column in (right, right - 1):
                if modules[row][column] is None:
                    modules[row][column] = next(bits, False) ^ ((row + column) % 2 == 0)
    return [[bool(each) for each in row] for row in modules]


def _codewords(data: bytes, size: int, correction: int, blocks: int) -> list[int]:
    """Return the data with its correction, the blocks interleaved."""
    head = 0b0100 << 8 | len(data)  # the mode, and the number of bytes
    whole = ((head << 8 * len(data) | int.from_bytes(data)) << 4).to_bytes(len(data) + 2)
    padded = whole + (b"\xec\x11" * size)[: size - len(whole)]
    length = size // blocks
    parts = [padded[at : at + length] for at in range(0, size, length)]
    corrections = [_correction(part, correction) for part in parts]
    return [
        word
        for group in (parts, corrections)
        for column in zip(*group, strict=True)
        for word in column
    ]


def _correction(data: bytes, count: int) -> list[int]:
    """Return the Reed-Solomon correction of a block."""
    generator, root = [1], 1
    for _ in range(count):
        shifted = [*generator, 0]
        generator = [a ^ _product(b, root) for a, b in zip(shifted, [0, *generator], strict=True)]
        root = _product(root, 2)
    rest = [0] * count
    for word in data:
        factor = word ^ rest[0]
        rest = [a ^ _product(b, factor) for a, b in zip([*rest[1:], 0], generator[1:], strict=True)]
    return rest


def _product(a: int, b: int) -> int:
    """Return a product in the code's field of 256."""
    result = 0
    while b:
        result ^= a * (b & 1)
        a = a << 1 ^ (0x11D if a & 0x80 else 0)
        b >>= 1
    return result


def _patterns(version: int) -> list[list[bool | None]]:
    """Return what every code of a version has, and `None` where its data goes."""
    size = 17 + 4 * version
    modules: list[list[bool | None]] = [[None] * size for _ in range(size)]

    def square(row: int, column: int, half: int, dark: set[int]) -> None:
        for y in range(max(0, row - half), min(size, row + half + 1)):
            for x in range(max(0, column - half), min(size, column + half + 1)):
                modules[y][x] = max(abs(y - row), abs(x - column)) in dark

    centres = _ALIGNMENT[version - 1]
    corners = {(6, 6), (6, size - 7), (size - 7, 6)}
    for row, column in {*product(centres, centres)} - corners:
        square(row, column, 2, {0, 2})
    for at in range(size):
        modules[6][at] = modules[at][6] = at % 2 == 0
    for row, column in ((3, 3), (3, size - 4), (size - 4, 3)):
        square(row, column, 4, {0, 1, 3})
    for at in range(15):
        bit = bool(_FORMAT >> at & 1)
        modules[at + (at > 5) if at < 8 else size - 15 + at][8] = bit  # noqa: PLR2004
        modules[8][size - 1 - at if at < 8 else 14 - at + (at < 9)] = bit  # noqa: PLR2004
    modules[size - 8][8] = True
    for at in range(18 if version in _VERSIONS else 0):
        bit = bool(_VERSIONS[version] >> at & 1)
        modules[at // 3][size - 11 + at % 3] = modules[size - 11 + at % 3][at // 3] = bit
    return modules
