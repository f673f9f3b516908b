# make run: everything from a fresh clone to the open app. make test: the same for the tests. make help lists the rest.

PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python

# Before torch, faiss or llama_cpp is loaded: OpenMP threads that wait don't steal the processor from each other.
export GOMP_SPINCOUNT ?= 1000
export TOKENIZERS_PARALLELISM ?= false

.PHONY: help run test setup models format check bench clean

help:     ## this list
	@sed -n 's/^\([a-z]*\):.*## /make \1	/p' Makefile

run: setup  ## set up what is missing, then open the app on http://localhost:8501 (another port: make run PORT=8600)
	@$(PY) -m core.model_catalogue ensure || { [ $$? -ne 130 ] && echo "The app starts without what is missing and says what still works."; }
	@HF_HUB_OFFLINE=1 HF_HUB_DISABLE_TELEMETRY=1 $(PY) -m streamlit run app.py $(if $(PORT),--server.port $(PORT))

test: setup  ## run all tests (without those that need a real model: FOOTNOTE_TEST_MODELS=none make test)
	@$(PY) -m scripts.browser || true
	@[ "$$FOOTNOTE_TEST_MODELS" = none ] || $(PY) -m core.model_catalogue ensure --tests || true
	@HF_HUB_OFFLINE=1 HF_HUB_DISABLE_TELEMETRY=1 $(PY) -m pytest $(ARGS)

setup:    ## make the virtual environment and install the requirements
	@command -v $(PYTHON) >/dev/null || { echo "Footnote needs Python 3.11 or later, and there is no $(PYTHON) here; install it, then run make again." >&2; exit 1; }
	@$(PYTHON) -m scripts.setup --venv $(VENV)

models: setup  ## fetch the chat and embedding model of the settings, and check them
	@$(PY) -m core.model_catalogue ensure && $(PY) -m core.model_catalogue list

format: setup  ## format the code, sort the imports
	@$(PY) -m ruff check --select I --fix -q . && $(PY) -m ruff format .

check: setup  ## lint, format and the import rule, without running the tests
	@$(PY) -m ruff check . && $(PY) -m ruff format --check . && $(PY) -m pytest -q tests/test_imports.py

bench: setup  ## measure Footnote, also beside LangChain, LlamaIndex and Haystack (options: make bench ARGS="--help")
	@$(PY) -m core.model_catalogue ensure || true
	@HF_HUB_OFFLINE=1 HF_HUB_DISABLE_TELEMETRY=1 $(PY) -m benchmarks $(ARGS)

clean:    ## delete what can be made again here: environment and tool caches (not data/, not the models)
	rm -rf $(VENV) .venv-bench .pytest_cache .ruff_cache .hypothesis
