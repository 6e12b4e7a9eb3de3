# Each target makes what it needs: the environment in ./.venv, the demo's data in ./.demo.
BIN := .venv/bin
FILES := -type f -not -path '*/__pycache__/*' -not -path '*/node_modules/*' -not -path 'gpustack_lite/ui/*'
CONSOLE := $(shell find ui $(FILES))
LIGHT := -m 'not slow' --ignore tests/heavy
SOURCES := $(shell find gpustack_lite backends scheduler worker $(FILES))
.PHONY: demo test test-heavy check fmt clean
demo: .venv/.installed
	@exec $(BIN)/gpustack-lite demo

test: .venv/.dev
	@scripts/test-needs.sh
	$(BIN)/python -m pytest -n 2 --dist loadfile $(LIGHT) || { [ $$? = 1 ] && \
	  echo "What failed beside others runs once more, alone: it passes now or the suite fails." && \
	  $(BIN)/python -m pytest --last-failed --last-failed-no-failures none $(LIGHT); }

test-heavy: .venv/.dev
	@scripts/test-needs.sh
	$(BIN)/python -m pytest -m slow --timeout 3600

check: .venv/.dev
	$(BIN)/ruff check . && $(BIN)/ruff format --check .
	MYPYPATH=. $(BIN)/mypy
	PYTHONPATH=. $(BIN)/lint-imports
	$(BIN)/python scripts/audit.py

fmt: .venv/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf .venv .uv .demo dist build .mypy_cache .ruff_cache .pytest_cache .import_linter_cache

.venv/.installed: pyproject.toml $(SOURCES) $(CONSOLE)
	@scripts/venv.sh
	@touch $@

.venv/.dev: pyproject.toml uv.lock $(CONSOLE)
	@scripts/venv.sh dev
	@touch $@
