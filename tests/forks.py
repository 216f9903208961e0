"""Runs scripts in forks of one process that has imported the frameworks: this takes longer than what the scripts do here.

Each script has a process of its own all the same, with its own arguments, folder and output. Nothing that is imported ahead
starts threads before it is used, so a fork is sound. As a program it reads lines of JSON and answers each with a return code.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import json
import os
import runpy
import subprocess
import sys
import threading
import traceback
from pathlib import Path

READY = (
    "numpy torch gymnasium stable_baselines3 sb3_contrib tensorboard.compat.tf minari tqdm.rich "
    "jax jax.numpy flax.linen optax rlax dm_env acme tianshou.algorithm tianshou.trainer torchrl.envs torchrl.modules"
)


class Forks:
    """The process that has imported the frameworks."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self.folder, self.environment = folder, environment
        self.process: subprocess.Popen[str] | None = None

    def run(self, script: Path, *arguments: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
        """As ``subprocess.run([sys.executable, script, *arguments], capture_output=True, text=True)``."""
        if self.process is None:
            self.process = subprocess.Popen(
                [sys.executable, __file__],
                env=self.environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
        out, err = self.folder / "stdout", self.folder / "stderr"
        asked = {"script": str(script), "arguments": arguments, "cwd": str(cwd), "out": str(out), "err": str(err)}
        asked["environment"] = environment
        self.process.stdin.write(json.dumps(asked) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        assert answer, "the process that runs the scripts has ended"
        return subprocess.CompletedProcess([script, *arguments], int(answer), out.read_text(), err.read_text())

    def close(self) -> None:
        if self.process is not None:
            self.process.stdin.close()
            self.process.wait()


def run(script: str, arguments: list[str], cwd: str, out: str, err: str, environment: dict[str, str]) -> int:
    """The return code of a script in a fork; minus a signal's number when one has ended it."""
    child = os.fork()
    if child:
        _, status = os.waitpid(child, 0)
        return os.waitstatus_to_exitcode(status)
    os.chdir(cwd)
    os.environ.update(environment)
    for stream, path in ((1, out), (2, err)):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), stream)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    sys.argv, sys.path[0] = [script, *arguments], str(Path(script).parent)
    try:
        runpy.run_path(script, run_name="__main__")
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
        if code and not isinstance(end.code, int):
            print(end.code, file=sys.stderr)
    except BaseException:
        traceback.print_exc()
        code = 1
    # As a script ends, but for the frameworks: to take apart all that was imported would take longer than most scripts.
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def main() -> None:
    for name in READY.split():
        with contextlib.suppress(ImportError):  # an extra that is not installed: a script that needs it says so
            importlib.import_module(name)
    gc.freeze()  # or the collection at the end of every fork touches, and so copies, all that was imported: two seconds each
    answers = os.fdopen(os.dup(1), "w")
    for line in sys.stdin:
        print(run(**json.loads(line)), file=answers, flush=True)


if __name__ == "__main__":
    main()
