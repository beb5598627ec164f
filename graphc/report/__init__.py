"""`graphc report`: records of training runs, one JSON object per line, as one page that needs no network, or for TensorBoard."""

from graphc.report.page import write_report
from graphc.report.runs import Run, read_run
from graphc.report.tensorboard import write_events

__all__ = ["Run", "read_run", "write_events", "write_report"]
