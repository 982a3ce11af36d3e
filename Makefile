# kairosd: build, run and check. `make` lists the targets.
SHELL := /bin/bash
GO    ?= go
TOOL  := CGO_ENABLED=0 $(GO) tool -modfile=tools/go.mod
DATA  ?=
LISTEN ?= 127.0.0.1:8080
MILLION ?= /tmp/kairos-million
PROOF ?= 1
FIGURES ?= /tmp/kairos-figures
VERSION ?= $(shell git describe --tags --always 2>/dev/null || echo dev)
RELEASE ?= $(shell git describe --tags --match 'v[0-9]*' 2>/dev/null || echo 0.0.0-dev)
LDFLAGS := -s -w -X github.com/kairosd/kairosd/internal/buildinfo.Version=$(VERSION)
# Linking without symbols takes half the time. Stack traces stay complete.
RACE_TEST := $(GO) test -vet=off -ldflags=-s -race -short
# Packages that start goroutines, to test with the race detector.
RACE := ./agent ./planner ./internal/a2aserver ./internal/mcpserver ./internal/budget ./internal/app ./internal/schedule \
	./internal/assemble ./internal/daemon ./internal/demo ./internal/hook ./internal/client ./internal/bulk ./internal/circuit \
	./internal/conversation ./internal/draft ./internal/events ./internal/handler \
	./internal/mcp ./internal/metric/... ./internal/notify ./internal/tool
# Of the API and of logins, the tests of streams and of requests at the same time.
RACE_API := Stream|Event|Listener|Idempotency|AtOnce|Together|Storm|Throttle
# Of the CLI, the tests of the daemon and its listeners: a command is one goroutine.
RACE_CLI := Daemon|Serve|Socket|Stream|Connections|SlowClients|ServiceManager|Maintenance|SafeMode|ALog|ASecretIsRotated
# Of the store, the tests that commit, read, and back up concurrently.
RACE_STORE := WithoutAGap|UnderLoad|WhileWorkContinues|CommitTogether|Conformance|TheStoreIsTheModel|FullDisk|MalformedPage|Anchor
# Of the dashboard the tests of what runs next to a request: event streams, logins, and people who act at once.
RACE_WEB := Stream|Follow|Login|Session|Unchanged|TwoOperators|TwoAuthors|DoneOnce|HomeOfA|FailedSection|Throttled

.PHONY: help build run test check lint-api race size golden-db ui-quick ui-test ui-million ui-budget screenshots crash soak generate \
	docs sbom vuln release release-deps release-test reproducible verify fmt fuzz bench load microbench temporal-check temporal-build \
	temporal-server temporal-test temporal-bench million recovery clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

build: ## build bin/kairosd and bin/kairos
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '$(LDFLAGS)' -o bin/ ./cmd/kairosd ./cmd/kairos

run: build ## build and start kairosd with example plans; prints its URL
	bin/kairosd serve $(if $(DATA),--data $(DATA)) --listen $(LISTEN) --examples

# One package more than processors, because tests wait for disks and for other processes. The two slowest
# packages are first, so that no processor waits for them at the end.
PACKAGES := $(shell echo $$(($$(getconf _NPROCESSORS_ONLN) + 1)))
# `make check` vets all code.
test: ## run all tests
	$(GO) test -p $(PACKAGES) -vet=off -ldflags=-s -shuffle=on ./web/browsertest ./internal/cli ./...

check: ## run all checks except `make test`
	@out=$$(gofmt -l $$(git ls-files '*.go')); test -z "$$out" || { echo "not gofmt-ed: $$out"; exit 1; }
	$(GO) vet ./...
	$(TOOL) staticcheck ./...
	$(MAKE) verify
	$(MAKE) lint-api
	$(MAKE) race

lint-api: ## lint the OpenAPI document (needs node and npm; skipped without them)
	$(GO) test -v -count=1 ./internal/testing/clients -run 'TestClientsOfOtherProjects/linter'

race: ## run the tests of concurrent packages with the race detector
	$(RACE_TEST) ./internal/engine -rapid.checks=20
	$(RACE_TEST) ./internal/cli -run '$(RACE_CLI)'
	$(RACE_TEST) ./internal/store ./internal/store/recovery -run '$(RACE_STORE)'
	$(RACE_TEST) ./web ./web/account ./web/home -run '$(RACE_WEB)'
	$(RACE_TEST) ./internal/api ./internal/auth -run '$(RACE_API)'
	$(RACE_TEST) $(RACE)

size: ## print the Go statements of each package, without tests and generated code
	$(GO) run ./internal/testing/size

crash: ## kill the daemon at each durable step of a run, and during recovery (KAIROS_SEED=N repeats a run)
	KAIROS_PROOF=$${KAIROS_PROOF:-1} $(GO) test ./crashtest -count=1 -timeout 60m -v -run 'TestKill'

# A failed proof is recorded, and the next one starts.
define proof
	@echo "== $(1)"
	@$(2) || printf 'failed: %s\t1\n' '$(1)' >> $(FIGURES)

endef
LARGE := KAIROS_PROOF=$(PROOF) KAIROS_FIGURES=$(FIGURES) $(GO) test -count=1 -timeout 24h

soak: ## run every proof at large size (PROOF=N: N times as large; KAIROS_SEED=N: other cases) and print the score card (CARD=1: also write it to docs/internals/reliability.md)
	@rm -f $(FIGURES)
	$(call proof,tests,$(GO) test ./...)
	$(call proof,store,$(LARGE) ./internal/store ./internal/store/recovery -run 'TestPowerCuts|TestOneFailing|TestADamagedLog|TestAFlippedBit|TestDamageIsNamed|TestAChangedBackup|TestKillInUpgrade|TestGolden|TestConformance|TestTheStoreIsTheModel|TestARestoreRefuses')
	$(call proof,crashes,$(LARGE) ./crashtest -skip TestSeededBugs)
	$(call proof,simulation,$(LARGE) ./internal/engine -run 'TestSimulation|TestASimulationRepeatsItself|TestTheSimulationNotices')
	$(call proof,random plans,$(LARGE) ./internal/engine -run 'TestAllPathsToAStateAgree|TestConcurrentOperators|TestPredictionIsExecution' -rapid.checks=$$((250 * $(PROOF))))
	$(call proof,load,$(LARGE) ./internal/engine -run TestDurableCheckpoints)
	$(call proof,access,$(LARGE) ./web ./internal/api -run 'Matrix')
	$(call proof,bad inputs,$(LARGE) ./internal/arch -run TestBadInputs)
	$(call proof,fuzz,KAIROS_FIGURES=$(FIGURES) $(GO) run ./internal/testing/proof/fuzz -time $$((4 * $(PROOF)))s)
	$(call proof,seeded bugs,$(LARGE) ./crashtest -run TestSeededBugs)
	@$(GO) run ./internal/testing/proof/scorecard -of "commit $$(git rev-parse --short HEAD), seed $${KAIROS_SEED:-1}, $$(date -u +%F)" $(if $(CARD),-doc docs/internals/reliability.md) $(FIGURES)

generate: ## regenerate queries, templates, styles, and scripts
	$(TOOL) sqlc generate
	$(TOOL) templ generate
	CGO_ENABLED=0 $(GO) generate ./web/static

docs: ## update the list of commands in docs/reference/cli.md, and the JSON Schema of plans
	$(GO) test ./internal/cli -run TestThePageOfCommands -count=1 -update
	$(GO) test ./planner/planschema -run TestTheSchemaOfTheDocumentation -count=1 -update

sbom: build ## write a CycloneDX SBOM of each binary to bin/*.cdx.json
	@for p in kairosd kairos; do $(GO) -C tools/release tool cyclonedx-gomod bin -json -std -noserial -output $(CURDIR)/bin/$$p.cdx.json $(CURDIR)/bin/$$p && echo bin/$$p.cdx.json; done

release-deps: ## download everything that make release needs
	$(GO) mod download
	$(GO) -C tools/release mod download

release: ## build archives, packages, an image, SBOMs, and checksums in dist/, without network (RELEASE=1.2.3; URL=, LICENSE=: also the install script and the formula)
	rm -rf dist
	GOFLAGS= GOPROXY=off $(GO) -C tools/release run . -version $(RELEASE) -out ../../dist $(if $(URL),-url $(URL)) $(if $(LICENSE),-license $(LICENSE))

release-test: ## install the packages, the image, and the install script of this machine, and run a plan with each (as root)
	$(GO) -C tools/release test -count=1 -v -timeout 20m .

vuln: ## check the called code for known vulnerabilities (uses vuln.go.dev; VULNDB=URL: another database)
	$(TOOL) govulncheck $(if $(VULNDB),-db $(VULNDB)) ./...

reproducible: ## build the commit twice, in other directories and once without a cache, and compare the binaries (minutes)
	@set -e; top=$$(mktemp -d); trap 'chmod -R u+w "$$top"; rm -rf "$$top"' EXIT; \
	for at in one another/place; do mkdir -p "$$top/$$at"; git archive HEAD | tar -x -C "$$top/$$at"; done; \
	build() { (cd "$$1" && CGO_ENABLED=0 $(GO) build -trimpath -buildvcs=false -ldflags '$(LDFLAGS)' -o bin/ ./cmd/kairosd ./cmd/kairos); }; \
	build "$$top/one"; GOCACHE="$$top/cache" build "$$top/another/place"; \
	for p in kairosd kairos; do cmp "$$top/one/bin/$$p" "$$top/another/place/bin/$$p"; (cd "$$top/one/bin" && sha256sum $$p); done

verify: ## fail if generated code is out of date
	$(TOOL) sqlc diff
	$(TOOL) templ generate >/dev/null 2>&1
	CGO_ENABLED=0 $(GO) generate ./web/static
	@git diff --exit-code -- '*_templ.go' web/static/k.css web/static/kairos.js || { echo "sources and generated code differ: make generate"; exit 1; }

golden-db: ## create the golden database of this schema, for upgrade tests; those of released schemas do not change
	KAIROS_GOLDEN=1 $(GO) test ./internal/store -run '^TestMakeGoldenDatabase$$' -count=1 -v

fmt: ## format everything
	gofmt -w $$(git ls-files '*.go')
	$(TOOL) templ fmt web

fuzz: ## fuzz each parser for 30 seconds
	$(GO) run ./internal/testing/proof/fuzz -time 30s

bench: ## compare kairosd with similar engines; prints one table (BENCH="-n 1 -workloads W1,W2")
	CGO_ENABLED=0 $(GO) -C bench run . $(BENCH)

load: ## run the load tests at full size: 256 listeners, 10,000 queued runs, outputs of 31 MiB, 40,000 iterations in one run (minutes)
	KAIROS_LOAD=1 $(GO) test -v -count=1 -timeout 30m -run 'TestManyListeners|TestBurst|TestLargeOutputs|TestLongRun' ./internal/engine

temporal-check: ## test the module temporal/ in the test environment of its SDK
	$(GO) -C temporal vet ./...
	$(GO) -C temporal test ./...

temporal-build: ## build bin/kairos-temporal
	CGO_ENABLED=0 $(GO) -C temporal build -trimpath -ldflags '$(LDFLAGS)' -o ../bin/ ./cmd/kairos-temporal

temporal-server: ## build bin/temporal-devserver, a Temporal server for tests and trials, from source (15 minutes on two cores)
	CGO_ENABLED=0 $(GO) -C temporal/devserver build -trimpath -o ../../bin/temporal-devserver .

temporal-test: build temporal-build temporal-server ## test workers on a Temporal server: kills and restarts
	KAIROS_TEMPORAL_BIN=$(CURDIR)/bin $(GO) -C temporal test -count=1 -timeout 20m -v ./servertest

temporal-bench: build temporal-build temporal-server ## compare plans on a Temporal server with hand-written workflows, and with one kairosd
	KAIROS_TEMPORAL_BIN=$(CURDIR)/bin $(GO) -C temporal test -count=1 -timeout 60m -v ./bench

microbench: ## run the benchmarks of packages
	$(GO) test -run xxx -bench . -benchmem ./planner ./planner/walk ./internal/store ./internal/engine ./internal/diagram

ui-quick: ## run a part of ui-test: less than a minute on two cores
	$(GO) test ./web/browsertest -count=1 -timeout 10m

ui-test: ## test every page in a browser on the real daemon: every theme and width, keyboard only, no scripts, races, a killed daemon; print the budgets
	KAIROS_UI=1 $(GO) test ./web/browsertest -count=1 -timeout 60m -v
	$(MAKE) ui-budget

ui-million: ## run ui-test on a million runs, created in $(MILLION) first (5 GB, 15 minutes); print page costs and budgets
	mkdir -p $(MILLION)
	KAIROS_MILLION=1000000 KAIROS_MILLION_ONLY=1 KAIROS_MILLION_DIR=$(MILLION) $(GO) test ./internal/store -run '^TestAMillionRuns$$' -v -count=1 -timeout 120m
	KAIROS_UI=1 KAIROS_MILLION_DIR=$(MILLION) $(GO) test ./web/browsertest -run TestAMillionRuns -v -count=1 -timeout 60m
	rm -rf $(MILLION)

screenshots: ## create the screenshots of the documentation in docs/img
	KAIROS_PICTURES=$(CURDIR)/docs/img $(GO) test ./web/browsertest -run TestScreenshots -count=1 -v -timeout 10m

ui-budget: ## print size and time of pages with their budgets, and fail above a budget; MILLION=DIR of ui-million: with its million runs (on an idle machine)
	KAIROS_UI=1 KAIROS_BUDGET=1 KAIROS_MILLION_DIR=$(if $(wildcard $(MILLION)/kairos.db),$(MILLION)) $(GO) test ./web/browsertest -run '^TestBudgets$$' -count=1 -v -timeout 60m | grep --line-buffered -E 'budget|FAIL|^ok|is over' | sed -uE 's/^ *budget_test.go:[0-9]+: budget//'

million: ## create a million runs in $(MILLION) and measure the queries of operators (about 10 GB, 15 minutes)
	mkdir -p $(MILLION)
	KAIROS_MILLION=1000000 KAIROS_MILLION_DIR=$(MILLION) $(GO) test ./internal/store -run TestAMillionRuns -v -count=1 -timeout 120m
	rm -rf $(MILLION)

recovery: ## leave 10,000 runs unfinished and measure when a restarted daemon accepts new work
	KAIROS_UNFINISHED=10000 $(GO) test ./internal/store -run TestNewWorkIsAcceptedSoonAfterACrash -v -count=1

clean: ## remove what was built
	rm -rf bin
