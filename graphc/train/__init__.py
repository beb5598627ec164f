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
from graphc.nn import metrics
from graphc.nn.metrics import *
from graphc.train.callbacks.base import Callback
from graphc.train.callbacks.checkpoint import BackupAndRestore, CheckpointConfig, ModelCheckpoint
from graphc.train.callbacks.exit import OnRequestExit
from graphc.train.callbacks.monitors import LossMonitor, TimeMonitor
from graphc.train.callbacks.plateau import EarlyStopping, LearningRateScheduler, ReduceLROnPlateau
from graphc.train.callbacks.progress import ProgressBar
from graphc.train.callbacks.record import History, LambdaCallback
from graphc.train.callbacks.summary import SummaryCollector
from graphc.train.context import RunContext
from graphc.train.dataset_helper import DatasetHelper, connect_network_with_dataset
from graphc.train.model import Model
from graphc.train.sinking import data_sink

__all__ = [
    "BackupAndRestore", "Callback", "CheckpointConfig", "DatasetHelper", "DynamicLossScaleManager", "EarlyStopping",
    "FixedLossScaleManager", "History", "LambdaCallback", "LearningRateScheduler", "LossMonitor", "LossScaleManager",
    "Model", "ModelCheckpoint", "OnRequestExit", "ProgressBar", "ReduceLROnPlateau", "RunContext", "SummaryCollector",
    "TimeMonitor", "build_train_network", "connect_network_with_dataset", "data_sink", "load_checkpoint",
    "load_param_into_net", "save_checkpoint",
]  # fmt: skip
if not TYPE_CHECKING:
    __all__ += metrics.__all__
