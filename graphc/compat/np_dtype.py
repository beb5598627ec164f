"""MindSpore's `common.np_dtype`: NumPy's type of the numbers that NumPy itself lacks."""

from __future__ import annotations

from typing import Any

from graphc.ir.types import numpy_dtype

bfloat16: Any = numpy_dtype("bfloat16").type

__all__ = ["bfloat16"]
