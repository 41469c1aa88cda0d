# SPDX-License-Identifier: Apache-2.0

# The commands of the project; "make help" lists them.

VENV ?= .venv
CLOUD_VENV ?= .state/cloud-venv
ARGS ?=

RELEASES = $(shell sed 1d constraints/releases.csv | cut -d, -f1)
NEWEST = $(lastword $(RELEASES))
# The oldest and the last but one, beside the newest that all tests run on.
EDGES = $(firstword $(RELEASES)) $(lastword $(filter-out $(NEWEST),$(RELEASES)))

.PHONY: system-packages help environment demo test test-all unit functional eventlet \
	faults races integration stress soak test-faults test-races matrix \
	matrix-edges upgrade mutants nova-tests tempest compare-tempest fuzz cover bench check docs \
	audit dist simulate clean cloud-environment cloud cloud-down e2e few-e2e

help:
	@echo "make environment  the environment of all that follows, in .venv"
	@echo "make demo         tell two stories on a whole Nova in one process"
	@echo "                  (ARGS=--keep: and then serve it over HTTP)"
	@echo "make test         what each change has to pass, in its own environment"
	@echo "make test-all     all tests: before a release, and each night"
	@echo "make unit         the unit tests (ARGS=REGEX: those that match)"
	@echo "make functional   the tests on Nova with its functional fixtures"
	@echo "make eventlet     the main ones of them under eventlet"
	@echo "make faults       a sample of the faults at every step of a rebuild"
	@echo "make test-faults  all of them, with a table of what became"
	@echo "make races        a sample of the orders in which two requests meet"
	@echo "make test-races   all of them, with a table of how they ended"
	@echo "make mutants      small changes of the code that a test should notice"
	@echo "make nova-tests   Nova's own functional tests with us and without"
	@echo "make tempest      Tempest's tests of the feature, on OS_CLOUD"
	@echo "make compare-tempest"
	@echo "                  Tempest's tests of servers, on the cloud of make"
	@echo "                  cloud with us and without"
	@echo "make integration  the tests on real processes, broker and database"
	@echo "make cloud        run a small real cloud on the loopback"
	@echo "make cloud-down   stop it"
	@echo "make e2e          the tests on such a cloud, by its clients"
	@echo "make few-e2e      those of them that each change has to pass"
	@echo "make matrix       the unit and functional tests on every release of"
	@echo "                  Nova that is supported, and on Debian's"
	@echo "make matrix-edges"
	@echo "                  the main ones of them, those of the commands and"
	@echo "                  of waiting on the oldest release and the last"
	@echo "                  but one"
	@echo "make upgrade      servers buried under the oldest of them and the"
	@echo "                  last but one, rebuilt after an upgrade to the last"
	@echo "make stress       many clients at once on these, for ten minutes"
	@echo "make soak         1,000 servers wait, meanwhile, and services die"
	@echo "make fuzz         2000 rebuild requests with any body"
	@echo "make cover        the lines and branches that unit and functional"
	@echo "                  tests reach, in cover/index.html"
	@echo "make bench        what a rebuild costs, in tables"
	@echo "make simulate     what becomes of servers that wait, on a simulated"
	@echo "                  cloud of 1,000 hosts, in tables"
	@echo "make check        lint, types, documentation and release notes"
	@echo "                  (ARGS=mypy: one of them)"
	@echo "make docs         build the documentation, in doc/build/html"
	@echo "make audit        known vulnerabilities of what is pinned; asks the"
	@echo "                  database of its index, so not offline"
	@echo "make dist         what is released, in dist/: built twice, and the"
	@echo "                  same bytes"
	@echo "make clean        remove what these made"

environment:
	@tools/environment.sh $(VENV)

demo: environment
	@$(VENV)/bin/python -W ignore tools/demo.py $(ARGS)

test: environment system-packages
	@PATH="$(CURDIR)/$(VENV)/bin:$$PATH" python tools/run_tests.py \
		few-unit few-functional few-faults few-races few-integration \
		$(if $(ARGS),'$(ARGS)')

test-all: environment system-packages
	@PATH="$(CURDIR)/$(VENV)/bin:$$PATH" python tools/run_tests.py \
		unit functional eventlet faults races integration \
		$(if $(ARGS),'$(ARGS)')

integration: system-packages

system-packages:
	@tools/install_system_packages.sh

unit functional eventlet faults races integration: environment
	@$(VENV)/bin/python tools/run_tests.py $@ $(if $(ARGS),'$(ARGS)')

cloud-environment:
	@tools/environment.sh $(CLOUD_VENV) cloud

cloud: cloud-environment system-packages
	@$(CLOUD_VENV)/bin/python -m tools.cloud up $(ARGS)

cloud-down:
	@test ! -x $(CLOUD_VENV)/bin/python || \
		$(CLOUD_VENV)/bin/python -m tools.cloud down $(ARGS)

e2e few-e2e: cloud-environment system-packages
	@tools/environment.sh .state/older-client-venv older-client
	@$(CLOUD_VENV)/bin/python tools/run_tests.py $@ $(if $(ARGS),'$(ARGS)')

stress: environment system-packages
	@CELL0_REBUILD_STRESS=600 $(VENV)/bin/python tools/run_tests.py \
		integration test_stress

soak: environment system-packages
	@CELL0_REBUILD_STRESS=600 CELL0_REBUILD_SOAK=1000 \
		OS_TEST_TIMEOUT=3000 $(VENV)/bin/python tools/run_tests.py \
		integration test_soak

test-faults: environment system-packages
	@$(VENV)/bin/python tools/run_faults.py $(ARGS)

test-races: environment
	@$(VENV)/bin/python tools/run_races.py $(ARGS)

mutants: environment
	@$(VENV)/bin/python -W ignore tools/mutants $(ARGS)

nova-tests: environment
	@$(VENV)/bin/python tools/run_nova_tests.py $(ARGS)

tempest: environment
	@$(VENV)/bin/python tools/run_tempest.py $(ARGS)

compare-tempest: environment
	@$(VENV)/bin/python tools/compare_tempest.py $(ARGS)

matrix: environment system-packages
	@$(VENV)/bin/python tools/run_matrix.py $(ARGS)

matrix-edges: environment system-packages
	@$(VENV)/bin/python tools/run_matrix.py --suites eventlet,commands,waiting $(EDGES)

upgrade: environment system-packages
	@for release in $(EDGES); do \
		tools/environment.sh .state/matrix/$$release/venv $$release || exit; \
	done
	@$(VENV)/bin/python tools/run_tests.py upgrade $(if $(ARGS),'$(ARGS)')

fuzz: environment
	@CELL0_REBUILD_FUZZ=1000 OS_NOVA_DISABLE_EVENTLET_PATCHING=1 \
		OS_TEST_TIMEOUT=1800 $(VENV)/bin/python -W ignore -m unittest \
		tests.functional.api.test_fuzz

cover: environment
	@PATH="$(CURDIR)/$(VENV)/bin:$$PATH" tools/cover.sh $(ARGS)

bench: environment system-packages
	@$(VENV)/bin/python -W ignore tools/bench $(ARGS)

simulate: environment
	@OS_NOVA_DISABLE_EVENTLET_PATCHING=1 \
		$(VENV)/bin/python -W ignore -m tools.simulation $(ARGS)

check: environment
	@PATH="$(CURDIR)/$(VENV)/bin:$$PATH" pre-commit run --all-files $(ARGS)

docs: environment
	@PATH="$(CURDIR)/$(VENV)/bin:$$PATH" pre-commit run --all-files docs

audit: environment
	@for pins in nova$(NEWEST) cloud tools; do \
		$(VENV)/bin/uv tool run --quiet --constraints constraints/tools.txt \
			pip-audit --disable-pip --no-deps $(ARGS) \
			--requirement constraints/$$pins.txt || exit; \
	done

dist: environment
	@VENV=$(VENV) tools/dist.sh $(ARGS)

clean: cloud-down
	@CELL0_REBUILD_CLOUD=.state/e2e-cloud $(MAKE) --no-print-directory cloud-down
	rm -rf $(VENV) .tox .stestr .state .mypy_cache .ruff_cache cover dist doc/build \
		doc/source/admin/cell0_rebuild.conf.sample releasenotes/build
