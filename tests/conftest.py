"""Golden files, wherever in here, are collected by graphc's own plugin, installed or not."""

import signal

pytest_plugins = ["graphc.testing.plugin", "pytester"]

# A shell lets what it runs in the background ignore Ctrl-C, and programs that a test starts and interrupts would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
