"""Training loops' callbacks, under MindSpore's names."""

from graphc.train.callback import Callback

__all__ = ["Callback"]
