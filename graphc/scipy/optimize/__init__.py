"""Least values of functions, steps along lines, assignments, with SciPy's names (MindSpore: mindspore.scipy.optimize)."""

from __future__ import annotations

from graphc.internal_errors import doors
from graphc.scipy.optimize.assigning import linear_sum_assignment
from graphc.scipy.optimize.minimizing import minimize
from graphc.scipy.optimize.search import line_search

__all__ = ["line_search", "linear_sum_assignment", "minimize"]

doors(globals(), __all__, __name__)
