"""Python's statements in users' functions, rewritten so that tensors may decide them: which functions need it, and how."""
