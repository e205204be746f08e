# `make` lists the targets. Each one does the set-up it needs, once: a second call finds .venv up to date.

SHELL := /bin/bash
.DEFAULT_GOAL := help
.PHONY: help setup smoke test test-fast check prove repro bench bench-callers pins pythons clean

# core, engine-cpu, engine-gpu, or engine: the engine that is installed already, else engine-cpu
PROFILE ?= engine

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' Makefile

setup: ## Make .venv from the pins (PROFILE=core, engine-cpu or engine-gpu; PYTHON=python3)
	@bash scripts/setup.sh $(PROFILE)

smoke: setup ## The real pipeline under callers who barge in, hang up and come back: a verdict in minutes
	@.venv/bin/rig run configs/runs/smoke.yaml

test: setup ## Every test; the engine tests boot the pipeline
	@.venv/bin/python -m pytest

test-fast: setup ## The tests that boot no engine
	@.venv/bin/python -m pytest -m 'not engine'

check: setup ## Lint, format, types, layering, sizes, pins and the paths named in the docs
	@.venv/bin/ruff check .
	@.venv/bin/ruff format --check .
	@.venv/bin/mypy rig clients tests benchmarks $(wildcard scripts/*.py)
	@.venv/bin/python -m pytest -q tests/house

prove: setup ## Every fault of the golden server in 20 short runs each, caught by the check meant for it; 50 healthy ones
	@.venv/bin/python -m rig.prove

repro: setup ## The engines' faults without a model: the exact exception unpatched, right books patched (2 minutes)
	@.venv/bin/rig repro all

bench: setup ## What the callers' hot path, the event bus, judging and the flight recorder cost; how near figures are to the truth
	@.venv/bin/python benchmarks/hot_path.py
	@.venv/bin/python benchmarks/bus.py
	@.venv/bin/python benchmarks/judge.py
	@.venv/bin/python benchmarks/accuracy.py
	@.venv/bin/python -m benchmarks.recorder

bench-callers: setup ## How many full-rate callers a core carries, beside other clients (2 idle cores, 4 minutes)
	@PYTHONPATH=. .venv/bin/python benchmarks/callers.py

pins: setup ## Resolve requirements/*.txt anew; try the result with make test before committing it
	@bash scripts/pin.sh

pythons: setup ## The same plans, byte for byte, under every Python of the pins that this machine has
	@bash scripts/pythons.sh

clean: ## Remove caches and build products; .venv and results/ stay
	@rm -rf build .cache .mypy_cache .ruff_cache .pytest_cache .hypothesis
	@find . -path ./.venv -prune -o -path ./.git -prune -o -name __pycache__ -type d -exec rm -rf {} +
