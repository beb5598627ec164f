"""Training loops' callbacks, under MindSpore's names. No training cells: those are in `graphc.nn.train`."""

from graphc.nn.metrics import Metric, names, rearrange_inputs
from graphc.train.callback import Callback

__all__ = ["Callback", "Metric", "names", "rearrange_inputs"]
