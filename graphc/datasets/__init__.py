"""Data sets that come with graphc, for the examples and the tests. NumPy only; nothing is downloaded."""

from graphc.datasets.digits import Digits, load_digits

__all__ = ["Digits", "load_digits"]
