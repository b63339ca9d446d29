# Everything a person needs to run, test and check Concordance. `make help` lists it.
SHELL := /bin/bash
.DEFAULT_GOAL := help
.ONESHELL:
.SHELLFLAGS := -euo pipefail -c

BIN := .venv/bin
MANAGE := $(BIN)/python manage.py
# Compiled modules are kept, whatever the environment says: to compile all tests takes 20 seconds.
export PYTHONDONTWRITEBYTECODE :=
# One more than cores: tests with a browser or a killed process wait half of their time.
TEST_WORKERS ?= 3
TESTS ?=
DATASET ?=

.PHONY: help install install-dev install-model install-test-model run run-model test test-model check audit lock format bench clean reset

help: ## list these commands
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 14

install:
	@.ci/venv requirements.txt

install-dev:
	@.ci/venv requirements-dev.txt

install-model:
	@.ci/venv requirements-model.txt

install-test-model:
	@.ci/venv requirements-test-model.txt

run: install ## set everything up and serve it (PORT=8000), until Ctrl-C
	@exec $(MANAGE) run

run-model: install-model ## the same with a small language model on this machine (MODEL_FILE=path.gguf)
	@exec $(MANAGE) run --model

test: install-dev ## set everything up and run the tests (TESTS=tests/ingestion for some of them)
	@.ci/browser
	code=0
	$(BIN)/pytest -n $(TEST_WORKERS) --durations 10 $(TESTS) || code=$$?
	$(MANAGE) pg stop --test --if-idle >/dev/null || true
	exit $$code

test-model: install-test-model ## run the pipeline against a real language model on this machine, some minutes
	@code=0
	$(BIN)/pytest -m model tests/model || code=$$?
	$(MANAGE) pg stop --test --if-idle >/dev/null || true
	exit $$code

# mypy takes as long as all the others together: it runs beside them.
check: install-dev ## format, lint, import rules, types, templates, settings, migrations
	@set -x
	$(BIN)/mypy & types=$$!
	{ trap 'kill $$types 2>/dev/null || true' EXIT; } 2>/dev/null
	$(BIN)/python .ci/lock.py --check
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports
	$(BIN)/basedpyright
	$(BIN)/djlint --lint --check --quiet templates
	$(MANAGE) check
	$(MANAGE) makemigrations --check --dry-run
	wait $$types
	{ $(MANAGE) pg stop --if-idle >/dev/null || true; } 2>/dev/null

audit: ## look for known vulnerabilities and unwanted licences among the installed packages
	@.ci/venv requirements-audit.txt
	$(BIN)/python .ci/audit.py

lock: ## write the hashes of the required packages, after a version has changed
	@.ci/venv build.txt
	$(BIN)/python .ci/lock.py
	git diff --stat -- .ci/hashes

format: install-dev ## put code and templates into the house's form
	@$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
	$(BIN)/djlint --reformat --quiet templates || true

bench: install-dev ## run the benchmarks on a data set (DATASET=folder with documents.jsonl and questions.jsonl)
	@if [ -z "$(DATASET)" ]; then echo "Name a data set: make bench DATASET=path/to/folder"; exit 1; fi
	for benchmark in ingest search ask document_life; do
	  echo "== $$benchmark"; $(BIN)/python "benchmarks/$$benchmark.py" "$(DATASET)"
	done

clean: ## remove caches and the tests' database; documents stay
	@if [ -x $(BIN)/python ]; then $(MANAGE) pg stop --test >/dev/null 2>&1 || true; fi
	rm -rf "$$(realpath -m var/test-postgres)" var/test-postgres var/static
	rm -rf .pytest_cache .ruff_cache .mypy_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -not -path './.venv/*' -prune -exec rm -rf {} +

reset: ## delete every workspace and document of this checkout (asks for YES=1)
	@if [ "$(YES)" != 1 ]; then echo "This deletes all data below var/. To do it: make reset YES=1"; exit 1; fi
	if [ -x $(BIN)/python ]; then $(MANAGE) pg stop >/dev/null 2>&1 || true; fi
	rm -rf "$$(realpath -m var/postgres)" var
