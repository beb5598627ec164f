"""From a finished program to one that runs, under the switches that are in force."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from graphc import passes, processes
from graphc.debug import cpus, switches
from graphc.errors import (
    ArgumentTypeError,
    CompileError,
    DisagreementError,
    KernelError,
    Loc,
    LoweringError,
    StepMemoryError,
    in_words,
    user_loc,
)
from graphc.ir import Graph, walk
from graphc.lower import Apart
from graphc.ops.declared.bounds import IndexRangeError, out_of_range
from graphc.ops.declared.transforms import REQUESTS

if TYPE_CHECKING:
    from graphc_codegen import Executable
    from graphc_codegen import errors as generated
    from graphc_codegen.program import Program

#: So much is shown of what Numba says.
_LINES = 12
#: Of what takes most memory so many are named.
_LARGEST = 3


def build(program: Program, *, checked: bool, locations: Callable[[], Mapping[int, Loc]] = dict) -> Executable:
    """Compile a program, or take it from the object cache. Raises CompileError when the code generator refuses it, KernelError
    when Numba refuses a kernel of the user's; `locations` gives the user's lines by node id.
    """
    # The generator is loaded when there is something to generate.
    from graphc_codegen import CodegenError, compile_program
    from graphc_codegen import KernelError as Failed

    try:
        return compile_program(program, cache_dir=object_cache(), checked=checked, compile_threads=cpus())
    except Failed as error:
        raise kernel_error(error, locations()) from error
    except CodegenError as error:
        raise CompileError(
            f"the code generator failed: {error}",
            help="this is a bug in graphc: please report it with the file of step.dump()",
        ) from error


@cache
def apart(seconds: float = 0.04) -> Apart:
    """How far two cores are from each other, measured when it is first asked for: that takes some milliseconds, or up to twice
    `seconds` on a busy machine. On virtual machines it changes, so nobody keeps it.
    """
    # The generator is loaded when there is something to generate.
    from graphc_codegen.run.peak import measure_distance, measure_slowing

    return Apart(measure_distance(object_cache(), seconds), measure_slowing(object_cache(), seconds))


def converts_float16() -> bool:
    """Whether instructions of this processor make float16 of floats and back."""
    from graphc_codegen.target import host  # The generator is loaded when there is something to generate.

    return host().converts


def multiplies_bfloat16() -> str:
    """By which instructions of this processor products of bfloat16 are made: "pairs", AMX' "tiles", or none ("").

    "all by tiles" says that those of float32 and float16 are so, too, where the cores are this process' alone.
    Switches: tiles.
    """
    # The generator is loaded when there is something to generate.
    from graphc_codegen.permission import may_use_tiles
    from graphc_codegen.target import host

    target = host()
    wanted = switches().tiles
    if wanted is not False and target.tiles and may_use_tiles():
        return "all by tiles" if wanted else "tiles"
    return "pairs" if target.bfloat16 else ""


def object_cache() -> Path | None:
    """The directory of the object cache; None where it is switched off."""
    # The generator is loaded when there is something to generate.
    from graphc_codegen.object_code.cache import default_directory

    on = switches()
    return None if not on.cache else on.cache_dir or default_directory()


def notes_of(program: Program) -> Callable[[Any], str]:
    """What tells the nodes that a kernel of a program is for: the notes of its first call."""
    notes: dict[int, str] = {}
    for call in program.calls():
        notes.setdefault(id(call.kernel), call.note)
    return lambda value: notes.get(id(value), "")


def kernel_error(error: generated.KernelError, locations: Mapping[int, Loc] = MappingProxyType({})) -> KernelError:
    """The error as users see it; `locations` are the user's lines by node id."""
    nodes = [int(id) for id in re.findall(r"%(\d+)", error.note)]
    first, *rest = str(error.problem).strip().splitlines() or [""]
    return KernelError(
        f"the kernel of {error.name} {first}",
        loc=next((locations[id] for id in nodes if id in locations), None),
        details=[line for line in rest if line.strip()][:_LINES],
        help="GRAPHC_JIT=0 runs it as plain Python, where it can be stepped through",
        nodes=nodes,
    )


def failure(error: generated.KernelError, graph: Graph) -> KernelError | IndexRangeError | DisagreementError:
    """What has ended a run of a graph's step, as users see it."""
    from graphc_codegen import OtherMessage, OutOfRange  # The generator is loaded when there is something to generate.

    nodes = {n.id: n for _, n in walk(graph)}
    if not isinstance(error, (OtherMessage, OutOfRange)):
        return kernel_error(error, {id: n.loc for id, n in nodes.items() if n.loc is not None})
    node = next(nodes[id] for id in map(int, re.findall(r"%(\d+)", error.note)) if id in nodes)
    if isinstance(error, OtherMessage):
        return processes.other_message(node.attrs["peer"], node.attrs["group"], error.came, error.expected, node.loc)
    return out_of_range(node.attrs["says"], error.index, error.size, node.loc)


def too_large(graph: Graph, bytes: int) -> StepMemoryError:
    """The error of an arena of so many bytes that cannot be had, with what takes most of it."""
    made = [n for _, n in walk(graph) if n.op.name not in ("Input", "Param", "Constant")]
    largest = sorted(made, key=lambda n: -sum(t.nbytes for t in n.types))[:_LARGEST]
    return StepMemoryError(
        f"the step needs {in_words(bytes)} for what it computes, which cannot be had",
        loc=largest[0].loc if largest else None,
        details=[f"%{n.id} {n.op.name}: {n.type} takes {in_words(n.type.nbytes)}  {n.loc or ''}" for n in largest],
        nodes=[n.id for n in largest],
        help="smaller shapes, or a smaller batch",
    )


def pipeline_of(given: Any) -> tuple[passes.Pass, ...]:
    """The passes to run. Raises ArgumentTypeError for what is no sequence of passes."""
    if not isinstance(given, (tuple, list)):
        raise ArgumentTypeError(
            f"passes= takes a tuple of passes, got {type(given).__name__}",
            loc=user_loc(),
            help="for example passes=(*graphc.passes.PIPELINE, mine)",
        )
    for each in given:
        passes.name_of(each)
    return tuple(given)


_WORDS = {"Grad": "gradient", "Jvp": "tangent", "Vmap": "mapped function"}


def refuse_gradients(graph: Graph) -> None:
    """LoweringError if requests of function transforms are left that no pass has expanded."""
    left = None if graph.ops().isdisjoint(REQUESTS) else next((n for n in graph if n.op.name in REQUESTS), None)
    if left is not None:
        raise LoweringError(
            f"a {_WORDS[left.op.name]} is asked for, but no pass of the pipeline expands it",
            loc=left.loc,
            nodes=[left.id],
            help="put graphc.passes.autodiff first: passes=(graphc.passes.autodiff, ...)",
        )
