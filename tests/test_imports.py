"""Dependencies point one way: native, core, adapters, command line."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CORE, ADAPTERS = ROOT / "core", ROOT / "adapters"
STANDARD = set(sys.stdlib_module_names) | {"__future__"}

# What a part of core may use beside numpy, cffi and itself; each is an extra, imported where it is needed only.
LAZY = {
    "cli": {"click", "rich", "pygame"},
    "window.py": {"pygame"},
    "animation.py": {"PIL", "imageio_ffmpeg"},
    "benchmark": {"matplotlib", "pyarrow", "scipy"},
}
# The framework of each adapter, and the adapters that it builds on because their frameworks do.
FRAMEWORKS = {
    "dm_env": {"dm_env"},
    "gymnasium": {"gymnasium"},
    "gymnasium_bench": {"gymnasium"},
    "gymnasium_spaces": {"gymnasium"},
    "gymnasium_vector": {"gymnasium"},
    "jax": {"jax"},
    "jax_alphazero": {"jax", "mctx", "optax"},
    "jax_bench": {"jax", "jumanji", "pgx"},
    "jax_dagger": {"jax", "optax"},
    "jax_muzero": {"jax", "mctx", "optax"},
    "jax_ppo": {"jax", "optax"},
    "jax_train": {"jax", "optax"},
    "mcp": {"mcp", "PIL"},
    "minari": {"minari", "gymnasium", "h5py", "PIL"},
    "openenv": {"openenv", "pydantic", "uvicorn", "fastapi"},
    "openspiel": {"pyspiel", "open_spiel"},
    "openspiel_race": {"pyspiel", "open_spiel"},
    "openspiel_bench": {"pyspiel", "open_spiel"},
    "pettingzoo": {"pettingzoo", "gymnasium"},
    "ray": {"ray"},
    "reasoning_gym": {"reasoning_gym"},
    "rllib": {"ray", "pettingzoo", "gymnasium"},
    "rlp": {"gymnasium"},
    "sb3": {"stable_baselines3", "gymnasium"},
    "sb3_train": {"stable_baselines3", "sb3_contrib", "torch", "tensorboard", "gymnasium"},
    "sheeprl": {"sheeprl", "hydra", "omegaconf", "lightning", "torch", "cv2", "gymnasium"},
    "torchrl": {"torchrl", "tensordict", "torch"},
    "torchrl_bench": {"torchrl", "tensordict", "torch"},
    "verifiers": {"verifiers"},
}


def imports(path: Path) -> set[tuple[str, bool]]:
    """The modules that a file imports, in full, and whether it does so when it is itself imported."""
    tree = ast.parse(path.read_text())
    top = {id(node) for node in tree.body}
    for (
        node
    ) in tree.body:  # `try: import x except ImportError: raise` is at the top as well; `if TYPE_CHECKING:` is not
        if isinstance(node, ast.Try):
            top |= {id(one) for one in node.body}
    package = (
        ["puzzleport", *path.relative_to(CORE).parts[:-1]] if path.is_relative_to(CORE) else ["puzzleport", "adapters"]
    )
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {(alias.name, id(node) in top) for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            names = [".".join([*base, *([node.module] if node.module else [])])]
            if node.module is None or names[0] in {"puzzleport", "puzzleport.adapters"}:
                names = [f"{names[0]}.{alias.name}" for alias in node.names]
            found |= {(name, id(node) in top) for name in names}
    return found


def outside(path: Path) -> dict[str, bool]:
    """Packages that are neither ours nor Python's, and whether any import of them is at the top."""
    result: dict[str, bool] = {}
    for name, top in imports(path):
        root = name.split(".")[0]
        if root != "puzzleport" and root not in STANDARD:
            result[root] = result.get(root, False) or top
    return result


@pytest.mark.parametrize("path", sorted(CORE.rglob("*.py")), ids=lambda path: str(path.relative_to(ROOT)))
def test_core_imports_numpy_and_cffi_only(path):
    part = path.relative_to(CORE).parts[0]
    found = outside(path)
    typing = {"typing_extensions", "_typeshed"}
    assert found.keys() <= {"numpy", "cffi"} | typing | LAZY.get(part, set())
    for name, top in found.items():
        if name in typing or (name in LAZY.get(part, set()) and part not in {"cli", "window.py"}):
            assert not top, f"{name} is needed to import {path.name}"
    if part != "cli":
        assert not any(name.startswith("puzzleport.adapters") for name, _ in imports(path))
        assert not any(name.startswith("puzzleport.cli") for name, _ in imports(path) if path.name != "__main__.py")


@pytest.mark.parametrize("path", sorted(ADAPTERS.glob("[a-z]*.py")), ids=lambda path: path.stem)
def test_an_adapter_imports_core_and_its_own_framework(path):
    assert path.stem in FRAMEWORKS, f"name the framework of {path.name} here"
    allowed = FRAMEWORKS[path.stem]
    assert outside(path).keys() <= {"numpy", "typing_extensions"} | allowed
    for name, _ in imports(path):
        assert not name.startswith("puzzleport.cli")
        if name.startswith("puzzleport.adapters.") and name.count(".") >= 2:
            assert FRAMEWORKS[name.split(".")[2]] <= allowed


def test_importing_the_package_imports_no_framework():
    code = "import sys, puzzleport; print(*sorted({name.split('.')[0] for name in sys.modules}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    frameworks = set().union(*FRAMEWORKS.values()) | {"click", "rich", "matplotlib", "jax", "torchrl"}
    assert not frameworks & set(done.stdout.split())


def test_no_module_of_core_hides_a_public_function():
    import puzzleport as pp

    modules = {path.stem for path in CORE.glob("*.py")} | {path.name for path in CORE.iterdir() if path.is_dir()}
    hidden = [name for name in pp.__all__ if name in modules and callable(getattr(pp, name))]
    assert not hidden
