"""A pass of this project's own."""


def drop_unsmoothed(graph):
    """Smooth(x) {alpha=0.0}  ->  x"""
    found = [n.id for n in graph if n.op.name == "Smooth" and n.attrs["alpha"] == 0]
    if not found:
        return graph
    made = graph.copy()
    for id in found:
        made.replace_node(id, made.node(id).inputs)
    made.prune()
    return made
