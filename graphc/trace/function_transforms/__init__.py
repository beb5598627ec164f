"""Gradients, tangents and maps of functions, as nodes of a graph."""
