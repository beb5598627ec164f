"""Arguments of graphc's own functions and classes: whether they fit, what kinds are taken, and what is said if they do not."""
