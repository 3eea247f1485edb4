.DEFAULT_GOAL := help
SHELL := /bin/bash
GO ?= go
TOOL = $(GO) tool -modfile=internal/tools/go.mod
FUZZTIME ?= 30s
INTEROP ?= full
KILLS ?= 100
KILLS_WAL ?= 20

.PHONY: help
help: ## show this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  %-18s %s\n", $$1, $$2}'

.PHONY: build
build: ## build bin/coordinatord
	$(GO) build -o bin/coordinatord ./cmd/coordinatord

.PHONY: run
run: build ## build, then run one daemon with an in-process stand-in for Kafka
	@exec bin/coordinatord dev

.PHONY: test
test: ## every test that needs nothing but Go, a C compiler and the module proxy
	$(GO) test -race -shuffle=on -tags invariants ./...

.PHONY: interop
interop: ## against a real Apache Kafka and clients in other languages (INTEROP=quick: one broker, one scenario each)
	cd interop && $(GO) test ./suite
	cd interop && INTEROP=$(INTEROP) $(GO) run ./cmd/interop
	cd interop && $(GO) run ./differential/cmd/differential --target daemon
ifneq ($(INTEROP),quick)
	COORDINATORD_KAFKA=1 $(GO) test -count=1 ./internal/realkafka
	cd interop && $(GO) run ./differential/cmd/differential selftest
endif

.PHONY: interop-flights
interop-flights: ## 336,776 real flights through the gateway, three groups of three clients, two kills
	cd interop && $(GO) run ./cmd/flights

.PHONY: bench
bench: ## the daemon beside a real Kafka, in one table
	$(GO) run ./internal/bench -out bench.txt

.PHONY: bench-go
bench-go: ## Go benchmarks; compare two runs with benchstat
	$(GO) test -run '^$$' -bench . -benchmem -count 6 ./group ./protocol ./wire ./gateway ./raftstore ./internal/coordinator | tee bench-go.txt
	$(TOOL) benchstat bench-go.txt

.PHONY: crash
crash: ## kill -9 under commit load, KILLS (100) times, and KILLS_WAL (20) with raft-wal: nothing acknowledged is lost
	$(GO) test -count=1 -v -timeout 30m -run TestAcknowledgedCommitsSurviveKill9 ./internal/crash -kills $(KILLS)
	$(GO) test -count=1 -v -timeout 30m -run TestAcknowledgedCommitsSurviveKill9 ./internal/crash -kills $(KILLS_WAL) -raft-log-store wal

.PHONY: durability
durability: ## count the syncs of a serial client's commits (needs strace), and see a planted lack of them
	@command -v strace >/dev/null || { echo "make durability needs strace (apt-get install strace)" >&2; exit 1; }
	$(GO) test -count=1 -v -timeout 10m -tags durability -run 'Synced|Syncs' ./internal/crash

.PHONY: fuzz
fuzz: ## run each fuzz target for FUZZTIME (30s)
	@set -euo pipefail; for pkg in $$($(GO) list ./...); do \
		for target in $$($(GO) test -list '^Fuzz' $$pkg | grep '^Fuzz' || true); do \
			echo "== $$pkg $$target"; \
			$(GO) test -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) $$pkg; \
		done; \
	done

.PHONY: lint
lint: ## golangci-lint over all modules, go vet, tidy go.mod
	$(TOOL) golangci-lint run --allow-parallel-runners ./...
	cd interop && $(GO) tool -modfile=../internal/tools/go.mod golangci-lint run --allow-parallel-runners --config ../.golangci.yml ./...
	$(GO) vet ./...
	$(GO) mod tidy -diff

.PHONY: fmt
fmt: ## format all modules
	$(TOOL) golangci-lint fmt
	cd interop && $(GO) tool -modfile=../internal/tools/go.mod golangci-lint fmt --config ../.golangci.yml

.PHONY: vuln
vuln: ## known vulnerabilities in what is called (asks the Go vulnerability database)
	$(TOOL) govulncheck ./...

.PHONY: clean
clean: ## remove what was built and installed
	rm -rf bin .cache bench.txt bench-go.txt

.PHONY: ci
ci: ## what CI runs
	$(MAKE) lint
	$(MAKE) interop INTEROP=quick
	$(MAKE) test
