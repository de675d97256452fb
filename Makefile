# pushlab's daily commands. `make` alone lists them.
#
#   make lab ARGS="--no-browser --port 9999"     ARGS go to JupyterLab
#   make notebooks NAMES="00_start_here"         only these notebooks; make numbers likewise
#   make test PYTHON=/path/to/python3.12         with a Python of one's own choice

.DEFAULT_GOAL := help
# Only the parts of `make test` run side by side.
ifndef PYTEST
.NOTPARALLEL:
endif
# Figures in notebooks need the inline backend, whatever the caller's shell says.
unexport MPLBACKEND

NEWEST_FIRST := python3.13 python3.12 python3.11 python3
# Debian 12's own 3.11.2 first: some packages already ask for a later 3.11.
OLDEST_FIRST := /usr/bin/python3.11 python3.11 python3.12 python3.13 python3
# A name may exist and still not run (pyenv's shims), or come without venv (Debian): so each one is tried.
find_python = $(shell for name in $(1); do \
	$$name -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 \
	&& command -v $$name && break; done)

VENV := .venv
BIN := $(VENV)/bin
LATEST := .venv-latest
FROZEN := .venv-constraints
# Libraries of others: the extra rl, and four whose needs go neither with it nor with one another (tests/clients/*.txt).
RL := .venv-rl
APART := l2 obp eco nbgrader
NOTEBOOK := notebooks/00_start_here.ipynb
JUPYTER_ROOT := $(if $(filter 0,$(shell id -u)),--allow-root)

# One notebook stays on one worker (loadfile): its cells need each other.
TWO_WORKERS := -n 2 --dist loadfile
# With two workers on two cores, and more processes beside them, more threads in each only wait for one another.
unit saved saved-lax browser: export OMP_NUM_THREADS := 1
# In the order of tests/conftest.py, not the files with most tests first.
UNIT := pushlab tests --ignore=tests/browser --benchmark-disable $(TWO_WORKERS) --no-loadscope-reorder
# Seconds after which a cell hangs: a busy machine may need ten times as long as another.
PATIENCE := 1800
# --nbval-current-env: the Python that runs pytest, not the kernel whose name a notebook happened to be saved with.
NBVAL := notebooks --nbval-current-env --nbval-sanitize-with tests/notebooks/nbval_sanitize.cfg \
	--nbval-cell-timeout $(PATIENCE) --nbval-kernel-startup-timeout $(PATIENCE) $(TWO_WORKERS)

.PHONY: help
help:  ## list these commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# Terminals and `!pushlab` find the environment's commands; a login shell, which Jupyter takes where it has no terminal
# itself, would forget them.
.PHONY: lab
lab: $(VENV)/.lab  ## open the workbook in JupyterLab
	PATH="$(abspath $(BIN)):$$PATH" $(BIN)/jupyter lab --ServerApp.root_dir=. --LabApp.default_url=/lab/tree/$(NOTEBOOK) \
		--ServerApp.terminado_settings="shell_command=$${SHELL:-sh}" $(JUPYTER_ROOT) $(ARGS)

# Two parts at a time, as the one with the browser mostly waits; what a part has to say comes when it is done.
SIDE_BY_SIDE := --no-print-directory --keep-going --jobs=2 $(if $(filter output-sync,$(.FEATURES)),--output-sync=target)

.PHONY: test
test: $(VENV)/.test  ## run everything: library, notebooks, browser
	@echo "Testing library, notebooks and browser; each has its say when it is done (minutes) ..."
	@$(MAKE) $(SIDE_BY_SIDE) PYTEST="$(BIN)/python -m pytest -q" BROWSERS=1 browser unit saved \
		&& echo "All tests passed." || { echo "Some tests failed: see above." >&2; exit 1; }

.PHONY: test-latest
test-latest: $(LATEST)/.python  ## the same with the newest release of every package
	@echo "Installing the newest releases into $(LATEST) ..."
	$(LATEST)/bin/python -P -m pip install -qq --upgrade --upgrade-strategy eager -e '.[test]'
	@$(MAKE) $(SIDE_BY_SIDE) PYTEST="$(LATEST)/bin/python -m pytest -q" BROWSERS=1 browser unit saved-lax

# Tests of a library that is not in an environment are skipped there; each is in one of them.
.PHONY: clients clients-rl $(APART:%=clients-%)
clients:  ## try the libraries of others on pushlab: stable-baselines3, Minari, l2metrics, obp ... (optional, weekly)
	@$(MAKE) --no-print-directory --keep-going clients-rl $(APART:%=clients-%) && echo "All clients passed."
clients-rl clients-%: export OMP_NUM_THREADS := 1
clients-rl: $(RL)/.extra
	$(RL)/bin/python -m pytest -q -W ignore tests/clients tests/test_outside.py
$(APART:%=clients-%): clients-%: .venv-%/.apart
	PYTHONPATH=$(CURDIR) .venv-$*/bin/python -m pytest -q -W ignore tests/clients

# The parts of `make test`; PYTEST says with which environment.
.PHONY: unit saved saved-lax browser
# Kernels start without the IPython profile of whoever runs the tests.
saved saved-lax notebooks: export IPYTHONDIR := $(CURDIR)/$(VENV)/ipython
unit:
	$(PYTEST) $(UNIT)
saved:
	$(PYTEST) --nbval $(NBVAL)
saved-lax:
	$(PYTEST) --nbval-lax $(NBVAL)
browser:
	$(PYTEST) tests/browser -n $(or $(BROWSERS),2)

.PHONY: notebooks
notebooks: $(VENV)/.test  ## run every notebook again and save its outputs
	$(BIN)/python tests/notebooks/refresh.py $(NAMES)

.PHONY: numbers
numbers: $(VENV)/.test  ## list where the numbers in the notebooks' text come from
	$(BIN)/python tests/notebooks/prose.py $(NAMES)

.PHONY: benchmarks
benchmarks: $(VENV)/.test  ## measure speed, written into README; ARGS=memory, scale, serve, widgets, classroom: others
	$(BIN)/python tests/benchmarks/table.py $(ARGS)
	$(if $(ARGS),,$(BIN)/python -m pytest -q tests/benchmarks --benchmark-only)

.PHONY: lint
lint: $(VENV)/.test  ## check style, types and the order of imports
	$(BIN)/ruff check .
	$(BIN)/lint-imports
	$(BIN)/mypy

# Frozen with the oldest Python supported: what installs there installs on the newer ones too.
.PHONY: lines
lines: $(VENV)/.lab  ## count the library's lines of code
	$(BIN)/python tests/lines.py

.PHONY: constraints
constraints:  ## write constraints.txt anew from the newest releases
	@$(MAKE) --no-print-directory $(FROZEN)/.python PYTHON="$(or $(PYTHON),$(call find_python,$(OLDEST_FIRST)))"
	$(FROZEN)/bin/python -P -m pip install -qq --upgrade --upgrade-strategy eager -e '.[test]'
	$(FROZEN)/bin/python -P -m pip list --format=freeze --exclude-editable --exclude pip --exclude setuptools \
		> constraints.txt.new
	mv constraints.txt.new constraints.txt
	@echo "constraints.txt: $$(wc -l < constraints.txt) packages. Now run: make test clients"

# Environments. A stamp file says what was installed last, so nothing is installed twice.
%/.python:
	@test -n "$(or $(PYTHON),$(call find_python,$(NEWEST_FIRST)))" || { \
		echo "pushlab needs Python 3.11 or newer with venv; none of these runs here: $(NEWEST_FIRST)." >&2; \
		echo "Install one (Debian, Ubuntu: apt install python3 python3-venv), or name yours:" >&2; \
		echo "  make $(or $(MAKECMDGOALS),lab) PYTHON=/path/to/python3.12" >&2; exit 1; }
	@"$(or $(PYTHON),$(call find_python,$(NEWEST_FIRST)))" -c 'import sys; sys.version_info >= (3, 11) or \
		sys.exit("pushlab needs Python 3.11 or newer; " + sys.executable + " is " + sys.version.split()[0])'
	@echo "Making the environment $* ..."
	@"$(or $(PYTHON),$(call find_python,$(NEWEST_FIRST)))" -m venv --clear $*
	@mkdir -p $*/etc/ipython
	@echo 'c.IPKernelApp.log_level = "ERROR"  # a remark on encryption for every kernel otherwise' \
		> $*/etc/ipython/ipython_kernel_config.py
	@mkdir -p $*/share/jupyter/lab/settings
	@echo '{"@jupyterlab/docmanager-extension:plugin": {"defaultViewers": {"markdown": "Markdown Preview"}}}' \
		> $*/share/jupyter/lab/settings/overrides.json  # a link to the glossary shows a page
	@touch $@

$(VENV)/.lab: $(VENV)/.python pyproject.toml constraints.txt
	@echo "Installing pushlab into $(VENV) (two minutes or so, once) ..."
	$(BIN)/python -P -m pip install -qq -c constraints.txt -e '.[serve]'
	-$(BIN)/pushlab warm
	@touch $@

$(VENV)/.test: $(VENV)/.python pyproject.toml constraints.txt
	@echo "Installing pushlab and what its tests need into $(VENV) (two or three minutes, once) ..."
	$(BIN)/python -P -m pip install -qq -c constraints.txt -e '.[test]'
	-$(BIN)/pushlab warm
	@touch $@ $(VENV)/.lab

$(RL)/.extra: $(RL)/.python pyproject.toml constraints.txt constraints-rl.txt
	@echo "Installing pushlab, its tests' needs and the extra rl into $(RL) (minutes, once) ..."
	$(RL)/bin/python -P -m pip install -qq -c constraints.txt -c constraints-rl.txt -e '.[rl,test]'
	@touch $@

# obp and scope-rl ask for versions of NumPy and Python from before 2023, and run with later ones.
.venv-obp/.apart: UNASKED := obp==0.5.7 scope-rl==0.2.1
# nbgrader runs notebooks, with all that they need.
.venv-nbgrader/.apart: ITSELF := -c constraints.txt -e '.[test]'
.venv-%/.apart: .venv-%/.python tests/clients/%.txt
	@echo "Installing what tests/clients/$*.txt lists into .venv-$* (minutes, once) ..."
	$(if $(UNASKED),.venv-$*/bin/python -P -m pip install -qq --no-deps --ignore-requires-python $(UNASKED))
	.venv-$*/bin/python -P -m pip install -qq -r tests/clients/$*.txt $(ITSELF)
	@touch $@

.PHONY: clean
clean:  ## remove the environments, caches and compiled loops
	rm -rf $(VENV) $(LATEST) $(FROZEN) $(RL) $(APART:%=.venv-%) .pytest_cache .hypothesis .ruff_cache .mypy_cache .import_linter_cache .benchmarks
	find pushlab -name '*.nb[ci]' -delete
