"""``puzzleport studio`` from an installed wheel, with nothing of the checkout in reach."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import urllib.request
import zipfile

import pytest

from ..test_packaging import ROOT, install_alone, make_wheel

pytestmark = pytest.mark.slow


def test_a_wheel_shows_a_recording_and_says_what_to_do_without_the_module(module, tmp_path):
    wheel = make_wheel(tmp_path)
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    pages = {path.name for path in (ROOT / "web").iterdir()}
    assert {f"puzzleport/web/{name}" for name in pages | {"puzzleport.wasm"}} <= names

    python, site = install_alone(wheel, tmp_path, ["numpy", "cffi", "click", "rich"])
    options = {"cwd": tmp_path, "env": {"PATH": "", "HOME": str(tmp_path)}, "text": True}
    puzzleport = [str(python), "-m", "puzzleport"]
    words = ["evaluate", "--policy", "published", "--puzzle", "net", "--episodes", "2", "--record", "run.jsonl.gz"]
    subprocess.run([*puzzleport, *words], **options, check=True, capture_output=True)

    studio = [*puzzleport, "studio", "run.jsonl.gz", "--no-browser"]
    with subprocess.Popen(studio, **options, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as server:
        line = server.stdout.readline()
        try:
            address = re.match(r"(http://127\.0\.0\.1:\d+/) shows the studio", line)[1]

            def content(name):
                with urllib.request.urlopen(address + name, timeout=60) as answer:
                    return answer.read()

            assert content("") == (ROOT / "web" / "studio.html").read_bytes()
            for name in pages:
                assert content(name) == (ROOT / "web" / name).read_bytes()
            assert content("puzzleport.wasm") == (module / "puzzleport.wasm").read_bytes()
            assert b'"net 2x2"' in content("agents/list.json")
            assert content("recording.jsonl").count(b'"probabilities":[[') == 2
        finally:
            os.kill(server.pid, signal.SIGINT)
        assert server.wait(60) == 0

    # A build without `make web` leaves out this one file.
    (site / "puzzleport" / "web" / "puzzleport.wasm").unlink()
    refused = subprocess.run(studio, **options, check=False, capture_output=True)
    assert refused.returncode
    said = " ".join((refused.stdout + refused.stderr).split())
    assert "Traceback" not in said
    assert said.endswith(
        "this installation was built without the session for browsers: run make web in a checkout, then install again"
    )
