"""Passes over Scan nodes: what a gradient's loop computes again is kept, and what no turn must wait for leaves the loop."""

from graphc.passes.scans.keep import keep_turns
from graphc.passes.scans.roll import roll_loops
from graphc.passes.scans.split import split_scans

__all__ = ["keep_turns", "roll_loops", "split_scans"]
