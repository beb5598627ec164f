"""Where rows come from: arrays, users' objects, files."""
