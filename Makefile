# Two commands are all the set-up: `make demo` and `make test`. Each prepares .venv by itself.
PYTHON ?= python3.11
BIN := .venv/bin
SOURCES := constraints.txt pyproject.toml packages/ecg-ontology/pyproject.toml packages/marecg-model/pyproject.toml cli/pyproject.toml

.PHONY: install demo test lint wheels bench docs clean

install: .venv/.installed

# torch comes first and alone: with it in place, no later package asks for another build of it.
.venv/.installed: $(SOURCES)
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --upgrade -c constraints.txt pip
	$(BIN)/pip install --quiet "$$(grep '^torch==' constraints.txt)"
	$(BIN)/pip install --quiet -c constraints.txt --group dev \
		-e "packages/ecg-ontology[all]" -e "packages/marecg-model[all]" -e "cli"
	touch $@

demo: install
	$(BIN)/marecg demo

test: install
	$(BIN)/pytest -n 2

lint: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# The three wheels, in an empty environment without the source tree.
wheels: install
	.ci/wheels

# Ratios against named baselines, on a machine that does nothing else.
bench: install
	$(BIN)/marecg bench --out bench.json

docs: install
	$(BIN)/pip install --quiet -c constraints.txt --group docs
	$(BIN)/zensical build --strict --clean

clean:
	rm -rf .venv dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache
