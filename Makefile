.DEFAULT_GOAL := help
GO ?= go

.PHONY: help
help: ## show this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  %-18s %s\n", $$1, $$2}'

.PHONY: build
build: ## build bin/coordinatord
	$(GO) build -o bin/coordinatord ./cmd/coordinatord

.PHONY: run
run: build ## build, then one daemon with an in-process Kafka stand-in
	@exec bin/coordinatord dev

.PHONY: test
test: ## every test that needs nothing but Go, a C compiler and the module proxy
	$(GO) test -race -shuffle=on ./...

.PHONY: clean
clean: ## remove what was built
	rm -rf bin .cache

.PHONY: ci
ci: test ## what CI runs
