package arch_test

// sound is a small repository that breaks no rule: each room imports what the
// architecture gives it.
func sound() graph {
	const (
		pgx5  = "github.com/jackc/pgx/v5"
		nats  = "github.com/nats-io/nats.go"
		js    = nats + "/jetstream"
		event = "github.com/cloudevents/sdk-go/v2/event"
	)
	return graph{
		pgx5: {imports: []string{"context"}}, nats: {}, js: {imports: []string{nats}}, event: {},
		module + "/schema/canonical": {imports: []string{"embed"}, testImports: []string{"testing"}},
		module + "/gen":              {imports: []string{module + "/schema/canonical", pgx5}},
		module + "/outbox": {
			imports:     []string{module + "/schema/canonical", pgx5, event, "go.opentelemetry.io/otel/trace"},
			testImports: []string{module + "/outbox/outboxtest", "pgregory.net/rapid"},
		},
		module + "/outbox/wire": {imports: []string{module + "/outbox", nats}},
		module + "/outbox/outboxtest": {imports: []string{
			"testing", module + "/e2e/harness", module + "/gen", module + "/schema/canonical", module + "/outbox", pgx5, js,
		}},
		module + "/hold":           {imports: []string{module + "/outbox", module + "/hold/receipt", pgx5}},
		module + "/hold/receipt":   {imports: []string{pgx5}},
		module + "/hold/saga":      {imports: []string{module + "/hold", module + "/outbox", pgx5}},
		module + "/relay":          {imports: []string{module + "/outbox", module + "/outbox/wire", pgx5, js}},
		module + "/consumers":      {imports: []string{module + "/outbox/wire", pgx5, js}},
		module + "/cmd/relay":      {imports: []string{module + "/relay", module + "/hold", "github.com/spf13/cobra", "go.opentelemetry.io/otel/sdk/metric"}},
		module + "/cmd/outbox-gen": {imports: []string{module + "/gen"}},
		module + "/e2e/harness":    {imports: []string{"github.com/nats-io/nats-server/v2/server", pgx5}},
		module + "/e2e/demo":       {imports: []string{module + "/e2e/harness", module + "/relay", module + "/hold", module + "/consumers"}},
	}
}

// importCases break rules. Packages in add replace those of the sound graph, and
// want lists every rule that must notice, over the whole graph.
var importCases = []struct {
	name string
	add  graph
	want []string
}{
	{"a top folder that nobody knows", imports("util", "strings"), []string{"room"}},
	{"a second schema", imports("schema/other"), []string{"room"}},
	{"a command that nobody knows", imports("cmd/tool"), []string{"room"}},
	{"code in the root", graph{module: {}}, []string{"room"}},
	{"cgo", imports("outbox", "C"), []string{"cgo"}},
	{"canonical imports a module", imports("schema/canonical", "github.com/jackc/pgx/v5"), []string{"outside"}},
	{"gen imports outbox", imports("gen", module+"/outbox"), []string{"arrow"}},
	{"outbox imports gen", imports("outbox", module+"/gen"), []string{"arrow"}},
	{"wire imports pgx", imports("outbox/wire", "github.com/jackc/pgx/v5"), []string{"outside"}},
	{"outbox imports a cloudevents client", imports("outbox", "github.com/cloudevents/sdk-go/v2/client"), []string{"outside"}},
	{"a module that nobody decided on", imports("relay", "gopkg.in/yaml.v3"), []string{"outside"}},
	{"a module with a like name", imports("relay", "github.com/jackc/pgx/v55"), []string{"outside"}},
	{"saga imports its client", imports("hold/saga", module+"/hold/holdclient"), []string{"arrow"}},
	{"outboxtest imports the demo", imports("outbox/outboxtest", module+"/e2e/demo"), []string{"arrow"}},
	{"a command imports a command", imports("cmd/outbox-gen", module+"/cmd/relay"), []string{"arrow"}},
	{"a test imports an unknown module", graph{module + "/gen": {testImports: []string{"example.com/assert"}}}, []string{"outside"}},
	{"a test imports C", graph{module + "/gen": {testImports: []string{"C"}}}, []string{"outside"}},

	{"outbox imports nats", imports("outbox", "github.com/nats-io/nats.go"), []string{"outside", "producers link no nats"}},
	{"hold links nats through wire", imports("hold", module+"/outbox/wire"), []string{"arrow", "producers link no nats"}},
	{
		"a module brings nats along", graph{"github.com/cloudevents/sdk-go/v2/event": {imports: []string{"github.com/nats-io/nats.go"}}},
		[]string{"producers link no nats"},
	},
	{
		"relay imports hold", imports("relay", module+"/hold"),
		[]string{"arrow", "relay without hold or consumers"},
	},
	{
		"relay links consumers through wire", imports("outbox/wire", module+"/consumers"),
		// consumers now reaches itself, which is no rule's business here.
		[]string{"arrow", "relay without hold or consumers"},
	},
	{
		"receipts import the relay", imports("hold/receipt", module+"/relay"),
		[]string{"arrow", "hold without relay or consumers", "producers link no nats"},
	},
	{
		"consumers import hold", imports("consumers", module+"/hold"),
		[]string{"arrow", "consumers without relay or hold"},
	},
	{
		"outbox imports an sdk", imports("outbox", "go.opentelemetry.io/otel/sdk/trace"),
		[]string{"outside", "telemetry sdk in commands only"},
	},
	{
		"cmd/relay embeds a server", imports("cmd/relay", "github.com/nats-io/nats-server/v2/server"),
		[]string{"nats-server in tests only", "outside"},
	},
	{
		"cmd/relay imports the harness", imports("cmd/relay", module+"/e2e/harness"),
		[]string{"arrow", "nats-server in tests only", "test code in tests only"},
	},
	{
		"gen imports testing", imports("gen", "testing"),
		[]string{"test code in tests only"},
	},
	{
		"wire imports outboxtest", imports("outbox/wire", module+"/outbox/outboxtest"),
		[]string{"arrow", "nats-server in tests only", "test code in tests only"},
	},
}

// imports is one package with nothing but these imports.
func imports(folder string, targets ...string) graph {
	return graph{module + "/" + folder: {imports: targets}}
}
