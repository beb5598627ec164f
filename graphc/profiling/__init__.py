"""How long the calls of a step take (`measure`), and of whom that is: Cells, ops and kernels (`shares`); as tables and traces.

A step is measured in a second build of the same program, whose calls count the processor's clock; the step itself has nothing of
it. What only needs a record of a step runs on one from another machine, too.
"""
