"""Golden files, wherever in here, are collected by graphc's own plugin, installed or not."""

pytest_plugins = ["graphc.testing.plugin", "pytester"]
