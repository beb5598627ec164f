"""MindSpore's name for `graphc.train.callbacks`: the callbacks, and what they are given."""

from graphc.train.callbacks.base import Callback
from graphc.train.callbacks.checkpoint import BackupAndRestore, CheckpointConfig, ModelCheckpoint
from graphc.train.callbacks.exit import OnRequestExit
from graphc.train.callbacks.finite import FindNan
from graphc.train.callbacks.monitors import LossMonitor, TimeMonitor
from graphc.train.callbacks.plateau import EarlyStopping, LearningRateScheduler, ReduceLROnPlateau
from graphc.train.callbacks.progress import ProgressBar
from graphc.train.callbacks.record import History, LambdaCallback
from graphc.train.callbacks.summary import SummaryCollector
from graphc.train.callbacks.summary_record import SummaryRecord
from graphc.train.context import RunContext

__all__ = [
    "BackupAndRestore",
    "Callback",
    "CheckpointConfig",
    "EarlyStopping",
    "FindNan",
    "History",
    "LambdaCallback",
    "LearningRateScheduler",
    "LossMonitor",
    "ModelCheckpoint",
    "OnRequestExit",
    "ProgressBar",
    "ReduceLROnPlateau",
    "RunContext",
    "SummaryCollector",
    "SummaryRecord",
    "TimeMonitor",
]

#: A package to Python: `graphc.paths` finds what is in it.
__path__: list[str] = []
