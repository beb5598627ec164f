"""`graphc report`: what training runs have recorded, one JSON object per line, as one page that needs no network."""

from graphc.report.page import write_report
from graphc.report.runs import Run, read_run

__all__ = ["Run", "read_run", "write_report"]
