# Two commands: `make lab` opens the course, `make test` checks it. Needs python3 (3.11 to 3.13) with venv, and nothing else.
PYTHON ?= python3
PORT ?= 8888
BIN := .venv/bin
# uv does not read pip's settings; a folder of wheels that pip knows serves uv too.
export UV_FIND_LINKS ?= $(shell $(PYTHON) -m pip config get global.find-links 2>/dev/null)
export KERAS_BACKEND ?= tensorflow

.DEFAULT_GOAL := help
.PHONY: help lab test export run lint bench pins clean

help:  ## list the targets
	@grep -E '^[a-z.]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/'

.venv/installed: requirements.txt pyproject.toml
	@$(PYTHON) -c 'import sys; v = sys.version_info[:2]; (3, 11) <= v <= (3, 13) or sys.exit("Python 3.11, 3.12 or 3.13 is needed, and $(PYTHON) is %d.%d: name another with make PYTHON=python3.11" % v)'
	$(PYTHON) -m venv --clear .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	$(BIN)/uv pip install --quiet --compile-bytecode --python $(BIN)/python -r requirements.txt
	$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation --editable .
	@touch $@

lab: .venv/installed  ## set up, trust the notebooks and open JupyterLab on the map
	$(BIN)/jupyter trust notebooks/*.ipynb notebooks/*/*.ipynb > /dev/null
	$(BIN)/jupyter lab --port=$(PORT) $(if $(filter 0,$(shell id -u)),--allow-root) --LabApp.default_url=/lab/tree/notebooks/00_start_here.ipynb

test: .venv/installed  ## set up and run every unit test and every notebook
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n 2

export: .venv/installed  ## write shared/<track>/<chapter>.py from the notebooks' export cells
	$(BIN)/python tools/notebooks.py export

run: .venv/installed  ## execute every notebook again and store its outputs
	$(BIN)/python tools/notebooks.py run

lint: .venv/installed  ## check code and notebooks with ruff
	$(BIN)/ruff check . && $(BIN)/ruff format --check .

bench: .venv/installed  ## measure what the course says of speed; prints ratios
	for script in tests/benchmarks/bench_*.py; do $(BIN)/python $$script || exit 1; done

pins: .venv/installed  ## resolve requirements.txt again from pyproject.toml
	$(BIN)/uv pip compile --quiet --python-version 3.11 --no-header --no-annotate pyproject.toml | sed 's/+cpu//' > requirements.part
	mv requirements.part requirements.txt

clean:  ## remove everything that can be made again
	rm -rf .venv *.egg-info .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -prune -exec rm -rf {} + ; find . -name .ipynb_checkpoints -prune -exec rm -rf {} +
