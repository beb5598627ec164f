"""What layers with sliding windows share: padding."""

from __future__ import annotations

Pad = tuple[int, int, int, int]


def same_pad(size: tuple[int, int], kernel: tuple[int, int], stride: tuple[int, int], dilation: tuple[int, int]) -> Pad:
    """(top, bottom, left, right) for ceil(size / stride) windows; an odd element goes to the end."""
    pads: list[int] = []
    for n, k, s, d in zip(size, kernel, stride, dilation, strict=True):
        total = max((-(-n // s) - 1) * s + d * (k - 1) + 1 - n, 0)
        pads += (total // 2, total - total // 2)
    return pads[0], pads[1], pads[2], pads[3]
