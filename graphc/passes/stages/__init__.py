"""Pipelines over processes: which stage computes what, the graph of one stage, and the order of its micro batches."""

from graphc.passes.stages.cut import cut_stages
from graphc.passes.stages.places import is_staged, owners
from graphc.passes.stages.schedule import one_forward_one_backward, order_stages, turns_until_sent

__all__ = ["cut_stages", "is_staged", "one_forward_one_backward", "order_stages", "owners", "turns_until_sent"]
