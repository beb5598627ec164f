"""Cells with MindSpore's names: layers, losses, optimizers, training steps; and metrics. No ops of their own, and no compiler.

Each is an ordinary Cell over `graphc.ops`. Initial values of parameters are in `graphc.nn.initializer`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from graphc.errors.suggestions import no_member
from graphc.nn import cell, initializer, layer, loss, optim, rates, train
from graphc.nn.cell import *
from graphc.nn.layer import *
from graphc.nn.loss import *
from graphc.nn.optim import *
from graphc.nn.rates import *
from graphc.nn.train import *
from graphc.nn.train.accumulate import MicroBatch as _MicroBatch  # noqa: F401, the name that wrappers import
from graphc.tracebacks import clean
from graphc.validation.signatures import accept

#: Names of graphc.nn.metrics, which is imported when one is first asked for: most programs that start measure nothing yet.
_METRICS = (
    "Accuracy", "BleuScore", "ConfusionMatrix", "ConfusionMatrixMetric", "CosineSimilarity", "Dice", "F1", "Fbeta",
    "HausdorffDistance", "Loss", "MAE", "MSE", "MeanSurfaceDistance", "Metric", "OcclusionSensitivity", "Perplexity",
    "Precision", "ROC", "Recall", "RootMeanSquareDistance", "Top1CategoricalAccuracy", "Top5CategoricalAccuracy",
    "TopKCategoricalAccuracy", "auc", "get_metric_fn", "get_metrics", "names", "rearrange_inputs",
)  # fmt: skip

if TYPE_CHECKING:
    from graphc.nn import metrics as metrics
    from graphc.nn import probability as probability
    from graphc.nn.metrics import *
else:
    __all__ = [
        "initializer",
        *(name for module in (cell, layer, loss, rates, train, optim) for name in module.__all__),
        *_METRICS,
    ]
    accept(globals(), (name for name in __all__ if name not in _METRICS), __name__)


def __getattr__(name: str) -> Any:
    if name == "probability":
        return import_module("graphc.nn.probability")
    if name not in _METRICS and name != "metrics":
        try:
            return no_member("graphc.nn", name, globals()["__all__"])
        except (AttributeError, ImportError) as error:
            clean(error)
            raise
    module = import_module("graphc.nn.metrics")
    value = globals()[name] = module if name == "metrics" else getattr(module, name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_METRICS})
