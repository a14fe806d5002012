"""What all tests need."""

from __future__ import annotations

import signal


def pytest_configure() -> None:
    """Let programs that tests start hear Ctrl-C, even where a shell's background job does not."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
