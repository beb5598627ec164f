"""What `mindspore.parallel.nn` has: batches in several parts, under the names that they have there."""

from graphc.nn import GradAccumulationCell as GradAccumulation
from graphc.nn import MicroBatchInterleaved, PipelineCell

Pipeline = PipelineCell

__all__ = ["GradAccumulation", "MicroBatchInterleaved", "Pipeline", "PipelineCell"]
