# Verbs: build test lint fuzz suites bench subjects cassettes man release doors help
SHELL      := /bin/bash
GO         ?= go
FUZZTIME   ?= 20s
BENCHTIME  ?= 1s
VERSION    ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
BIN        := bin
DIST       := dist
TOOLS      := .tmp/bin
LINTER     := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.14.0
ACTIONLINT := github.com/rhysd/actionlint/cmd/actionlint@v1.7.12
GITLEAKS   := github.com/zricethezav/gitleaks/v8@v8.30.1
LEAKS      := --no-banner --no-color --redact --config $(CURDIR)/.gitleaks.toml
NPM_PEERS  := @copilotkit/aimock@1.43.0 wiremock@3.13.2 @pollyjs/core@6.0.6 @pollyjs/adapter-node-http@6.0.6 @pollyjs/persister-fs@6.0.6
NPM_MCP    := node@22.23.3 @modelcontextprotocol/server-everything@2026.8.31 @modelcontextprotocol/conformance@0.1.16
NPM_AGENTS := node@22.23.3 @mariozechner/pi-coding-agent@0.73.1 opencode-ai@1.18.33 @google/gemini-cli@0.61.0 @anthropic-ai/claude-code@2.1.330 @openai/codex@0.169.0
NPM_VITEST := vitest@4.1.12
GORELEASER := github.com/goreleaser/goreleaser/v2@v2.16.0 # the last one that Go 1.26 and the module proxy build
SBOM       := github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@v1.10.0
APT_DOORS  := python3-pytest python3-pytest-xdist python3-venv
TARGETS    ?= all
HOST       := $(shell $(GO) env GOOS)_$(shell $(GO) env GOARCH)
ONLY_host  := s/goos: \[.*/goos: [$(word 1,$(subst _, ,$(HOST)))]/; s/goarch: \[.*/goarch: [$(word 2,$(subst _, ,$(HOST)))]/
SKIP_host  := --skip homebrew,scoop
NEXT       := $(shell sed -n 's/^.. v\([0-9.]*\).*/\1/p' CHANGELOG.md | head -n 1)
NPM_GITLAB := node@22.23.3 gitlab-ci-local@4.75.1
ROUNDS     ?= 3
# How a package, or a test of it, starts goroutines.
GOROUTINE  := '\bgo func|\bgo [a-zA-Z.]+\(|\.Go\(|httptest\.New(TLS)?Server|errgroup'
# Long tests of one goroutine each, in which the race detector finds nothing, and one of
# memory, of which it takes more itself.
RACE_SKIP  := Corpus|RecordedTraffic|Allocations|EverySplit|LongLines|TestV5|HugeBodyIsInMemoryOnce|Linear|Grammar|CompressedRequests|EveryScenario
LDFLAGS    := -s -w -X github.com/meerkat-go/conformance/internal/app/cli.ReleaseVersion=$(VERSION)

.PHONY: help
help: ## show the verbs
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: ## build rkat, recorder and conform into bin/
	$(GO) build -trimpath -ldflags '$(LDFLAGS)' -o $(BIN)/ ./cmd/...

.PHONY: test
test: ## vet and run every test, the oracle module included; MEERKAT_WHOLE=1 runs whole what else is a sample
	$(GO) test -vet=all -timeout 40m ./internal/e2e ./suites ./... # the longest first
	cd oracle && $(GO) test -vet=all ./...
	cd peers && $(GO) test -vet=all ./...

.PHONY: race
race: ## run the packages with concurrency under the race detector, and conform run
	$(GO) test -race -short -skip '$(RACE_SKIP)' -timeout 40m \
	  $$(grep -rlE $(GOROUTINE) --include='*.go' meerkat proxy simulator conform/harness | xargs -n1 dirname | sort -u | sed 's|^|./|')
	$(GO) run -race ./cmd/conform run --quiet

.PHONY: lint
lint: ## gofmt, vet, golangci-lint and actionlint
	@test -z "$$(gofmt -l .)" || { echo 'gofmt would change:'; gofmt -l .; exit 1; }
	$(GO) vet ./...
	GOBIN=$(CURDIR)/$(TOOLS) $(GO) install $(LINTER)
	$(TOOLS)/golangci-lint run ./...
	cd oracle && ../$(TOOLS)/golangci-lint run ./...
	cd peers && ../$(TOOLS)/golangci-lint run ./...
	$(MAKE) actionlint

.PHONY: templates
templates: actionlint ## check the CI templates with the types and schemas of their engines
	cd ci/lint && $(GO) vet ./... && $(GO) test -count=1 ./...
	@npm install --silent --no-audit --no-fund --prefix .tmp/gitlab $(NPM_GITLAB) || echo 'npm: not reachable; the GitLab template is not checked'
	@rm -rf .tmp/gitlab/repository && mkdir -p .tmp/gitlab/repository && cp ci/gitlab/conform.gitlab-ci.yml .tmp/gitlab/repository/.gitlab-ci.yml
	@cd .tmp/gitlab/repository && git init -q . && git remote add origin https://gitlab.example/a/b.git && git -c user.name=lint -c user.email=lint@localhost commit -q --allow-empty -m lint && { [ ! -x ../node_modules/.bin/gitlab-ci-local ] || ../node_modules/.bin/node ../node_modules/gitlab-ci-local/dist/index.js --list; }

.PHONY: actionlint
actionlint: ## check the workflow templates together with the composite action
	GOBIN=$(CURDIR)/$(TOOLS) $(GO) install $(ACTIONLINT)
	@rm -rf .tmp/actionlint && mkdir -p .tmp/actionlint/.github .tmp/actionlint/.git
	@cp -r ci/workflows .tmp/actionlint/.github/workflows && cp -r ci .tmp/actionlint/ci
	cd .tmp/actionlint && ../bin/actionlint .github/workflows/*.yml

.PHONY: leaks
leaks: ## look for keys in all that is tracked, with gitleaks; prove that it would find one
	GOBIN=$(CURDIR)/$(TOOLS) $(GO) install $(GITLEAKS)
	@rm -rf .tmp/leaks && git checkout-index --all --prefix=.tmp/leaks/ && cp -r cassettes .tmp/leaks/
	cd .tmp/leaks && ../bin/gitleaks dir . $(LEAKS) --verbose
	@probe=$$(find .tmp/leaks/cassettes -name '*.yaml' | head -n 1); \
	key=sk-ant-api03-$$(head -c 400 /dev/urandom | base64 | tr -dc 'a-zA-Z0-9' | head -c 93)AA; \
	printf '        body: "%s"\n' "$$key" >> "$$probe"; \
	if (cd .tmp/leaks && ../bin/gitleaks dir cassettes $(LEAKS)) >/dev/null 2>&1; then \
	  echo "gitleaks does not find a key in a cassette"; exit 1; fi; \
	echo "gitleaks finds a key that is put into $${probe#.tmp/leaks/}"

.PHONY: fuzz
fuzz: ## run every fuzz target for FUZZTIME (20s)
	@set -e -o pipefail; log=$$(mktemp); trap 'rm -f $$log' EXIT; \
	for dir in $$($(GO) list -f '{{.Dir}}' ./...); do \
	  for f in $$(grep -hoE '^func Fuzz[A-Za-z0-9_]+' $$dir/*_test.go 2>/dev/null | sed 's/func //'); do \
	    echo "== $${dir#$(CURDIR)/} $$f"; \
	    (cd $$dir && $(GO) test -run '^$$' -fuzz "^$$f\$$" -fuzztime $(FUZZTIME) .) 2>&1 | tee $$log || \
	      { grep -q '^    context deadline exceeded' $$log && ! grep -q 'Failing input written' $$log && \
	        echo "   (no failing input: the end of -fuzztime, golang/go#75804)"; }; \
	  done; \
	done

.PHONY: suites
suites: ## run the conformance suites as Ginkgo specs
	$(GO) run github.com/onsi/ginkgo/v2/ginkgo -p --succinct --no-color ./suites/...

.PHONY: bench
bench: ## benchmarks, our side
	$(GO) test -run '^$$' -bench . -benchmem -benchtime $(BENCHTIME) ./meerkat/... ./proxy/... ./conform/...

.PHONY: bench-peers
bench-peers: ## benchmarks beside the official SDKs and other recorders, in one run
	cd oracle && $(GO) test -run '^$$' -bench . -benchmem -benchtime $(BENCHTIME) ./...
	$(GO) build -o .tmp/peers/recorder ./cmd/recorder
	@npm install --silent --no-audit --no-fund --prefix .tmp/peers $(NPM_PEERS) || echo 'npm: not reachable; its peers are left out'
	cd peers && $(GO) test -run '^$$' -bench Libraries -benchtime 5x .
	cd peers && $(GO) run . -recorder ../.tmp/peers/recorder -tools ../.tmp/peers -rounds $(ROUNDS)

.PHONY: bench-agents
bench-agents: ## rkat beside other agents, on one conversation, without a network (Linux)
	$(GO) build -trimpath -ldflags '$(LDFLAGS)' -o .tmp/peers/ ./cmd/rkat
	@npm install --silent --no-audit --no-fund --prefix .tmp/agents $(NPM_AGENTS) || echo 'npm: not reachable; its agents are left out'
	cd peers && $(GO) run . -tables agents -rkat ../.tmp/peers/rkat -tools ../.tmp/agents -rounds $(ROUNDS)

.PHONY: cassettes
cassettes: ## record the committed cassettes again from the simulator
	$(GO) run ./internal/generate cassettes

.PHONY: subjects
subjects: ## judge the agents of profiles/, installed from npm; SUBJECTS="codex pi" judges those only
	subjects/run $(SUBJECTS)

.PHONY: replay
replay: ## prove that recordings of five agents replay elsewhere and on another day; SUBJECTS="codex pi" those only
	subjects/replay $(SUBJECTS)

.PHONY: scoreboard
scoreboard: ## put the reports of make subjects into the site docs/scoreboard
	$(GO) run ./cmd/conform matrix --site docs/scoreboard reports/subjects/*.json

.PHONY: mcp
mcp: ## judge the MCP server and client with the suite and the test server of the MCP project, from npm
	@npm install --silent --no-audit --no-fund --prefix .tmp/mcp $(NPM_MCP)
	PATH=$(CURDIR)/.tmp/mcp/node_modules/.bin:$$PATH MEERKAT_MCP_CONFORMANCE=$(CURDIR)/.tmp/mcp/node_modules/.bin/conformance \
	  $(GO) test -count=1 -run MCPConformance -v ./internal/app/rkat
	PATH=$(CURDIR)/.tmp/mcp/node_modules/.bin:$$PATH MEERKAT_MCP_EVERYTHING=$(CURDIR)/.tmp/mcp $(GO) test -count=1 -run Everything -v ./meerkat/mcp

.PHONY: chromium
chromium: ## install Chromium from Debian for the tests that need a browser
	@command -v chromium >/dev/null || command -v google-chrome >/dev/null || \
	  { apt-get install -y -q chromium >/dev/null 2>&1 || { apt-get update -q && apt-get install -y -q chromium; } >/dev/null 2>&1; } || \
	  echo 'chromium: cannot be installed here; its tests are skipped'

.PHONY: browser
browser: chromium ## run the tests that need a browser
	$(GO) test -count=1 -run 'Browser|Screenshots' ./conform/inspector ./proxy

.PHONY: postgres
postgres: ## install PostgreSQL from Debian for the tests of what several machines share
	@command -v postgres >/dev/null || ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1 || \
	  { apt-get install -y -q postgresql >/dev/null 2>&1 || { apt-get update -q && apt-get install -y -q postgresql; } >/dev/null 2>&1; } || \
	  echo 'postgresql: cannot be installed here; its tests are skipped'

.PHONY: kills
kills: ## kill 15 replicas under load, take the database away, and print what became of the runs
	MEERKAT_KILL_ROUNDS=15 $(GO) test -count=1 -v -run ReplicasKilledUnderLoad ./internal/e2e

.PHONY: man
man: ## write the manual pages of all commands into dist/man
	@rm -rf $(DIST)/man
	$(GO) run ./internal/generate man $(DIST)/man

.PHONY: release
release: ## build a snapshot of a release into dist/ and test it; TARGETS=host builds for this machine only
	GOBIN=$(CURDIR)/$(TOOLS) $(GO) install $(GORELEASER)
	GOBIN=$(CURDIR)/$(TOOLS) $(GO) install $(SBOM)
	@rm -rf .tmp/man && $(GO) run ./internal/generate man .tmp/man
	@sed '$(ONLY_$(TARGETS))' .goreleaser.yaml > .tmp/goreleaser.yaml
	NEXT=$(NEXT) PATH=$(CURDIR)/$(TOOLS):$$PATH goreleaser release --snapshot --clean $(SKIP_$(TARGETS)) --config .tmp/goreleaser.yaml
	@set -e; for d in $(DIST)/{conform,recorder,rkat}_*/; do \
	  to=$(DIST)/programs/$$(basename $$d | cut -d_ -f2,3); mkdir -p $$to; cp $$d* $$to/; done
	$(MAKE) --no-print-directory packages PACKAGES=$(DIST)
	$(GO) test -count=1 -run 'Release|Doors' -v ./internal/e2e -doors.release $(CURDIR)/$(DIST) -doors $(CURDIR)/$(DIST)

.PHONY: doors
doors: ## build and test the ways in for people without Go, without a release
	@rm -rf .tmp/doors && mkdir -p .tmp/doors/programs/$(HOST)
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '$(LDFLAGS)' -o .tmp/doors/programs/$(HOST)/ ./cmd/...
	$(MAKE) --no-print-directory packages PACKAGES=.tmp/doors
	$(GO) test -count=1 -run Doors -v ./internal/e2e -doors $(CURDIR)/.tmp/doors

# Packs $(PACKAGES)/programs for npm and Python and as an image, and gets what their tests need.
.PHONY: packages
packages:
	ci/packages $(NEXT)-dev $(PACKAGES)/programs $(PACKAGES)
	cd ci/image && $(GO) vet ./... && $(GO) test -count=1 ./... -doors.image $(CURDIR)/$(PACKAGES)/image
	@command -v pytest-3 >/dev/null || { apt-get install -y -q $(APT_DOORS) >/dev/null 2>&1 || { apt-get update -q && apt-get install -y -q $(APT_DOORS); } >/dev/null 2>&1; } || \
	  echo 'pytest: cannot be installed here; its tests are skipped'
	@npm install --silent --no-audit --no-fund --prefix .tmp/vitest $(NPM_VITEST) || echo 'npm: not reachable; Vitest is not tested'

.PHONY: clean
clean: ## remove what the verbs made
	rm -rf $(BIN) $(DIST) .tmp reports
