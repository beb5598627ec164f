"""What MindSpore's modules of metrics have besides the metrics."""

from graphc.nn.metrics.base import EvaluationBase

__all__ = ["EvaluationBase"]
