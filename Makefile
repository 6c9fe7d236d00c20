# `make lab` opens the course, `make test` checks it; `make` alone lists the rest. Needs Python (3.11 to 3.13) with venv.
# tools/course.py does the work, and takes the same words: `make test CHAPTER=06` is `py tools/course.py test CHAPTER=06`.
PYTHON ?= python3

COMMANDS := setup lab test test-backends device-check tracks test-orders test-processors test-seeds evidence book slides students browser pictures \
	platforms pins export run tidy pretrain lint bench differences clean

.PHONY: help $(COMMANDS)

help:
	@$(PYTHON) tools/course.py --help

$(COMMANDS):
	@$(PYTHON) tools/course.py $@ $(MAKEOVERRIDES)
