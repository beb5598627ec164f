"""Data sets under MindSpore's names. So far only the seed they will draw from; `graphc.datasets` has data to train on."""

from graphc.dataset import config

__all__ = ["config"]
