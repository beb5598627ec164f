"""Functions of each element by the names of torch.special (MindSpore: mindspore.mint.special)."""

from graphc.internal_errors import doors
from graphc.mint.elementwise import erfc, exp2, expm1, log1p, round, sinc
from graphc.mint.nn.functional import log_softmax

__all__ = ["erfc", "exp2", "expm1", "log1p", "log_softmax", "round", "sinc"]

doors(globals(), __all__, __name__)
