# The newcomer's path: make demo, make test. Everything lands in .venv and build/. `make help` lists the rest.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
CORE := $(VENV)/.core
STAMP := $(VENV)/.installed
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-warn-script-location
NO_PACKAGES := pip could not install the packages above: look at the network, or at the index that pip is told to use
NO_CPU_BUILD := pip's index has no CPU build of torch, so its usual one is installed, on Linux with gigabytes of CUDA: \
make test TORCH_INDEX=URL names an index of CPU builds
NEWEST := build/newest-gymnasium
# PyTorch's own index of CPU builds, where the configured index has only the build for CUDA: make test TORCH_INDEX=URL
TORCH_INDEX ?=
TORCH := $(shell sed -n 's/^torch==//p' requirements/torch.txt)

.DEFAULT_GOAL := install
.PHONY: help check install build demo test lint types bench golden gallery fuzz sanitize torture mutants coverage docs web venvs ready engine-bundle wheel clean

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 22

check: ## look for what a build needs: Python, venv, headers, a C compiler, the engine's source
	@$(PYTHON) native/check.py

install: build ## build the package into .venv, with its command line

# Only what a build and the command line need: this is what a newcomer waits for.
$(CORE): pyproject.toml requirements/build.txt requirements/core.txt
	@$(PYTHON) native/check.py
	@echo "making $(VENV)"
	@$(PYTHON) native/check.py --venv $(VENV)
	@echo "installing the build tools, numpy, click, rich and pillow"
	@$(PIP) -r requirements/build.txt -r requirements/core.txt || { echo "$(NO_PACKAGES)"; exit 1; }
	@touch $(CORE)

# All frameworks, and what tests them. torch comes first, so that nothing else chooses a build of it.
$(STAMP): $(CORE) requirements/torch.txt requirements/test.txt
	@echo "installing torch $(TORCH) for the CPU"
	@$(PIP) $(if $(TORCH_INDEX),--extra-index-url $(TORCH_INDEX)) "torch==$(TORCH)+cpu" 2>/dev/null \
	|| { echo "$(NO_CPU_BUILD)"; $(PIP) -r requirements/torch.txt; }
	@echo "installing the frameworks and the test tools: this takes minutes"
	@$(PIP) -r requirements/test.txt
	@touch $(STAMP)

# Frameworks whose packages exclude those of others have venvs of their own; sheeprl's is made when its test asks for it.
venvs: build/venvs/openenv/.installed build/venvs/verifiers/.installed ## install OpenEnv and verifiers for the tests
build/venvs/%/.installed: requirements/%.txt
	@echo "installing $* into a venv of its own"
	@$(PYTHON) -m venv build/venvs/$*
	@build/venvs/$*/bin/python -m pip install --quiet --disable-pip-version-check -r $< || { echo "$(NO_PACKAGES)"; exit 1; }
	@touch $@

# The build tools stay in .venv, without isolation: then a second build finds the objects of the first, and ninja does
# only what is needed.
build: $(CORE)
	@echo "building puzzleport"
	@$(PIP) --no-build-isolation --no-deps --editable .

demo: build ## watch the expert solve puzzles in the terminal; nothing but the core is installed
	@$(BIN)/puzzleport demo --out build/demo

# Everything that a test would otherwise wait for; with --jobs=2 one is downloaded while another is compiled.
ready: $(STAMP) venvs $(if $(shell command -v emcmake),web) ## install and build all that the tests need

# The second run is for the other end of the Gymnasium releases that are supported.
# What one worker or process has compiled serves the others, also where a machine's own settings forbid it.
test: export PYTHONDONTWRITEBYTECODE :=
test: ready build lint types ## install all frameworks and run every test
	$(BIN)/python -m pytest -n auto --dist worksteal
	$(PIP) --upgrade --no-deps --target $(NEWEST) 'gymnasium<2'
	PYTHONPATH=$(NEWEST) $(BIN)/python -m pytest -n auto -q tests/adapters/test_gymnasium.py tests/adapters/test_minari.py
	$(BIN)/python tools/mutants.py --fixed --jobs 1

lint: $(STAMP) ## check style
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	find native -name engine -prune -o -name '*.[ch]' -print | xargs $(BIN)/clang-format --dry-run --Werror

types: $(STAMP) build ## check types
	$(BIN)/python tools/check_types.py

bench: build ## measure steps a second
	$(BIN)/puzzleport bench

golden: $(STAMP) build ## write the golden playthroughs and pictures anew
	$(BIN)/python -m tests.golden_playthrough
	$(BIN)/python -m tests.golden_fields
	$(BIN)/python -m tests.golden_hints
	$(BIN)/python -m tests.golden_lengths
	$(BIN)/python -m tests.golden_signatures
	$(BIN)/python -m tests.golden_words

gallery: build ## draw the contact sheet of all puzzles
	$(BIN)/python tools/gallery.py docs/gallery.png

docs: $(STAMP) build ## write the pages of the puzzles and build the site
	$(BIN)/python tools/docs.py
	$(BIN)/python -m mkdocs build --strict

web: $(CORE) ## build the session for browsers into build/web, with emscripten
	@command -v emcmake >/dev/null || { echo "make web needs emscripten: apt-get install emscripten" >&2; exit 1; }
	@echo "building build/web/puzzleport.wasm"
	@mkdir -p build && PATH="$(abspath $(BIN)):$$PATH" emcmake cmake -S native -B build/web/native -G Ninja >build/web.log 2>&1 \
	&& $(BIN)/cmake --build build/web/native >>build/web.log 2>&1 || { tail -20 build/web.log >&2; exit 1; }
	@cp -r web/. build/web/native/puzzleport.wasm build/web/
	@if $(BIN)/python -c "import puzzleport" 2>/dev/null; \
	then $(BIN)/puzzleport export --published --out build/web/agents; \
	else mkdir -p build/web/agents && echo "{}" >build/web/agents/list.json; fi

fuzz: $(STAMP) build ## fuzz the C side
	bash tools/fuzz.sh

sanitize: $(STAMP) build ## run the C side under sanitizers
	bash tools/sanitize.sh

engine-bundle: ## write the engine's tarball to engine/, where builds without a network find it
	@$(PYTHON) native/engine.py --bundle engine

# The tag says which systems can load it: it follows from the C library that it was linked with here.
wheel: $(STAMP) ## write a manylinux wheel for this Python to dist/
	rm -rf build/wheel
	$(BIN)/python -m pip wheel --quiet --no-build-isolation --no-deps --wheel-dir build/wheel .
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m auditwheel repair --wheel-dir dist build/wheel/*.whl

torture: $(STAMP) build ## hostile threads, forks, signals, exits and saves; SECONDS=3600 for longer
	$(BIN)/python -m tests.torture --seconds $(or $(SECONDS),300)

coverage: $(STAMP) build ## count which lines and branches the tests run, and remember which test runs which line
	$(BIN)/python tools/covered.py

build/coverage/record.pickle:
	$(MAKE) coverage

mutants: $(STAMP) build build/coverage/record.pickle ## break one line at a time and see whether the tests notice
	$(BIN)/python tools/mutants.py --sample $(or $(SAMPLE),300) --out build/mutants.csv

clean: ## remove what was built and installed
	rm -rf $(VENV) build dist site
