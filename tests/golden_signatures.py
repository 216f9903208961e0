"""How everything can be called: ``python -m tests.golden_signatures`` writes tests/golden/signatures.txt anew."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parents[1]
PATH = ROOT / "tests" / "golden" / "signatures.txt"
# A program, and what needs packages that exclude those of others: tests in venvs of their own call these.
LEFT_OUT = {"__main__.py", "adapters/openenv.py", "adapters/sheeprl.py", "adapters/verifiers.py"}


def modules() -> list[ModuleType]:
    """All modules of the package."""
    files = [path.relative_to(ROOT / "core") for path in (ROOT / "core").rglob("*.py")]
    files += [path.relative_to(ROOT) for path in (ROOT / "adapters").glob("*.py")]
    names = sorted(".".join(file.with_suffix("").parts) for file in files if file.as_posix() not in LEFT_OUT)
    return [importlib.import_module(f"puzzleport.{name}".removesuffix(".__init__")) for name in names]


def form(found: object) -> str:
    """How it is called: the parameters by name, which of them by name alone, and what they are when they are left out."""
    try:
        signature = inspect.signature(found)  # type: ignore[arg-type]
    except (TypeError, ValueError):  # not to be called, or not written in Python
        return ""
    plain = [one.replace(annotation=inspect.Parameter.empty) for one in signature.parameters.values()]
    told = str(inspect.Signature(plain))
    return re.sub(r" (at 0x|from ')[^ >]*", "", told)  # where something lies differs


def lines_of(module: ModuleType) -> Iterator[str]:
    """One line for each public function, class and method of a module."""
    for name, found in sorted(vars(module).items()):
        if name.startswith("_") or getattr(found, "__module__", None) != module.__name__:
            continue
        calls = {name: found}
        if inspect.isclass(found):
            public = {f"{name}.{method}": call for method, call in vars(found).items() if not method.startswith("_")}
            calls |= {path: getattr(call, "__func__", call) for path, call in public.items()}  # also class methods
        for path, call in sorted(calls.items()):
            if told := form(call):
                yield f"{module.__name__}.{path}{told}"


def text() -> str:
    """The whole file."""
    return "".join(f"{line}\n" for module in modules() for line in lines_of(module))


if __name__ == "__main__":
    PATH.write_text(text())
