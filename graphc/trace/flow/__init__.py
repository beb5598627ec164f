"""Control flow that tensors decide, as nodes of a graph: branches, loops, `match`, `try` and what they do to names."""
