"""Random programs, compared in every way of running them with NumPy in float64. `python -m tests.fuzz --help`."""
