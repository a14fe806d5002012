"""`python -m bench.soak` is `dragoman bench soak`."""

from __future__ import annotations

import sys

from serving.cli import main

raise SystemExit(main(["bench", "soak", *sys.argv[1:]]))
