# make build   the programs, into bin/
# make test    everything that must hold, race detector on
# make check   formatting, vet, module files
# make soak    what takes longer: fuzzing, 200,000 documents against ajv
# make bench   the figures of docs/performance.md

GO ?= go
NPM ?= npm
FUZZTIME ?= 60s

.PHONY: build test check soak bench clean

build:
	$(GO) build -o bin/ ./cmd/...

test: check schema/ajv/node_modules/.installed
	$(GO) test -race ./...

check:
	@unformatted=$$(gofmt -l .); test -z "$$unformatted" || { echo "not gofmt-ed: $$unformatted"; exit 1; }
	$(GO) vet ./...
	$(GO) mod tidy -diff

soak: schema/ajv/node_modules/.installed
	$(GO) test ./schema -run '^TestAjv' -ajv.n=200000 -timeout 30m -v
	$(GO) test ./schema -run '^$$' -fuzz '^FuzzDecode$$' -fuzztime $(FUZZTIME)
	$(GO) test ./schema -run '^$$' -fuzz '^FuzzBodies$$' -fuzztime $(FUZZTIME)

bench:
	$(GO) test ./schema -run '^$$' -bench . -benchtime 3s -cpu 1

# The validator of the differential test, at the versions of its lock file.
schema/ajv/node_modules/.installed: schema/ajv/package.json schema/ajv/package-lock.json
	cd schema/ajv && $(NPM) ci --no-audit --no-fund
	touch $@

clean:
	rm -rf bin schema/ajv/node_modules
