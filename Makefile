# SPDX-License-Identifier: Apache-2.0

# The commands of the project; "make help" lists them. CI, Zuul and tox call
# these, and CONTRIBUTING.rst names the three stages.

# tox has made an environment of its own for its commands.
VENV ?= $(or $(TOX_ENV_DIR),.venv)
CLOUD_VENV ?= .state/cloud-venv
ARGS ?=

PYTHON_IN_VENV = $(VENV)/bin/python
IN_VENV = PATH="$(abspath $(VENV))/bin:$$PATH"
QUIET = $(PYTHON_IN_VENV) -W ignore
# "make test ARGS=" takes a regular expression, or options of "stestr run".
RUN = tools/run_tests.py
MATCHING = $(if $(ARGS),'$(ARGS)')

RELEASES = $(shell sed 1d constraints/releases.csv | cut -d, -f1)
NEWEST = $(lastword $(RELEASES))
# The oldest and the last but one, beside the newest that all tests run on.
EDGES = $(firstword $(RELEASES)) $(lastword $(filter-out $(NEWEST),$(RELEASES)))

.NOTPARALLEL:
.PHONY: $(shell sed --quiet 's/^\([a-z0-9 -]*\):.*/\1/p' Makefile)

help:
	@awk '/^## /{text = substr($$0, 4)} \
		/^[a-z0-9 -]+:/ && text{sub(/:.*/, ""); \
			printf "make %-15s %s\n", $$0, text; text = ""}' Makefile

# The stages
#
## what each change has to pass
change: check demo few-e2e matrix-edges test
## what runs each night, beside that
night: test-all fuzz test-faults test-races upgrade matrix e2e nova-tests \
		mutants simulate cover audit
## what a release has to pass, beside that
release: stress soak compare-tempest bench dist

# To begin with
#
## the environment of all that follows, in .venv
environment:
	@test "$(VENV)" = "$(TOX_ENV_DIR)" || tools/environment.sh $(VENV)

## two stories on a Nova in one process
demo: environment
	@$(QUIET) -m tools.demo

cloud-environment:
	@tools/environment.sh $(CLOUD_VENV) cloud

## run a small real cloud on the loopback
cloud: cloud-environment system-packages
	@tools/install_system_packages.sh $(if $(findstring --libvirt,$(ARGS)),guests)
	@$(CLOUD_VENV)/bin/python -m tools.cloud up $(ARGS)

## stop it
cloud-down:
	@test ! -x $(CLOUD_VENV)/bin/python || \
		$(CLOUD_VENV)/bin/python -m tools.cloud down $(ARGS)

system-packages:
	@tools/install_system_packages.sh

# Tests
#
## the tests that each change has to pass (ARGS=REGEX)
test: environment system-packages
	@$(IN_VENV) python $(RUN) few few-integration $(MATCHING)

## all tests
test-all: environment system-packages
	@$(IN_VENV) python $(RUN) \
		unit functional eventlet faults races integration $(MATCHING)

integration: system-packages

## one suite (ARGS=REGEX)
unit functional eventlet faults races integration: environment
	@$(PYTHON_IN_VENV) $(RUN) $@ $(MATCHING)

## the tests on a cloud by its clients, or a few of them
e2e few-e2e: cloud-environment system-packages
	@tools/install_system_packages.sh $(if $(filter e2e,$@),guests)
	@tools/environment.sh .state/older-client-venv older-client
	@$(CLOUD_VENV)/bin/python $(RUN) $@ $(MATCHING)

## many clients at once on real processes, for ten minutes
stress: environment system-packages
	@CELL0_REBUILD_STRESS=600 $(PYTHON_IN_VENV) $(RUN) integration test_stress

## the same while 1,000 servers wait, and services die
soak: environment system-packages
	@CELL0_REBUILD_STRESS=600 CELL0_REBUILD_SOAK=1000 OS_TEST_TIMEOUT=3000 \
		$(PYTHON_IN_VENV) $(RUN) integration test_soak

## every fault at every step of a rebuild, with a table
test-faults: environment system-packages
	@$(PYTHON_IN_VENV) tools/run_series.py faults $(ARGS)

## every order in which two requests meet, with a table
test-races: environment
	@$(PYTHON_IN_VENV) tools/run_series.py races $(ARGS)

## the tests on every release of Nova, and on Debian's
matrix: environment system-packages
	@$(PYTHON_IN_VENV) tools/run_matrix.py $(ARGS)

## the main ones on the oldest release and the last but one
matrix-edges: environment system-packages
	@$(PYTHON_IN_VENV) tools/run_matrix.py --suites eventlet,commands,waiting $(EDGES)

## rebuilds after an upgrade from these two
upgrade: environment system-packages
	@for release in $(EDGES); do \
		tools/environment.sh .state/matrix/$$release/venv $$release || exit; \
	done
	@$(PYTHON_IN_VENV) $(RUN) upgrade $(MATCHING)

## 2000 rebuild requests with any body
fuzz: environment
	@CELL0_REBUILD_FUZZ=1000 OS_NOVA_DISABLE_EVENTLET_PATCHING=1 \
		OS_TEST_TIMEOUT=1800 $(QUIET) -m unittest tests.functional.api.test_fuzz

COSMIC_RAY = .venv/bin/uv tool run --quiet --constraints constraints/tools.txt \
	--from cosmic-ray
# How many mutants are made, all if it is 0, and the seed that chooses them. So
# many of a hundred may survive.
MUTANTS = 160
MUTANTS_SEED = 1
SURVIVORS = 5

## small changes of what decides that a test should notice
mutants: environment
	@rm -rf .state/mutants
	@git clone --quiet . .state/mutants
	@ln -s $(abspath $(VENV)) .state/mutants/.venv
	@cd .state/mutants && \
		export OS_NOVA_DISABLE_EVENTLET_PATCHING=1 && \
		$(COSMIC_RAY) cosmic-ray init tools/cosmic-ray.toml .mutants && \
		$(COSMIC_RAY) cr-filter-operators .mutants tools/cosmic-ray.toml && \
		$(COSMIC_RAY) python tools/sample_mutants.py .mutants $(MUTANTS) \
			$(MUTANTS_SEED) && \
		$(COSMIC_RAY) cosmic-ray baseline tools/cosmic-ray.toml && \
		$(COSMIC_RAY) cosmic-ray exec tools/cosmic-ray.toml .mutants && \
		$(COSMIC_RAY) cr-report --surviving-only --show-diff .mutants && \
		$(COSMIC_RAY) cr-rate --fail-over $(SURVIVORS) .mutants

## Nova's own functional tests with the package and without
nova-tests: environment
	@$(PYTHON_IN_VENV) tools/compare.py nova $(ARGS)

## the tests of the Tempest plugin, on OS_CLOUD
tempest: environment
	@$(PYTHON_IN_VENV) tools/run_tempest.py $(ARGS)

## Tempest's tests of servers, with the package and without
compare-tempest: environment
	@$(PYTHON_IN_VENV) tools/compare.py tempest $(ARGS)

# What is measured and checked
#
## what unit and functional tests reach, in cover/index.html
cover: environment
	@mkdir -p .state
	@$(IN_VENV) coverage erase
	@CELL0_REBUILD_COVER=yes $(PYTHON_IN_VENV) $(RUN) \
		$(or $(MATCHING),unit functional)
	@$(IN_VENV) coverage combine --quiet
	@$(IN_VENV) coverage html --quiet --fail-under=0
	@$(IN_VENV) coverage report

## what a rebuild costs, in tables
bench: environment system-packages
	@$(QUIET) tools/bench $(ARGS)

## what becomes of servers that wait, simulated, in tables
simulate: environment
	@OS_NOVA_DISABLE_EVENTLET_PATCHING=1 $(QUIET) -m tools.simulation $(ARGS)

## lint, types, licences and documentation (ARGS=mypy)
check: environment
	@$(IN_VENV) pre-commit run --all-files $(ARGS)

## the documentation, in doc/build/html
docs: environment
	@$(IN_VENV) pre-commit run --all-files docs

## known vulnerabilities of what is pinned: not offline
audit: environment
	@for pins in nova$(NEWEST) cloud tools; do \
		$(VENV)/bin/uv tool run --quiet --constraints constraints/tools.txt \
			pip-audit --disable-pip --no-deps $(ARGS) \
			--requirement constraints/$$pins.txt || exit; \
	done

## what is released, in dist/: built twice, the same bytes
dist: environment
	@VENV=$(VENV) tools/dist.sh $(ARGS)

## remove what these made
clean: cloud-down
	@CELL0_REBUILD_CLOUD=.state/e2e-cloud $(MAKE) --no-print-directory cloud-down
	rm -rf $(VENV) .tox .stestr .state .mypy_cache .ruff_cache cover dist \
		doc/build doc/source/admin/cell0_rebuild.conf.sample releasenotes/build
