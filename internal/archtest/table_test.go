package archtest

// row says what some packages may import beside the standard library. Packages are named within the module.
type row struct {
	packages []string // patterns
	own      []string // patterns of our packages
	never    []string // exceptions to own
	outside  []string // modules, or packages of modules
}

const (
	cobra      = "github.com/spf13/cobra"
	dbutil     = "go.mau.fi/util/dbutil"
	hooks      = "github.com/standard-webhooks/standard-webhooks/libraries"
	jcs        = "github.com/gowebpki/jcs"
	mauUtil    = "go.mau.fi/util"
	mautrix    = "maunium.net/go/mautrix"
	pq         = "github.com/lib/pq"
	prometheus = "github.com/prometheus/client_golang"
	sqlite     = "github.com/mattn/go-sqlite3"
	term       = "golang.org/x/term" // whether there is a terminal, and how wide it is
	text       = "golang.org/x/text"
	xRate      = "golang.org/x/time/rate"
	yaml       = "go.yaml.in/yaml/v3"
	zeroconf   = "go.mau.fi/zeroconfig"
	zerolog    = "github.com/rs/zerolog"
	validator  = "github.com/santhosh-tekuri/jsonschema/v6"
	strict     = "github.com/go-json-experiment/json" // reads JSON strictly (duplicate keys, UTF-8, surrogates), and in one pass
)

// imports is the import table of the design, section 3.
var imports = []row{
	{packages: []string{"schema"}, outside: []string{validator, strict, text}},
	{packages: []string{"fixtures"}},
	{packages: []string{"fixtures/internal/generate"}, own: []string{"schema"}}, // a program that writes the fixtures
	{packages: []string{"bridge/texts"}},
	{packages: []string{"bridge"}, own: []string{"bridge/texts"}, outside: []string{zerolog, text}},
	{packages: []string{"bridge/certificate"}, outside: []string{jcs}},
	{packages: []string{"bridge/client"}, own: []string{"schema"}, outside: []string{hooks}},
	{packages: []string{"bridge/producer"}, own: []string{"bridge", "bridge/texts", "schema", "internal/queue"}}, // what the queue takes
	{packages: []string{"bridge/storetest"}, own: []string{"bridge", "internal/demand"}},
	{packages: []string{"internal/dialect"}, own: []string{"bridge", "schema", "internal/queue", "internal/grant", "internal/gate", "internal/gate/collector", "internal/gate/decision"}},
	{packages: []string{"internal/egress"}},
	{packages: []string{"internal/audit"}, own: []string{"bridge"}, outside: []string{zerolog}},
	{
		packages: []string{"internal/wait", "internal/outbox", "internal/sweep"},
		own:      []string{"bridge"}, outside: []string{zerolog},
	},
	{packages: []string{"internal/queue"}, own: []string{"bridge"}, outside: []string{zerolog}},
	{packages: []string{"internal/grant"}, own: []string{"bridge", "bridge/texts", "schema", "internal/shortid"}, outside: []string{zerolog}},
	{
		packages: []string{"internal/queue/callback"},
		own:      []string{"bridge", "schema", "internal/dialect", "internal/egress", "internal/queue"}, outside: []string{zerolog},
	},
	{packages: []string{"internal/queue/command"}, own: []string{"bridge", "bridge/texts", "schema", "internal/queue"}},
	{packages: []string{"internal/queue/storetest"}, own: []string{"bridge", "internal/demand", "internal/queue"}},
	{
		packages: []string{"internal/webhook"},
		own:      []string{"bridge", "schema", "internal/dialect", "internal/egress", "bridge/certificate"},
		outside:  []string{zerolog, hooks},
	},
	{packages: []string{"internal/gate"}, own: []string{"bridge", "schema"}},
	{
		packages: []string{"internal/gate/host"},
		own:      []string{"bridge", "schema", "internal/dialect", "internal/egress", "internal/gate"}, outside: []string{zerolog},
	},
	{
		packages: []string{"internal/gate/collector"},
		own:      []string{"bridge", "bridge/texts", "internal/gate"}, outside: []string{zerolog},
	},
	{packages: []string{"internal/shortid"}},
	{
		packages: []string{"internal/gate/decision"},
		own:      []string{"bridge", "bridge/texts", "schema", "internal/gate/collector", "internal/shortid"}, outside: []string{zerolog},
	},
	{packages: []string{"internal/gate/decision/storetest"}, own: []string{"bridge", "internal/demand", "internal/gate/collector", "internal/gate/decision"}},
	{packages: []string{"internal/gate/collector/storetest"}, own: []string{"bridge", "internal/demand", "internal/gate", "internal/gate/collector"}},
	{
		packages: []string{"internal/sqlstore"},
		// the store interfaces of queue and gate
		own:     []string{"bridge", "internal/queue", "internal/queue/command", "internal/gate", "internal/gate/host", "internal/gate/collector", "internal/gate/decision", "internal/grant", "internal/sqlstore/upgrades"},
		outside: []string{dbutil, sqlite, pq, zerolog, strict},
	},
	{packages: []string{"internal/sqlstore/upgrades"}, outside: []string{dbutil}},
	{
		packages: []string{"internal/matrix"},
		own:      []string{"bridge", "bridge/texts", "schema", "internal/dialect", "internal/egress"},
		outside:  []string{mautrix, mauUtil, zerolog, strict},
	},
	{
		packages: []string{"internal/httpapi"},
		own: []string{
			"bridge", "schema", "internal/dialect", "bridge/certificate",
			"internal/queue", "internal/gate", "internal/gate/host", "internal/gate/collector", "internal/gate/decision", "internal/grant", "internal/wait",
		},
		outside: []string{zerolog, xRate},
	},
	{packages: []string{"internal/httpapi/apitest"}, own: []string{"internal/httpapi"}, outside: []string{validator}}, // for tests alone
	{packages: []string{"internal/config"}, own: []string{"bridge"}, outside: []string{yaml, zeroconf, zerolog}},
	{packages: []string{"internal/metrics"}, own: []string{"bridge"}, outside: []string{prometheus}},
	{packages: []string{"internal/testserver"}},
	{packages: []string{"internal/demand"}},                                                                                  // for conformance suites
	{packages: []string{"internal/clocktest"}},                                                                               // the time of tests
	{packages: []string{"internal/sealedclient"}, own: []string{"internal/testserver"}, outside: []string{mautrix, mauUtil}}, // for tests and the demo
	{packages: []string{"internal/archtest"}},
	{packages: []string{"internal/measure"}}, // for benchmarks alone
	{
		packages: []string{"internal/app"},
		own:      []string{"..."}, never: []string{"internal/testserver", "internal/httpapi/apitest"},
		outside: []string{"golang.org/x/sync/errgroup", zerolog},
	},
	{packages: []string{"internal/command"}, outside: []string{cobra}}, // what both programs have in common
	{
		packages: []string{"cmd/question"},
		// bridge for Match alone: what names an option in a room names it on a command line
		own: []string{"bridge", "bridge/client", "bridge/certificate", "schema", "fixtures", "internal/command"}, outside: []string{cobra, term},
	},
	{
		packages: []string{"cmd/questiond"},
		own:      []string{"internal/app", "internal/config", "internal/testserver", "internal/sealedclient", "internal/command"}, outside: []string{cobra, term},
	},
}
