"""Sizes of a convolution of stride and dilation 1, for the choice of its kernel."""

from __future__ import annotations

from dataclasses import dataclass, fields

#: Cycles of the direct kernel for each vector of multiply-adds, and of that of the weights' gradient.
DIRECT, _GRADIENT = 1.2, 1.5


@dataclass(frozen=True, slots=True)
class Sizes:
    """From [n, ci, h, w], after `top` rows and `left` columns of zeros, to [n, co, oh, ow]."""

    n: int
    ci: int
    co: int
    h: int
    w: int
    kh: int
    kw: int
    oh: int
    ow: int
    top: int
    left: int

    def params(self) -> dict[str, int]:
        """For a kernel."""
        return {f.name: getattr(self, f.name) for f in fields(self)}

    def direct(self, *, skips: bool) -> float:
        """Cycles of the direct kernel, for a vector of one lane; it `skips` rows of the kernel that only meet zeros."""
        rows = meetings(self.h, self.oh, self.kh, self.top) if skips else self.oh * self.kh
        return DIRECT * self.n * self.ci * self.co * rows * self.ow * self.kw

    def direct_gradient(self) -> float:
        """The same for the gradient with respect to the weights."""
        return _GRADIENT * self.n * self.ci * self.co * self.oh * self.kh * self.ow * self.kw


def meetings(size: int, out: int, kernel: int, before: int) -> int:
    """How many taps of all `out` outputs along an axis meet one of its `size` pixels, with padding `before` it."""
    return sum(max(0, min(kernel, size + before - o) - max(0, before - o)) for o in range(out))
