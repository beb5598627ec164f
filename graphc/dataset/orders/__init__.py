"""In which order samples come: the generators of C++'s standard library, so that the same seed gives MindSpore's order."""
