# For those who have make: `make COMMAND` is `python tools.py COMMAND`, and tools.py says what each one does.
#
#   make lab ARGS="--no-browser --port 9999"     ARGS go to JupyterLab
#   make notebooks NAMES="00_start_here"         only these notebooks; make numbers likewise
#   make test PYTHON=/path/to/python3.12         with a Python of one's own choice

.DEFAULT_GOAL := help
.NOTPARALLEL:

# A name may exist and still not run (pyenv's shims), so each one is tried. Which Python pushlab gets, tools.py decides.
NAMED := python3 python3.13 python3.12 python3.11 python
RUNS := $(shell for name in $(if $(PYTHON),"$(PYTHON)") $(NAMED); do \
	"$$name" -c 'import sys; sys.exit(sys.version_info < (3, 6))' >/dev/null 2>&1 && echo "$$name" && break; done)
ifeq ($(RUNS),)
$(error No Python runs here: $(NAMED). pushlab needs 3.11 or newer; Debian, Ubuntu: apt install python3 python3-venv)
endif
TOOLS := "$(RUNS)" tools.py

COMMANDS := help lab install test test-all test-latest book notebooks numbers benchmarks lint constraints clients wheels clean
.PHONY: $(COMMANDS)
$(COMMANDS):
	@$(TOOLS) $@ $(GIVEN)

# To those alone that take them: `make clean lab ARGS=...`, or a variable NAMES of the shell, is nothing to `clean`.
GIVEN :=
lab install test test-all test-latest benchmarks wheels: GIVEN = $(ARGS)
notebooks numbers: GIVEN = $(NAMES)

clients-%:
	@$(TOOLS) $@
