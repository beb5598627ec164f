"""What `construct` changes: attributes, lists and dicts of Cells, containers in branches, objects that outlive a call."""
