# make run     build, then the demo: a homeserver, two people, a room and a question
# make build   the programs, into bin/; the homeserver for demo and tests takes a minute or two the first time
# make test    everything that must hold, race detector on
# make check   formatting, vet, module files
# make soak    what takes longer, all of it (soak-crash, soak-waits, soak-fuzz, soak-ajv): bridge and homeserver killed at
#              random under load, 300 waits renewed while others write, fuzzing, 200,000 documents against ajv
# make bench   how fast decoding, validating, rendering, storing and serving are, as ratios; see docs/performance.md

GO ?= go
NPM ?= npm
FUZZTIME ?= 60s
ROUNDS ?= 200
WAITS ?= 10m
SEED ?= 1
DENDRITE := bin/dendrite
# Encryption in pure Go, for everything below. Without the tag a program says in encrypted rooms that it has none.
export GOFLAGS := $(strip $(GOFLAGS) -tags=goolm)
AJV := schema/ajv/node_modules/.installed
RECEIVER := internal/webhook/receiver/node_modules/.installed
PERSON := internal/app/person/node_modules/.installed

.PHONY: run build test check soak soak-crash soak-waits soak-fuzz soak-ajv bench clean

run: build
	bin/questiond demo

build: $(DENDRITE)
	$(GO) build -o bin/ ./cmd/...

test: check $(AJV) $(RECEIVER) $(PERSON) $(DENDRITE)
	$(GO) test -race ./...
	$(GO) test ./bridge/certificate # every byte, which takes minutes under the race detector

check:
	@unformatted=$$(gofmt -l .); test -z "$$unformatted" || { echo "not gofmt-ed: $$unformatted"; exit 1; }
	$(GO) vet ./...
	$(GO) mod tidy -diff
	@! $(GO) list -deps ./... | grep crypto/libolm$$ || { echo 'the C library libolm got in'; exit 1; }
	@! GOFLAGS= $(GO) list -deps ./... | grep crypto/libolm$$ || { echo 'without -tags goolm, the C library libolm got in'; exit 1; }

soak: soak-crash soak-waits soak-fuzz soak-ajv

# ROUNDS kills of each kind, about ten minutes each; SEED decides what everybody does.
soak-crash: $(DENDRITE)
	$(GO) test ./internal/app -run '^TestSoak' -count=1 -parallel 1 -timeout 4h -v -soak.rounds=$(ROUNDS) -soak.seed=$(SEED)

# WAITS is how long clients wait, read and write; after that it takes up to five minutes until the bridge has tidied up.
soak-waits:
	$(GO) test ./internal/app -run '^Test(D1|D2)OnTheServer$$' -count=1 -timeout 4h -v -soak.waits=$(WAITS) -soak.answers=30s

soak-fuzz:
	@set -e; for target in schema:FuzzDecode schema:FuzzBodies bridge:FuzzMatch bridge:FuzzFold \
		internal/matrix:FuzzTransaction internal/matrix:FuzzInteraction internal/matrix:FuzzRelation internal/matrix:FuzzSpoken; do \
		echo "$$target"; \
		$(GO) test ./$${target%:*} -run '^$$' -fuzz "^$${target#*:}$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x; \
	done

soak-ajv: $(AJV)
	$(GO) test ./schema -run AgreesWithAJV -count=1 -timeout 30m -v -ajv.n=200000
	$(GO) test ./schema -run AJVComparisonBites -count=1 -timeout 30m -v -ajv.bite

bench: export QUESTION_BENCH_TABLE := $(CURDIR)/bin/performance.md
bench:
	@mkdir -p bin && rm -f $(QUESTION_BENCH_TABLE)
	$(GO) test ./schema -run '^$$' -bench . -benchtime 3s -cpu 1
	$(GO) test ./internal/app -run '^$$' -bench . -benchtime 8s -timeout 30m
	@echo && cat $(QUESTION_BENCH_TABLE)

# The homeserver, pinned in a module of its own.
$(DENDRITE): internal/testserver/dendrite/go.mod internal/testserver/dendrite/go.sum
	cd internal/testserver/dendrite && $(GO) build -o ../../../$(DENDRITE) github.com/matrix-org/dendrite/cmd/dendrite
	touch $@

# The validator of the differential test, the receiver of the webhook tests and the client of the encrypted rooms, at the
# versions of their lock files.
%/node_modules/.installed: %/package.json %/package-lock.json %/.npmrc
	@command -v $(NPM) >/dev/null || { echo 'make test needs Node.js 20 or newer, with npm' >&2; exit 1; }
	cd $* && $(NPM) ci --no-audit --no-fund --no-progress
	touch $@

clean:
	rm -rf bin schema/ajv/node_modules internal/webhook/receiver/node_modules internal/app/person/node_modules
