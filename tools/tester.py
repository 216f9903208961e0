"""Runs tests in forks of one process that has already imported what most of them need: a mutant costs no start of Python.

Reads lines of JSON ({"arguments": [...], "chosen": file, "limit": CPU seconds}) and answers each with a return code.
"""

from __future__ import annotations

import importlib
import json
import os
import resource
import signal
import sys

# Nothing of ours, and nothing that starts threads: each fork imports the broken package itself.
READY = "numpy cffi hypothesis hypothesis.stateful pytest _pytest.assertion.rewrite xdist pytest_timeout click rich PIL.Image"


def run(arguments: list[str], chosen: str, limit: int) -> int:
    """The return code of pytest in a fork; minus a signal's number when one has ended it."""
    child = os.fork()
    if child:
        _, status = os.waitpid(child, 0)
        return os.waitstatus_to_exitcode(status)
    os.setsid()
    quiet = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(quiet, stream)
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 5))
    signal.alarm(2 * limit)  # one that waits for ever uses no CPU time
    import pytest
    import recording

    recording.CHOSEN = chosen
    code = 3
    try:
        code = int(pytest.main(arguments, plugins=[recording]))
    finally:
        os._exit(code)


def main() -> None:
    """Answer until nothing more is asked."""
    sys.path.pop(0)  # this folder: it has a module with the name of one that a framework imports
    for name in READY.split():
        importlib.import_module(name)
    for line in sys.stdin:
        print(run(**json.loads(line)), flush=True)


if __name__ == "__main__":
    main()
