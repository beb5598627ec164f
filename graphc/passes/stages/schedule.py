"""The order of a stage's micro batches: one forward, one backward (Narayanan et al., PipeDream, 2019)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from graphc import processes
from graphc.context import parallel_settings
from graphc.errors import LoweringError
from graphc.ir import Data, Graph, Node, Origin, TensorType
from graphc.passes.replicated import PEERS, is_between_stages, is_collective


class Turn(NamedTuple):
    """What a stage computes at one time: a micro batch, forward or backward."""

    backward: bool
    micro: int


def one_forward_one_backward(stage: int, stages: int, micros: Sequence[int]) -> list[Turn]:
    """The turns of a stage: as many forward as there are stages behind it, then one forward and one backward each time.

    So the activations of at most stages - stage micro batches live at the same time.
    """
    ahead = min(stages - 1 - stage, len(micros))
    turns = [Turn(False, k) for k in micros[:ahead]]
    for done, k in enumerate(micros[ahead:]):
        turns += [Turn(False, k), Turn(True, micros[done])]
    return turns + [Turn(True, k) for k in micros[len(micros) - ahead :]]


def order_stages(graph: Graph) -> Graph:
    """Order edges between the micro batches of a stage, and from the last of them to what all stages do together.

    before:  forward of all micro batches, backward of all of them
    after:   %90 = Constant() after(the ends of micro batch 0, backward)   %31 = ToStage(%30) {micro=2} after(%90)

    What a turn has sent to the next stage is waited for at the end of its next turn.
    """
    stages = parallel_settings().pipeline_stages
    if stages == 1 or not any(n.op.name == "ToStage" for n in graph.nodes()):
        return graph
    turn_of = _turns(graph)
    present = set(turn_of.values())
    micros = sorted({t.micro for t in present})
    planned = one_forward_one_backward(processes.rank(processes.MODEL), stages, micros)
    turns = [t for t in planned if t in present]
    _check(graph, turn_of, {t: k for k, t in enumerate(turns)})
    members: dict[Turn, list[Node]] = {t: [] for t in turns}
    for node in graph:
        if node.id in turn_of:
            members[turn_of[node.id]].append(node)
    graph = graph.copy()
    ends = _ends_of_sends(graph, turn_of, turns)
    before: int | None = None
    for number, turn in enumerate(turns):
        inside = {n.id for n in members[turn]}
        if before is not None:
            for node in members[turn]:
                if not inside.intersection(node.predecessors()):
                    _wait(graph, node.id, before)
        last = [n.id for n in members[turn] if not inside.intersection(graph.users(n.id))]
        before = _barrier(graph, members[turn][-1], last)
        for id in ends.get(number, ()):
            _wait(graph, id, before)
        if number in ends and number < len(turns) - 1:
            before = _barrier(graph, members[turn][-1], [before, *ends[number]])
    first = next((n for n in graph if is_collective(n) and n.op.name not in PEERS and is_between_stages(n)), None)
    if first is not None and before is not None:
        _wait(graph, first.id, before)
    return graph


def _turns(graph: Graph) -> dict[int, Turn]:
    """The turn of each node that belongs to one. What comes behind a reduction over processes comes behind all turns."""
    found: dict[int, Turn] = {}
    behind: set[int] = set()
    micro: dict[int, int] = {}
    for node in graph:
        own = is_collective(node) and node.op.name not in PEERS
        # What is not backward, but made of gradients, comes behind all of them.
        own |= node.region != "backward" and any(v.node in found and found[v.node].backward for v in node.inputs)
        if own or node.op.name == "SendEnd" or any(p in behind for p in node.predecessors()):
            behind.add(node.id)
            continue
        given = [micro[v.node] for v in node.inputs if v.node in micro]
        if node.op.name == "ToStage":
            micro[node.id] = node.attrs["micro"]
        elif given:
            micro[node.id] = max(given)
        if node.id in micro and node.region in ("forward", "backward"):
            found[node.id] = Turn(node.region == "backward", micro[node.id])
    # What is received is an entry of its turn, of which the mark behind it says which one it is; a parameter is of none.
    for id, turn in list(found.items()):
        maker = graph.node(id).inputs[0].node if graph.node(id).op.name == "ToStage" else -1
        if maker in graph and graph.node(maker).op.name == "Receive" and len(graph.users(maker)) == 1:
            found[maker] = turn
    # What one turn alone needs of the inputs, such as its rows of the batch, is computed in it.
    for id in reversed(graph.order()):
        node, users = graph.node(id), graph.users(id)
        free = id not in found and id not in behind and not node.op.effect and node.op.name not in ("Input", "Param")
        if free and users and all(u in found for u in users) and len({found[u] for u in users}) == 1:
            found[id] = found[users[0]]
    return found


def _check(graph: Graph, turn_of: dict[int, Turn], place: dict[Turn, int]) -> None:
    """LoweringError GC112 where a turn needs what a later one makes."""
    for id, turn in turn_of.items():
        for p in graph.node(id).predecessors():
            if p in turn_of and place[turn_of[p]] > place[turn]:
                raise LoweringError(
                    f"micro batch {turn.micro} needs what micro batch {turn_of[p].micro} makes later: that is not available"
                    " with pipeline_stages",
                    code="GC112",
                    loc=graph.node(id).loc,
                    nodes=[id],
                )


def turns_until_sent(distance: int) -> int:
    """In which turn after its own, at the end, a stage waits for what it has sent to one so many stages away.

    Earlier two stages could wait for each other: one to have sent, the other for what the first one makes next.
    """
    return 2 * distance - 1


def _ends_of_sends(graph: Graph, turn_of: dict[int, Turn], turns: Sequence[Turn]) -> dict[int, list[int]]:
    """The waits for what has been sent, by the number of the turn at whose end they stand."""
    found: dict[int, list[int]] = {}
    me = processes.rank(processes.MODEL)
    for node in graph:
        if node.op.name == "SendEnd" and node.inputs[1].node in turn_of:
            own = turns.index(turn_of[node.inputs[1].node])
            end = own + turns_until_sent(abs(node.attrs["peer"] - me))
            found.setdefault(min(end, len(turns) - 1), []).append(node.id)
    return found


def _wait(graph: Graph, id: int, before: int) -> None:
    graph.set_node(id, after=(*graph.node(id).after, before))


def _barrier(graph: Graph, like: Node, after: Sequence[int]) -> int:
    """A node that computes nothing, behind others."""
    value = Data(np.asarray(True), type=TensorType("bool", ()))
    return graph.add(
        "Constant",
        attrs={"value": value},
        types=(value.type,),
        after=after,
        loc=like.loc,
        region=like.region,
        origin=Origin("order_stages", "turn"),
    ).id
