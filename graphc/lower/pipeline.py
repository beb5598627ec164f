"""The rewrites of statements: one tuple, read top to bottom. Timed, dumped, and checked in between in checked mode."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass

from graphc.debug import switches
from graphc.errors import VerifyError
from graphc.internal_errors import failing
from graphc.lower.buffers import Buffers
from graphc.lower.causal import mark_causal
from graphc.lower.chains import chain_loops
from graphc.lower.check import check
from graphc.lower.epilogue import absorb_loops
from graphc.lower.horizontal_fusion import join_calls
from graphc.lower.listing import listing
from graphc.lower.overflow import watch_overflow
from graphc.lower.packing import copy_panels
from graphc.lower.placement import place_buffers
from graphc.lower.pooling import pool_convolutions
from graphc.lower.prepacking import pack_factors
from graphc.lower.progress import keep_moving
from graphc.lower.rewrite import Context, Layout, Rewrite, Statements
from graphc.lower.rounding import round_factors
from graphc.lower.threads import share_calls

REWRITES: tuple[Rewrite, ...] = (
    pool_convolutions,
    absorb_loops,
    # A mask is mostly part of a product by now.
    mark_causal,
    watch_overflow,
    chain_loops,
    round_factors,
    join_calls,
    pack_factors,
    copy_panels,
    # Kernels are what they will be.
    keep_moving,
    # From here on no buffer is new.
    place_buffers,
    # Last: threads meet where bytes are shared.
    share_calls,
)


@dataclass(frozen=True)
class Stage:
    """The statements after a rewrite, and what the rewrite took."""

    name: str
    statements: Statements
    changed: bool
    seconds: float
    buffers: Buffers
    layout: Layout | None = None

    def text(self) -> str:
        """The statements, and the buffers that they use."""
        return listing(self.statements, self.buffers, self.layout)


def run(
    body: Statements, context: Context, rewrites: Sequence[Rewrite] = REWRITES, seconds: float = 0.0
) -> list[Stage]:
    """The statements after each rewrite, beginning with those that fusion has made in so many seconds.

    Raises what the rewrites raise; VerifyError, with the rewrite's name, when one breaks a rule (`graphc.lower.check`): in
    checked mode, or with `verify=2`. Switches: jit, verify, debug.
    """
    on = switches()
    checked = on.verify >= 2 or (on.verify >= 1 and not on.jit)
    stages = [Stage("fuse", body, True, seconds, context.buffers)]
    if checked:
        _check("fuse", body, context)
    for rewrite in rewrites:
        name = rewrite.__name__
        start = time.perf_counter()
        try:
            with failing(f"rewrite {name}"):
                new = rewrite(body, context)
        except Exception as error:
            error.add_note(f"in rewrite {name}, after {', '.join(s.name for s in stages)}")
            raise
        taken = time.perf_counter() - start
        if checked:
            _check(name, new, context)
        stages.append(Stage(name, new, new != body, taken, context.buffers, context.layout))
        body = new
    _report(stages)
    return stages


def _check(name: str, body: Statements, context: Context) -> None:
    try:
        check(body, context)
    except VerifyError as error:
        error.message = f"rewrite {name} made statements that cannot run: {error.message}"
        raise


def _report(stages: list[Stage]) -> None:
    level = switches().debug
    for stage in stages if level else ():
        statements = f"  {len(stage.statements)} statements" if level >= 2 else ""
        print(f"graphc: {stage.name:18} {stage.seconds * 1e3:7.2f} ms{statements}", file=sys.stderr)
        if level >= 3 and stage.changed:
            print(stage.text(), file=sys.stderr)
