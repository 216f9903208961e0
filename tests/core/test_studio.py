"""The server of the studio's pages: what it serves, and what it does not."""

from __future__ import annotations

import http.client
import json
import threading
import urllib.request
from pathlib import Path

import pytest

import puzzleport as pp
from puzzleport.studio import HEADERS, Studio

PAGE, LINES = b"<!doctype html>", b'{"format":"none"}\n'


@pytest.fixture
def get(tmp_path: Path):
    """Asks a server of one page for a name; returns status, type and content."""
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "studio.html").write_bytes(PAGE)
    (tmp_path / "secret.txt").write_text("not for others")

    def call(name: str, recorded: bytes = b"") -> tuple[int, str | None, bytes]:
        with Studio(recorded=recorded, folder=tmp_path / "pages") as server:
            threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
            asked = http.client.HTTPConnection(*server.server_address[:2])
            asked.request("GET", name)
            answer = asked.getresponse()
            content = answer.read()
            asked.close()
            server.shutdown()
        if answer.status != 404:
            assert {name: answer.headers[name] for name in HEADERS} == HEADERS
        return answer.status, answer.headers["Content-Type"], content

    return call


def test_pages_are_served_by_their_names_and_nothing_else(get):
    for name in ("/", "/studio.html", "/studio.html?puzzle=net"):
        status, kind, content = get(name)
        assert (status, kind.split(";")[0], content) == (200, "text/html", PAGE)
    for name in ("/absent.html", "/../secret.txt", "/agents/absent.json", "/agents/"):
        status, _, content = get(name)
        assert status == 404
        assert b"not for others" not in content


def test_the_page_is_at_the_address_that_is_told(tmp_path):
    (tmp_path / "studio.html").write_bytes(PAGE)
    with Studio(folder=tmp_path) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        with urllib.request.urlopen(server.address) as answer:
            assert answer.read() == PAGE
        server.shutdown()


def test_a_recording_is_served_and_none_is_no_content(get):
    assert get("/recording.jsonl", LINES)[::2] == (200, LINES)
    assert get("/recording.jsonl")[::2] == (204, b"")


def test_the_published_policies_are_listed_and_served(get):
    listed = json.loads(get("/agents/list.json")[2])
    assert len(listed) == len(pp.agents.available())
    status, kind, content = get(f"/agents/{next(iter(listed.values()))}")
    assert (status, kind.split(";")[0]) == (200, "application/json")
    assert json.loads(content)
