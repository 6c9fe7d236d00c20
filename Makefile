# Two commands: `make lab` opens the course, `make test` checks it. Needs Python (3.11 to 3.13) with venv, and nothing else.
# tools/course.py does the work; where there is no make, call it: `py tools/course.py lab`.
PYTHON ?= python3
PORT ?= 8888
COURSE := $(PYTHON) tools/course.py

.DEFAULT_GOAL := help
.PHONY: help lab test test-backends test-orders test-processors test-seeds evidence book slides students browser platforms pins export run tidy pretrain lint bench clean

help:  ## list the targets
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/'

lab:  ## set up, trust the notebooks and open JupyterLab on the map
	@$(COURSE) lab --port $(PORT)

test:  ## set up and run every unit test and every notebook; CHAPTER=06, PROCESSOR=old (older kernels), DEVICE=cuda or mps (PyTorch's notebooks)
	@$(COURSE) test $(if $(CHAPTER),--chapter $(CHAPTER)) $(if $(PROCESSOR),--processor $(PROCESSOR)) $(if $(DEVICE),--device $(DEVICE))

test-backends:  ## run the tests of the Keras modules on Keras' other backends
	@$(COURSE) test-backends

test-orders:  ## import the frameworks in every order
	@$(COURSE) test-orders

test-processors:  ## run every notebook as three kinds of processor compute: this one, one with AVX2, an old one
	@$(COURSE) test-processors

test-seeds:  ## run every notebook with SHIFT (1) added to each seed, for what it claims; CHAPTER=06 for one chapter
	@$(COURSE) test-seeds $(if $(SHIFT),--shift $(SHIFT)) $(if $(CHAPTER),--chapter $(CHAPTER))

evidence:  ## repeat what the notebooks claim of learning with other seeds and processors; resumes where it stopped
	@$(COURSE) evidence

book:  ## build the course as a book to read without installing it: a site and an EPUB, in book/_build
	@$(COURSE) book

slides:  ## make slides of Why and By hand, in the folder slides; CHAPTER=06 for one chapter
	@$(COURSE) slides $(if $(CHAPTER),--chapter $(CHAPTER))

students:  ## copy the course without its solutions and the teachers' pages; FOLDER=../course for another place
	@$(COURSE) students $(if $(FOLDER),--folder "$(FOLDER)")

browser:  ## open the course, the book and the slides in Chromium, and see that they ask nothing and change nothing
	@$(COURSE) browser

platforms:  ## see that the pins can be installed on Linux, macOS and Windows
	@$(COURSE) platforms

pins:  ## resolve pins.txt again from pyproject.toml
	@$(COURSE) pins

export:  ## write shared/<track>/<chapter>.py from the notebooks' export cells
	@$(COURSE) export

run:  ## execute every notebook again and store its outputs; CHAPTER=06 for one chapter
	@$(COURSE) run $(if $(CHAPTER),--chapter $(CHAPTER))

tidy:  ## write minutes, tables, routes and layout into notebooks, README and teachers' pages; runs no notebook
	@$(COURSE) tidy

pretrain:  ## train the language model of chapter 15, an hour or so; FILE=my.txt for your own text, STEPS=500, FOLDER=models/my_gpt
	@$(COURSE) pretrain $(if $(FILE),--file "$(FILE)") $(if $(STEPS),--steps $(STEPS)) $(if $(FOLDER),--folder "$(FOLDER)")

lint:  ## check code and notebooks with ruff
	@$(COURSE) lint

bench:  ## measure what the course says of speed; prints ratios
	@$(COURSE) bench

clean:  ## remove everything that can be made again
	@$(COURSE) clean
