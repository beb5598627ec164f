"""Data sets: the digits that come with graphc, and the settings that MindSpore's data sets read. Nothing is downloaded."""

from graphc.dataset import config
from graphc.dataset.digits import Digits, load_digits

__all__ = ["Digits", "config", "load_digits"]
