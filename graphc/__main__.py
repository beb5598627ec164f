"""`python -m graphc`: the graphc command."""

import sys

from graphc.inspect.cli import main

sys.exit(main())
