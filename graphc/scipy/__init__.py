"""`mindspore.scipy`: linear algebra, optimization and cosine transforms with SciPy's names."""

from __future__ import annotations

from graphc.scipy import fft as fft
from graphc.scipy import linalg as linalg
from graphc.scipy import optimize as optimize

__all__ = ["fft", "linalg", "optimize"]
