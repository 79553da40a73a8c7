package arch_test

import "slices"

// module is the path under which all rooms lie.
const module = "github.com/holdfast-dev/holdfast"

// room is a line of the architecture's import table. Imports of the standard
// library and of the room's own subfolders are always allowed.
type room struct {
	path    string   // folder; the root of the room's subtree
	rooms   []string // rooms that it may import; "*" is every production room and the test rooms
	outside []string // packages of other modules; "x/..." is x and all below it
	test    bool     // linked by tests, the demo and the benchmarks only
}

// never is a rule over everything that a room links, directly or not.
type never struct {
	name    string
	from    []string // rooms, as in room.path
	targets []string // packages, as in room.outside
	why     string
}

// Packages of other modules, by the names that the architecture uses. What is
// new here also needs its reason in docs/decisions.
var (
	pgx         = []string{"github.com/jackc/pgx/v5/..."}
	natsGo      = []string{"github.com/nats-io/nats.go/...", "github.com/synadia-io/orbit.go/jetstreamext/..."}
	cloudEvents = []string{"github.com/cloudevents/sdk-go/v2/event", "github.com/cloudevents/sdk-go/v2/types"}
	uuid        = []string{"github.com/google/uuid"}
	errgroup    = []string{"golang.org/x/sync/..."}

	// The OpenTelemetry API, package by package: its SDK and its exporters live
	// under the same path and are for commands only.
	otelAPI = []string{
		"go.opentelemetry.io/otel", "go.opentelemetry.io/otel/attribute/...", "go.opentelemetry.io/otel/baggage",
		"go.opentelemetry.io/otel/codes", "go.opentelemetry.io/otel/metric/...", "go.opentelemetry.io/otel/propagation",
		"go.opentelemetry.io/otel/semconv/...", "go.opentelemetry.io/otel/trace/...",
	}
	telemetrySDK = []string{
		"go.opentelemetry.io/otel/sdk/...", "go.opentelemetry.io/otel/exporters/...",
		"go.opentelemetry.io/contrib/...", "go.opentelemetry.io/proto/otlp/...", "github.com/prometheus/...",
	}
	authentication = []string{
		"github.com/coreos/go-oidc/v3/...", "github.com/golang-jwt/jwt/v5/...", "github.com/lestrrat-go/jwx/v3/...",
	}
	commandLine = []string{
		"github.com/spf13/cobra/...", "github.com/spf13/pflag", "github.com/sethvargo/go-envconfig",
		"github.com/goccy/go-yaml/...", "github.com/aymanbagabas/go-udiff/...", "golang.org/x/term",
	}
	// Where the SDK logs to; the API links it too, so it is no sign of the SDK.
	sdkLog     = []string{"github.com/go-logr/logr"}
	natsServer = []string{"github.com/nats-io/nats-server/v2/..."}
	testTools  = []string{
		"pgregory.net/rapid/...", "github.com/rogpeppe/go-internal/...", "go.uber.org/goleak/...",
		"github.com/google/go-cmp/...",
	}
	// Test files also check us against the rest of the CloudEvents SDK, and read what is pushed.
	testOnly = slices.Concat(natsServer, testTools, []string{"github.com/cloudevents/sdk-go/...", "google.golang.org/protobuf/proto"})
)

// rooms is the import table. Rooms that are not built yet cost nothing.
var rooms = []room{
	{path: "schema/canonical"},
	{path: "schema/catalog", rooms: []string{"schema/canonical"}, outside: pgx},
	{path: "gen", rooms: []string{"schema/canonical", "schema/catalog"}, outside: pgx},
	{
		path: "outbox", rooms: []string{"schema/canonical", "schema/catalog"},
		outside: slices.Concat(pgx, cloudEvents, otelAPI, uuid),
	},
	{path: "outbox/wire", rooms: []string{"outbox"}, outside: slices.Concat(natsGo, cloudEvents)},
	{
		path: "outbox/outboxtest", rooms: []string{"e2e/harness", "gen", "schema/canonical", "outbox"},
		outside: slices.Concat(pgx, natsGo, []string{"go.uber.org/goleak"}), test: true,
	},
	{path: "hold", rooms: []string{"outbox"}, outside: slices.Concat(pgx, otelAPI, uuid)},
	{
		path: "hold/holdhttp", rooms: []string{"hold", "outbox"},
		outside: slices.Concat(pgx, otelAPI, uuid, authentication, []string{"golang.org/x/time/rate"}),
	},
	{path: "hold/holdclient", rooms: []string{"hold", "outbox"}, outside: slices.Concat(otelAPI, uuid)},
	{
		path: "hold/saga", rooms: []string{"hold", "outbox"},
		outside: slices.Concat(pgx, otelAPI, uuid, errgroup),
	},
	{
		path: "relay", rooms: []string{"outbox", "outbox/wire"},
		outside: slices.Concat(pgx, natsGo, otelAPI, uuid, errgroup),
	},
	{
		path: "consumers", rooms: []string{"outbox/wire"},
		outside: slices.Concat(pgx, natsGo, cloudEvents, otelAPI, uuid, errgroup),
	},
	{
		path: "consumers/consumerstest", rooms: []string{"consumers"},
		outside: slices.Concat(pgx, cloudEvents), test: true,
	},
	{path: "cmd/internal", rooms: []string{"schema/canonical"}, outside: commandLine},
	{path: "cmd/relay", rooms: append([]string{"cmd/internal"}, production...), outside: commands},
	{path: "cmd/outbox-gen", rooms: append([]string{"cmd/internal"}, production...), outside: commands},
	{path: "e2e", rooms: []string{"*"}, outside: everything, test: true},
	{path: "e2e/harness", rooms: []string{"*"}, outside: everything, test: true},
}

var (
	// production is what a command may wire; commands themselves are not in it.
	production = []string{
		"schema/canonical", "schema/catalog", "gen", "outbox", "outbox/wire",
		"hold", "hold/holdhttp", "hold/holdclient", "hold/saga", "relay", "consumers",
	}
	commands = slices.Concat(
		pgx, natsGo, cloudEvents, otelAPI, uuid, errgroup, authentication, commandLine, telemetrySDK, sdkLog)
	everything = slices.Concat(commands, testOnly)

	holds     = []string{"hold", "hold/holdhttp", "hold/holdclient", "hold/saga"}
	producers = slices.Concat([]string{"schema/canonical", "schema/catalog", "gen", "outbox"}, holds)
	libraries = production
	binaries  = slices.Concat(production, []string{"cmd/relay", "cmd/outbox-gen"})
)

var nevers = []never{
	{
		name: "producers link no nats", from: producers, targets: []string{"github.com/nats-io/...", "github.com/synadia-io/..."},
		why: "a service that stages events must not carry a broker client",
	},
	{
		name: "relay without hold or consumers", from: []string{"relay"}, targets: ours("hold/...", "consumers/..."),
		why: "a held row is invisible to the relay, which needs no code to know of holds",
	},
	{
		name: "hold without relay or consumers", from: holds, targets: ours("relay/...", "consumers/..."),
		why: "a service that holds events runs no relay",
	},
	{
		name: "consumers without relay or hold", from: []string{"consumers"}, targets: ours("relay/...", "hold/..."),
		why: "a consumer lives in another service, far from the outbox",
	},
	{
		name: "telemetry sdk in commands only", from: libraries, targets: telemetrySDK,
		why: "whoever builds the binary chooses where telemetry goes",
	},
	{
		name: "nats-server in tests only", from: binaries, targets: natsServer,
		why: "a server inside the relay would be a second broker",
	},
	{
		name: "test code in tests only", from: binaries,
		targets: slices.Concat(testTools, ours("e2e/...", "outbox/outboxtest/..."), []string{"testing/..."}),
		why:     "code that may kill, fake or delete has no business in production",
	},
}

// ours turns folders of this module into import paths.
func ours(folders ...string) []string {
	paths := make([]string, len(folders))
	for i, folder := range folders {
		paths[i] = module + "/" + folder
	}
	return paths
}
