"""The pages of ``puzzleport studio``: the session in WebAssembly, trained policies for it, and a server for this machine."""

from __future__ import annotations

import base64
import http.server
import json
from collections.abc import Callable
from http import HTTPStatus
from pathlib import Path
from typing import Any

import numpy as np

from . import _native, agents
from .agents.published import Agent
from .benchmark import recording
from .errors import UnknownOption

POLICY_FORMAT = "puzzleport policy 1"
# Nothing but what we serve, and no code but that of our files: recordings come from anywhere.
HEADERS = {
    "Content-Security-Policy": "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; img-src 'self' data:",
    "Cache-Control": "no-cache",
    "X-Content-Type-Options": "nosniff",
}
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".wasm": "application/wasm",
    ".json": "application/json",
}


PLAYED = ("dense", "axial", "lines")
"""The networks that ``web/policy.js`` has."""


def web_folder() -> Path:
    """Where the pages and the module are: in a checkout what ``make web`` made last, else in the installed package."""
    assert _native.__file__ is not None
    for folder in (Path(__file__).resolve().parents[1] / "build" / "web", Path(_native.__file__).parent / "web"):
        if (folder / "puzzleport.wasm").is_file():
            return folder
    raise FileNotFoundError(
        "this installation was built without the session for browsers: run make web in a checkout, then install again"
    )


# ---- policies


def as_policy(agent: Agent) -> dict[str, Any]:
    """A trained agent in the form that ``web/policy.js`` plays."""
    if agent.shape.kind not in PLAYED:
        raise UnknownOption(f"the pages play networks of the kinds {', '.join(PLAYED)}, not {agent.shape.kind}")
    shape = {name: int(agent.about[name]) for name in ("layers", "width", "height_cells", "width_cells", "features")}
    about = {
        "puzzle": agent.puzzle,
        "params": agent.params,
        "actions": list(agent.actions),
        "masked": agent.masked,
        "temperature": agent.temperature,
        "kind": agent.shape.kind,
        **shape,
    }
    arrays = {}
    for name, array in agent.weights.items():
        dtype, kind = ("F16", "<f2") if array.dtype.kind == "f" else ("I32", "<i4")
        data = base64.b64encode(np.ascontiguousarray(array, kind).tobytes()).decode("ascii")
        arrays[name] = {"dtype": dtype, "shape": list(array.shape), "data": data}
    return {"format": POLICY_FORMAT, "about": about, "arrays": arrays}


def published_policies() -> dict[str, Callable[[], dict[str, Any]]]:
    """What makes the policy of each published agent, by the name of its file."""
    return {
        f"{name}.json": lambda name=name: as_policy(agents.load(*name.rsplit("-", 1)))  # type: ignore[misc]
        for name in agents.available()
    }


def list_of_policies() -> dict[str, str]:
    """The files of the published policies by puzzle and parameters, as the pages ask for them."""
    cards = {name: agents.card(name) for name in agents.available()}
    return {f"{card['puzzle']} {card['params']}": f"{name}.json" for name, card in cards.items()}


# ---- the server


def recorded_lines(path: str | Path) -> bytes:
    """A recording as plain lines of JSON, after a look whether it is one."""
    lines = []
    for section in recording.load(path):
        lines.append({"format": recording.FORMAT, **vars(section.header)})
        lines += [vars(game) for game in section.games]
    return "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines).encode()


class _Handler(http.server.BaseHTTPRequestHandler):
    """Serves files of one folder, by their plain names, and what is made on the fly."""

    server: Studio

    def do_GET(self) -> None:
        name = self.path.split("?")[0].lstrip("/") or "studio.html"
        content = self.server.content(name)
        if content is None:
            self.send_error(HTTPStatus.NOT_FOUND)
            return
        self.send_response(HTTPStatus.OK if content else HTTPStatus.NO_CONTENT)
        for header, value in HEADERS.items():
            self.send_header(header, value)
        if content:
            self.send_header("Content-Type", TYPES.get(Path(name).suffix, "text/plain; charset=utf-8"))
            self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *arguments: Any) -> None:  # noqa: A002, ANN401 (as the base class has it)
        pass


class Studio(http.server.ThreadingHTTPServer):
    """A server of the pages, for this machine alone.

    Args:
        port: 0 for any that is free.
        recorded: the lines of a recording to show; empty for none.
        folder: of the pages; by default those of this installation.
    """

    daemon_threads = True

    def __init__(self, port: int = 0, recorded: bytes = b"", folder: Path | None = None) -> None:
        self.folder = web_folder() if folder is None else folder
        self._files = {path.name: path for path in self.folder.iterdir() if path.is_file()}
        self._recorded = recorded
        self._policies = published_policies()
        super().__init__(("127.0.0.1", port), _Handler)

    @property
    def address(self) -> str:
        """Where a browser finds the pages."""
        return f"http://127.0.0.1:{self.server_address[1]}/"

    def content(self, name: str) -> bytes | None:
        """What stands under a name; None where there is nothing."""
        if name == "recording.jsonl":
            return self._recorded
        if name == "agents/list.json":
            return json.dumps(list_of_policies()).encode()
        if name.startswith("agents/") and name.removeprefix("agents/") in self._policies:
            return json.dumps(self._policies[name.removeprefix("agents/")]()).encode()
        path = self._files.get(name)
        return None if path is None else path.read_bytes()


def write_policies(folder: Path) -> int:
    """Write the published policies and their list, for a site; returns how many there are."""
    folder.mkdir(parents=True, exist_ok=True)
    policies = published_policies()
    for name, make in policies.items():
        (folder / name).write_text(json.dumps(make()))
    (folder / "list.json").write_text(json.dumps(list_of_policies()))
    return len(policies)
