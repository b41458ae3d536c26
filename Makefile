# Everything runs in .venv, which `make setup` fills from requirements-dev.lock; the other targets call it when needed.
SHELL := /bin/bash
.DEFAULT_GOAL := help
.PHONY: help setup demo test check docs bench bench-detection wheel lock clean
BIN := .venv/bin

help:  ## show this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 12

setup: .venv/.ready  ## create .venv and install the locked packages

.venv/.ready: requirements-dev.lock pyproject.toml scripts/setup.sh
	@bash scripts/setup.sh

demo: setup  ## watch recorded agents fail, with everything started here; ONCE=1 ends by itself
	@$(BIN)/python deploy/demo/demo.py $(if $(ONCE),--once)

test: setup  ## all tests
	$(BIN)/python -m pytest

check: setup  ## lint, types, docs and house rules
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	MYPYPATH=examples/returns_desk $(BIN)/mypy examples/returns_desk/serve.py examples/returns_desk/as_command.py examples/returns_desk/conftest.py
	MYPYPATH=deploy/grafana $(BIN)/mypy deploy/grafana/build.py
	MYPYPATH=docs $(BIN)/mypy docs/generate.py deploy/demo/demo.py .ci/wheel_check.py
	$(BIN)/python -m pytest -q tests/unit/test_imports.py tests/unit/test_house.py tests/unit/test_docs.py

docs: setup  ## write the generated pages of docs/ anew
	$(BIN)/python docs/generate.py

bench: setup  ## measure speed; prints, never fails on a figure
	@for script in tests/bench/*.py; do [ -e "$$script" ] || continue; echo "== $$script"; $(BIN)/python "$$script" || exit 1; done

bench-detection: setup  ## precision and recall of each rule on the labelled corpus
	@$(BIN)/python -m tests.corpus

wheel: setup  ## build dist/*.whl from the locked build tools
	@rm -rf build dist
	$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation --wheel-dir dist .
	@ls dist

UV_COMPILE = uv pip compile pyproject.toml --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --no-emit-find-links --custom-compile-command "make lock" --quiet

lock:  ## resolve the dependencies anew (needs uv)
	$(UV_COMPILE) --upgrade --output-file requirements.lock
	$(UV_COMPILE) --upgrade --group dev --constraint requirements.lock --output-file requirements-dev.lock

clean:  ## remove everything that the other targets made
	rm -rf .venv build dist demo-data *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage
	find . -name __pycache__ -prune -exec rm -rf {} +
