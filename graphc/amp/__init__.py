"""Mixed precision: loss-scale managers, scalers, and casting a network to half precision by level. No training cells.

The training cells that use a loss scale are in `graphc.nn.train`.
"""

from graphc.amp.managers import DynamicLossScaleManager, FixedLossScaleManager, LossScaleManager
from graphc.amp.precision import (
    auto_mixed_precision,
    build_train_network,
    custom_mixed_precision,
    get_black_list,
    get_white_list,
)
from graphc.amp.scalers import DynamicLossScaler, LossScaler, StaticLossScaler, all_finite
from graphc.validation.signatures import accept

__all__ = [
    "DynamicLossScaleManager",
    "DynamicLossScaler",
    "FixedLossScaleManager",
    "LossScaleManager",
    "LossScaler",
    "StaticLossScaler",
    "all_finite",
    "auto_mixed_precision",
    "build_train_network",
    "custom_mixed_precision",
    "get_black_list",
    "get_white_list",
]

accept(globals(), __all__, __name__)
