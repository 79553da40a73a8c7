# Every command that a developer or CI needs. `make` alone lists them.

SHELL         := /bin/bash
.SHELLFLAGS   := -eu -o pipefail -c
.DEFAULT_GOAL := help

# How long each fuzz target runs.
FUZZTIME ?= 30s
# Further flags for go test, for example: make test TESTFLAGS='-run TestDrain -v'
TESTFLAGS ?=
# The seed and the length of a chaos run; SEED=0 takes a fresh seed, which is printed.
SEED      ?= 0
DURATION  ?= 60s
# How long the storm on e2e/finalize lasts; SEED as for chaos.
FINALIZE_FOR ?= 60s
# SERVE=1 keeps the demo running to look around in; DEMOFLAGS go to it as they are.
SERVE     ?=
DEMOFLAGS ?=
# BENCHFLAGS go to the benchmarks as they are, for example: make bench BENCHFLAGS='-only drain,latency'
BENCHFLAGS ?=

# The rooms where goroutines meet: verify runs these with the race detector, and of the relay what
# its goroutines share; `make race-short RACE_RUN=.` runs all of the relay.
RACE_ROOMS := $(patsubst %,./%/...,$(wildcard outbox hold consumers)) ./relay/check ./relay/retention ./relay/retry
RACE_RUN   ?= .
# Sources of this module; testdata holds examples that are wrong on purpose.
GO_FILES = find . \( -name testdata -o -name node_modules -o -path './.*' \) -prune -o -name '*.go' -print

.PHONY: help demo test test-pg18 test-pooler race lint verify bench bench-quick bench-peers fuzz clean chaos mutants finalize-storm
.PHONY: property random-load race-short docs-check mod-check c-compiler

help: ## list the targets
	@awk 'BEGIN { FS = ":.*## " } /^[a-z0-9-]+:.*## / { printf "  %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: ## run the whole system once and check what arrives (SERVE=1 keeps it running)
	go run ./e2e/demo $(if $(filter-out 0,$(SERVE)),-serve) $(DEMOFLAGS)

test: ## run every test against a real Postgres and a real nats-server
	go test -timeout 15m $(TESTFLAGS) ./...
	cd e2e/tools && go test -timeout 10m ./...
	cd e2e/bench/peers && go test -timeout 10m ./...

test-pg18: ## run the schema and drain tests on Postgres 18, which it fetches once
	bin=$$(go run ./e2e/pgbin 18) && export HOLDFAST_PG_BIN="$$bin" && \
	go test -short -timeout 15m $(TESTFLAGS) $(PG18_ROOMS) && \
	go test -short -timeout 15m -run '$(PG18_RUN)' $(TESTFLAGS) ./relay && \
	cd e2e/tools && go test -timeout 10m -run '^Test(Install|Adopt|Fleet)' .

test-pooler: ## run the tests of the relay through pgbouncer (as root on Debian it is installed)
	schema/catalog/test-pooler.sh
	go test -count=1 -tags pooler -run '^TestPooler' ./e2e/harness
	go test -count=1 -tags pooler -run '^TestInstallAtOnceThroughAPooler$$' ./gen
	go test -count=1 -tags pooler -run '^TestBehindPgbouncer$$' ./relay/check
	go test -count=1 -short -timeout 15m -tags pooler -run '$(POOLER_RUN)' $(TESTFLAGS) ./relay ./relay/retry

race: c-compiler ## run every test with the race detector (needs a C compiler)
	go test -race -timeout 20m $(TESTFLAGS) ./...

lint: ## check formatting, go vet, staticcheck, errcheck and the architecture rules
	@unformatted=$$($(GO_FILES) | xargs -r gofmt -l); \
	if [ -n "$$unformatted" ]; then printf 'not formatted, run gofmt -w on:\n%s\n' "$$unformatted" >&2; exit 1; fi
	go vet ./...
	go tool staticcheck ./...
	go tool errcheck -ignoretests -ignoregenerated -exclude .errcheck-exclude ./...
	cd e2e/tools && go vet ./...
	cd e2e/bench/peers && go vet ./...
	go test -count=1 -run '^(TestTree|TestImports)' ./e2e/arch

# CI has 20 minutes, on 2 cores. So verify meets Postgres 18, a pooler and the race detector with a part of the
# tests; the targets alone run all.
PG18_ROOMS ?= ./schema/... ./gen/... ./outbox ./hold/... ./consumers/... ./relay/retention ./relay/retry
PG18_RUN   ?= .
POOLER_RUN ?= .

verify: PG18_ROOMS := ./schema/... ./gen ./hold ./consumers/facts ./relay/retry
verify: PG18_RUN := Property|Statement|Held|Settle
verify: POOLER_RUN := Pooler|Exhausted|ReadOnly|Prepared|OtherQuery|Settle|Property
verify: RACE_ROOMS := ./hold/saga ./consumers ./relay/retry
verify: RACE_RUN := Shared|StopUnder|Killed|Wake
verify: lint mod-check docs-check test test-pg18 test-pooler race-short ## run what CI runs: lint, docs, tests on two Postgres versions, a race run, random load, chaos
	$(MAKE) --no-print-directory -j2 --output-sync=target random-load finalize-storm SEED=0

bench: ## measure everything, and print one BENCH line per figure: 10 minutes or more (BENCHFLAGS=)
	go run ./e2e/bench $(BENCHFLAGS)

bench-quick: ## measure everything once and small, in about a minute: to see that it works, not to quote
	go run ./e2e/bench -quick $(BENCHFLAGS)

bench-peers: ## compare with public alternatives on the same work (BENCHFLAGS=)
	cd e2e/bench/peers && go run . $(BENCHFLAGS)

chaos: ## random load and faults against real processes, then the proof (SEED=, DURATION=)
	go run ./e2e/chaos -seed $(SEED) -duration $(DURATION) $(CHAOSFLAGS)

finalize-storm: ## random clients, crashes and lost calls on the two services of e2e/finalize (FINALIZE_FOR=, SEED=)
	go test -count=1 -v -timeout 30m -run '^TestFinalizeStorm$$' ./e2e/finalize -finalize.for=$(FINALIZE_FOR) -finalize.seed=$(SEED)

mutants: ## plant one bug after another and see chaos, or a test, catch it
	go run ./e2e/mutants

fuzz: ## run each fuzz target for FUZZTIME (default 30s)
	@found=0; \
	for file in $$($(GO_FILES) | xargs -r grep -l '^func Fuzz' || true); do \
	  for target in $$(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p' "$$file"); do \
	    found=1; echo "fuzz $$target in $$(dirname "$$file") for $(FUZZTIME)"; \
	    go test -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) "$$(dirname "$$file")"; \
	  done; \
	done; \
	if [ $$found = 0 ]; then echo 'fuzz: no fuzz target in this tree' >&2; exit 1; fi

clean: ## remove what builds, tests and the demo leave in the tree
	rm -rf bin dist .demo coverage.txt
	find . -path ./.git -prune -o \( -name '*.test' -o -name '*.out' \) -type f -exec rm -f {} +
	find . -path ./.git -prune -o -path '*/testdata/rapid' -type d -prune -exec rm -rf {} +

# Relays that are killed under random load, for longer than in `make test`. The seed is printed.
property:
	go test -count=1 -v -run '^TestDrainProperty$$' ./relay -property.for=30s

# -short makes the long random tests shorter; no test is left out.
race-short: c-compiler
	go test -race -short -timeout 15m $(RACE_ROOMS)
	go test -race -short -timeout 15m -run '$(RACE_RUN)' ./relay

# These wait more than they compute, so verify runs them beside another random test.
random-load: property
	$(MAKE) --no-print-directory chaos DURATION=60s

mod-check:
	go mod tidy -diff
	go mod verify
	cd e2e/tools && go mod tidy -diff && go mod verify
	cd e2e/bench/peers && go mod tidy -diff && go mod verify

docs-check:
	go test -count=1 -run '^TestDocs' ./e2e/arch

# Without this the race detector fails with a message about cgo that names no cure.
c-compiler:
	@command -v "$$(go env CC)" >/dev/null || \
	  { echo "race: no C compiler ($$(go env CC)), which the race detector needs; on Debian: apt-get install gcc libc6-dev" >&2; exit 1; }
