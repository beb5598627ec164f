"""What makes MindRecord files of other files."""
