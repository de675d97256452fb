# `make COMMAND` is `python tools.py COMMAND`. `make` lists all commands.
#
#   make lab ARGS="--no-browser --port 9999"     ARGS are passed to JupyterLab
#   make notebooks NAMES="00_start_here"         only these notebooks; the same for numbers
#   make test PYTHON=/path/to/python3.12         with this Python

.DEFAULT_GOAL := help
.NOTPARALLEL:

# Each name is tried, since it can exist and still not run (shims of pyenv). tools.py chooses the Python of environments.
CANDIDATES := python3 python3.13 python3.12 python3.11 python
PYTHON_FOUND := $(shell for name in $(if $(PYTHON),"$(PYTHON)") $(CANDIDATES); do \
	"$$name" -c 'import sys; sys.exit(sys.version_info < (3, 6))' >/dev/null 2>&1 && echo "$$name" && break; done)
ifeq ($(PYTHON_FOUND),)
$(error None of $(CANDIDATES) runs here. pushlab needs Python 3.11 or newer; Debian, Ubuntu: apt install python3 python3-venv)
endif
TOOLS := "$(PYTHON_FOUND)" tools.py

COMMANDS := help lab warm install test test-all test-latest book notebooks numbers benchmarks lint constraints clients wheels clean
.PHONY: $(COMMANDS)
$(COMMANDS):
	@$(TOOLS) $@ $(ARGUMENTS)

# Only these commands get arguments, so `make clean lab ARGS=...` passes none to `clean`.
ARGUMENTS :=
lab warm install test test-all test-latest benchmarks wheels: ARGUMENTS = $(ARGS)
notebooks numbers: ARGUMENTS = $(NAMES)

clients-%:
	@$(TOOLS) $@
