"""The training flow under MindSpore's names: Model, callbacks, sinks. Training cells are in `graphc.nn.train`, metrics in
`graphc.nn.metrics`, checkpoints in `graphc.checkpoint`; MindSpore's names for them are here, too.
"""

from typing import TYPE_CHECKING

from graphc.amp import (
    DynamicLossScaleManager,
    FixedLossScaleManager,
    LossScaleManager,
    build_train_network,
)
from graphc.checkpoint import load_checkpoint, load_param_into_net, save_checkpoint
from graphc.train import amp, callback, metrics, serialization
from graphc.train.callback import *
from graphc.train.dataset_helper import DatasetHelper, connect_network_with_dataset
from graphc.train.metrics import *
from graphc.train.model import Model
from graphc.train.sink_function import data_sink
from graphc.validation.signatures import accept

__all__ = [
    "BackupAndRestore",
    "Callback",
    "CheckpointConfig",
    "DatasetHelper",
    "DynamicLossScaleManager",
    "EarlyStopping",
    "FindNan",
    "FixedLossScaleManager",
    "History",
    "LambdaCallback",
    "LearningRateScheduler",
    "LossMonitor",
    "LossScaleManager",
    "Model",
    "ModelCheckpoint",
    "OnRequestExit",
    "ProgressBar",
    "ReduceLROnPlateau",
    "RunContext",
    "SummaryCollector",
    "SummaryRecord",
    "TimeMonitor",
    "amp",
    "build_train_network",
    "callback",
    "connect_network_with_dataset",
    "data_sink",
    "load_checkpoint",
    "load_param_into_net",
    "metrics",
    "save_checkpoint",
    "serialization",
]  # fmt: skip
if not TYPE_CHECKING:
    __all__ += metrics.__all__
    accept(globals(), __all__, __name__)
