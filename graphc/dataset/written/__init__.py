"""Data sets as JSON, and back (MindSpore: mindspore.dataset.serialize)."""
