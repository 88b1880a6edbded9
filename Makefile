# Jackdaw. `make` alone lists the targets.

SHELL      := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

VERSION = $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
LDFLAGS = -s -w -X main.version=$(VERSION)
BIN     := bin/jackdaw
UNIT    = $(shell go list ./... 2>/dev/null | grep -v '/compat-tests')

LINT_VERSION = v2.15.0
FUZZTIME     ?= 30s

# make sim: the first seed, how many from there on, and how many events before the faults end.
SEED  ?= 1
SEEDS ?= 1
STEPS ?= 5000

# make bench: all parts in 5 rounds of 3 seconds take about 20 minutes.
BENCH_ROUNDS  ?= 5
BENCH_SECONDS ?= 3
BENCH_PARTS   ?= start,one,tools,three,scale

export CGO_ENABLED ?= 0

# The jars that compat-tests/setup.sh fetches, once it has: the tests of zkstore run against the ZooKeeper in them, too.
JARS = $(or $(JACKDAW_KAFKA_LIBS),$(or $(JACKDAW_CACHE),$(HOME)/.cache/jackdaw)/kafka-3.9.2/libs)

.PHONY: help
help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: ## bin/jackdaw, one static file
	@mkdir -p bin
	go build -trimpath -ldflags '$(LDFLAGS)' -o $(BIN) ./cmd/jackdaw

.PHONY: run
run: build ## one broker on localhost:9092 from server.properties; needs nothing else
	exec $(BIN) start server.properties

.PHONY: cluster
cluster: build ## three brokers on localhost:9092-9094 and their ZooKeeper; Ctrl-C stops all
	exec scripts/cluster.sh

.PHONY: demo
demo: build ## what replication does when brokers die, step by step, in about a minute
	exec scripts/demo.sh

.PHONY: check
check: ## gofmt, vet, tidy and unit tests
	@files=$$(gofmt -l $$(git ls-files '*.go')); [[ -z $$files ]] || { echo "not formatted:"; echo "$$files"; exit 1; }
	go vet ./...
	go vet -tags compat ./compat-tests/...
	@if [[ -f $(JARS)/.done ]]; then export JACKDAW_ZK_CLASSPATH='$(JARS)/*'; fi; go test $(UNIT)

.PHONY: deps
deps: ## what the compat tests need and is not installed: Java, Maven, kcat, the jars of Apache Kafka and ZooKeeper
	./compat-tests/setup.sh

.PHONY: test
test: deps check compat ## every test; installs what it needs

.PHONY: test-race
test-race: export CGO_ENABLED = 1
test-race: ## unit tests with the race detector and panicking assertions
	go test -race -tags invariants $(UNIT)

.PHONY: compat
compat: build deps ## real clients and a real ZooKeeper against bin/jackdaw; ARGS for go test, such as -run Kcat
	@source ./compat-tests/setup.sh && \
	  JACKDAW_BIN=$(CURDIR)/$(BIN) go test -count=1 -timeout 60m -parallel 4 -tags compat ./compat-tests/... $(ARGS)

.PHONY: faults
faults: ARGS = -v -run 'Failover|Failure|Zombie|Hostile|Unclean|ISR|Offline|Crash|Restart'
faults: compat ## the compat tests that kill and mistreat brokers

.PHONY: mixed
mixed: export JACKDAW_MIXED = 1
mixed: ARGS = -v -run 'Mixed|Rolling'
mixed: compat ## a cluster of Apache Kafka 3.9 under load, broker by broker replaced by Jackdaw and back

.PHONY: clients-suite
clients-suite: export JACKDAW_SUITES = 1
clients-suite: ARGS = -v -run Suite
clients-suite: compat ## franz-go's own tests against Jackdaw and Apache Kafka, which must pass no more of them

.PHONY: compose-test
compose-test: ## docker-compose.yml with a real engine: clients outside, one container killed
	scripts/compose-test.sh

.PHONY: fuzz
fuzz: ## each fuzz test for FUZZTIME (30s)
	@for dir in $$(git grep -l '^func Fuzz' -- '*_test.go' | xargs -n 1 dirname | sort -u); do \
	  for f in $$(grep -ho '^func Fuzz[A-Za-z0-9_]*' $$dir/*_test.go | cut -c6-); do \
	    echo "$$dir $$f"; go test ./$$dir -run '^$$' -fuzz "^$$f\$$" -fuzztime $(FUZZTIME); \
	  done; done

.PHONY: sim
sim: ## a whole cluster from one seed, with faults: SEED, SEEDS, STEPS; ARGS=-trace prints all that happens
	go test ./sim -count=1 -timeout 0 -run AskedSeeds -v -args -seed $(SEED) -seeds $(SEEDS) -steps $(STEPS) $(ARGS)

.PHONY: bench
bench: build deps ## Jackdaw beside Apache Kafka on this machine, into docs/performance.md; BENCH_ROUNDS, BENCH_SECONDS, BENCH_PARTS
	go build -trimpath -o bin/jackdaw-bench ./cmd/jackdaw-bench
	@source ./compat-tests/setup.sh && bin/jackdaw-bench compare --rounds $(BENCH_ROUNDS) --each $(BENCH_SECONDS)s --parts $(BENCH_PARTS) \
	  --doc docs/performance.md --out bin/bench.json

.PHONY: bench-go
bench-go: ## Go benchmarks into bin/bench.txt, beside those of the last run
	@mkdir -p bin
	@if [[ -f bin/bench.txt ]]; then mv bin/bench.txt bin/bench.last.txt; fi
	go test -run '^$$' -bench . -benchmem $(UNIT) | tee bin/bench.txt

.PHONY: lint
lint: .bin/golangci-lint ## golangci-lint, built into .bin
	.bin/golangci-lint run ./...

.bin/golangci-lint: Makefile
	@mkdir -p .bin
	GOBIN=$(CURDIR)/.bin go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(LINT_VERSION)
	@touch $@

.PHONY: generate
generate: ## docs/config.md, docs/compat.md and the picture in docs/architecture.md
	go test -count=1 ./internal/tidy -run Generated -update

.PHONY: rooms
rooms: ## each package and what it is for
	@go list -f '{{printf "%-32s" .ImportPath}} {{.Doc}}' ./...

.PHONY: ci
ci: ## what a commit must pass
	./.ci/run

.PHONY: clean
clean: ## remove what was built, and the data of make run and make cluster
	rm -rf bin .bin data
