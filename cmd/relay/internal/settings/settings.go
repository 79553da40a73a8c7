package settings

import (
	"time"

	"github.com/holdfast-dev/holdfast/outbox/wire"
	"github.com/holdfast-dev/holdfast/relay"
)

// Prefix begins every variable of the relay.
const Prefix = "RELAY_"

// Settings are the values that a command runs with. The tags are the only description of a
// setting that exists:
//
//	env       name without [Prefix], and the default, as go-envconfig has them
//	section   which commands have it as a flag, and where it stands in the environment file
//	kind      what its text is: duration, count, number (a count that may be 0), size; nothing for text
//	values    the only values allowed, separated by |
//	secret    never shown, never a flag, and may come from a file (name_FILE)
//	fallback  a standard variable that is used when nothing else is set
//	doc       what it means
type Settings struct {
	DatabaseURL string `env:"DATABASE_URL" section:"database" secret:"true" example:"postgres://relay:password@db.example/orders" doc:"Where the outbox is: a postgres:// URL or key=value words. What it leaves out comes from the standard PG* variables; when it is not set, all does."`
	Schema      string `env:"SCHEMA, default=outbox" section:"database" doc:"Database schema of the outbox."`
	Group       string `env:"GROUP, default=default" section:"database" doc:"Relay group. A second group drains the same log to another broker."`

	NATSURL       string `env:"NATS_URL, default=nats://127.0.0.1:4222" section:"nats" fallback:"NATS_URL" doc:"NATS servers, separated by commas."`
	NATSCredsFile string `env:"NATS_CREDS_FILE" section:"nats" example:"/run/secrets/relay.creds" doc:"Credentials file (JWT and seed) for NATS."`
	NATSUser      string `env:"NATS_USER" section:"nats" doc:"User for NATS, with a password."`
	NATSPassword  string `env:"NATS_PASSWORD" section:"nats" secret:"true" doc:"Password for NATS, with a user."`
	NATSToken     string `env:"NATS_TOKEN" section:"nats" secret:"true" doc:"Token for NATS."`
	NATSCAFile    string `env:"NATS_TLS_CA_FILE" section:"nats" doc:"Certificate authority that signed the certificates of the NATS servers, in PEM. The system's authorities if not set."`
	NATSCertFile  string `env:"NATS_TLS_CERT_FILE" section:"nats" doc:"Client certificate for NATS, in PEM, with its key."`
	NATSKeyFile   string `env:"NATS_TLS_KEY_FILE" section:"nats" doc:"Key of the client certificate for NATS, in PEM."`

	Stream          string `env:"STREAM" section:"stream" example:"ORDERS" doc:"JetStream stream that must store the events. Needed by relay run, relay check, relay stream, relay reconcile and relay replay."`
	SubjectPrefix   string `env:"SUBJECT_PREFIX, default=events" section:"stream" doc:"What {prefix} stands for in the subject template."`
	SubjectTemplate string `env:"SUBJECT_TEMPLATE, default={prefix}.{type}" section:"stream" doc:"Subject of an event, made of {prefix}, {type}, {source}, {subject} and {partitionkey}."`

	Mode       wire.Mode           `env:"MODE, default=binary" section:"drain" values:"binary|structured" doc:"Where attributes of an event travel: in headers (binary), or in one JSON document with the data (structured)."`
	Publisher  relay.PublisherKind `env:"PUBLISHER, default=auto" section:"drain" values:"auto|async|fast" doc:"How events are put into the stream: one by one (async), as fast batches (fast; server 2.14 and a stream with allow_batched, where they are missing relay check fails and events go one by one), or the faster one that is possible (auto)."`
	Owner      string              `env:"OWNER" section:"drain" doc:"Name of this pod in leases and logs, unique among live pods. Host name, process id and a random part if not set."`
	BatchSize  int                 `env:"BATCH_SIZE, default=1000" section:"drain" kind:"count" doc:"Events of one lane that are published before they are settled, 1 to 10000."`
	BatchBytes Bytes               `env:"BATCH_BYTES, default=32MiB" section:"drain" kind:"size" doc:"Payload of all batches in memory together, 1MiB at least."`
	Workers    int                 `env:"WORKERS, default=8" section:"drain" kind:"count" doc:"Lanes that read or publish at the same time, 1 to 256. The relay uses one database connection for each, and two more."`
	Lease      time.Duration       `env:"LEASE, default=10s" section:"drain" kind:"duration" doc:"How long a lane stays with a pod that was killed, 1s to 10m."`
	PollMin    time.Duration       `env:"POLL_MIN, default=2ms" section:"drain" kind:"duration" doc:"Shortest pause between two looks for new events."`
	PollMax    time.Duration       `env:"POLL_MAX, default=50ms" section:"drain" kind:"duration" doc:"Longest pause between two looks for new events."`

	WakeSubject   string `env:"WAKE_SUBJECT" section:"drain" example:"holdfast.wake" doc:"Subject of core NATS on which producers say after a commit that there is something to drain (outbox.Wake). Nothing depends on it."`
	ListenChannel string `env:"LISTEN_CHANNEL" section:"drain" example:"holdfast_wake" doc:"Channel on which producers say so by NOTIFY. It takes one more database connection, which must not go through a pooler in transaction mode. Nothing depends on it."`

	AckTimeout time.Duration `env:"ACK_TIMEOUT, default=5s" section:"drain" kind:"duration" doc:"How long a batch may go without any acknowledgement before it is published again."`
	RetryMin   time.Duration `env:"RETRY_MIN, default=50ms" section:"drain" kind:"duration" doc:"First pause while the broker or the database is away. It doubles."`
	RetryMax   time.Duration `env:"RETRY_MAX, default=5s" section:"drain" kind:"duration" doc:"Longest pause while the broker or the database is away."`

	RefusedRetries      int           `env:"REFUSED_RETRIES, default=12" section:"drain" kind:"number" doc:"How often an event that the broker refuses for itself is tried again before it is a dead letter; with 0 the first refusal is the last. An outage is not a refusal and counts nothing."`
	RefusedPauseMin     time.Duration `env:"REFUSED_PAUSE_MIN, default=250ms" section:"drain" kind:"duration" doc:"Pause before the first retry of a refused event. It doubles."`
	RefusedPauseMax     time.Duration `env:"REFUSED_PAUSE_MAX, default=5m" section:"drain" kind:"duration" doc:"Longest pause between two retries of a refused event."`
	DeadLetterBlocksKey bool          `env:"DEAD_LETTER_BLOCKS_KEY, default=false" section:"drain" values:"true|false" doc:"Whether the later events of a key wait while the key has a dead letter. By default the key goes on."`

	StopTimeout  time.Duration `env:"STOP_TIMEOUT, default=10s" section:"drain" kind:"duration" doc:"How long a stopping relay waits for batches in flight. Keep it below what kills the pod."`
	UnreadyAfter time.Duration `env:"UNREADY_AFTER, default=15s" section:"drain" kind:"duration" doc:"How long the broker or the database may be unavailable before /readyz says so."`
	Allow        string        `env:"ALLOW" section:"drain" doc:"Checks that are overridden by name, separated by commas, such as dedup-window: relay run starts in spite of them, and to relay check their failure is a warning and their warning is nothing. relay check shows the names."`

	MeasureEvery    time.Duration `env:"MEASURE_EVERY, default=15s" section:"http" kind:"duration" doc:"Pause between two looks at the database for metrics. Each pod looks; it pauses longer when a look takes long."`
	Maintenance     bool          `env:"MAINTENANCE, default=true" section:"retention" values:"true|false" doc:"Whether this pod empties old slots of the log and removes old records. One pod at a time does it; without any, nothing breaks and the log grows."`
	Retention       time.Duration `env:"RETENTION" section:"retention" kind:"duration" doc:"How long published events stay in the log at least. All periods of the schema but two if not set, which is also the longest that can be kept up with: 48h with 4 daily slots."`
	RetentionEvery  time.Duration `env:"RETENTION_EVERY, default=1m" section:"retention" kind:"duration" doc:"Pause between two looks for slots to empty, 1s at least. A look that finds nothing writes nothing."`
	RecordRetention time.Duration `env:"RECORD_RETENTION, default=9600h" section:"retention" kind:"duration" doc:"How long the history of dead letters and the audit of holds stay, 720h at least. What is still open stays anyway."`

	HTTPAddr string `env:"HTTP_ADDR, default=127.0.0.1:9090" section:"http" doc:"Address of /livez, /readyz and /metrics. Loopback only by default: they need no login. Port 0 takes a free one."`

	HoldAddr            string        `env:"HOLD_ADDR" section:"holds" example:"127.0.0.1:9091" doc:"Address of the control surface of holds. Off if not set. Without a certificate on loopback only. Port 0 takes a free one."`
	HoldDatabaseURL     string        `env:"HOLD_DATABASE_URL" section:"holds" secret:"true" doc:"Login of the control surface, with the rights of the role operator, to the database of the relay. RELAY_DATABASE_URL if not set."`
	HoldCallers         string        `env:"HOLD_CALLERS" section:"holds" example:"checkout,billing" doc:"Exact names of the services that may call, separated by commas. They need the role service as well."`
	HoldOperatorRole    string        `env:"HOLD_OPERATOR_ROLE" section:"holds" doc:"Role whose holders may call without being named, and decide about the generations of everybody. Nobody if not set."`
	HoldCredentialsFile string        `env:"HOLD_CREDENTIALS_FILE" section:"holds" doc:"File with a line for each static credential: the caller, its roles with commas, and sha256: with the hash of a token, or the URI of a client certificate. Read at the start."`
	HoldOIDCIssuer      string        `env:"HOLD_OIDC_ISSUER" section:"holds" doc:"URL of the OpenID Connect provider whose tokens are taken: the caller is sub, its roles are in roles."`
	HoldOIDCAudience    string        `env:"HOLD_OIDC_AUDIENCE" section:"holds" doc:"Audience that a token of the provider must be meant for."`
	HoldOIDCAlgorithms  string        `env:"HOLD_OIDC_ALGORITHMS, default=RS256,ES256" section:"holds" doc:"Algorithms by which a token of the provider may be signed, separated by commas."`
	HoldCertFile        string        `env:"HOLD_TLS_CERT_FILE" section:"holds" doc:"Certificate of the control surface, in PEM, with its key. One that is replaced is used within 10 seconds."`
	HoldKeyFile         string        `env:"HOLD_TLS_KEY_FILE" section:"holds" doc:"Key of the certificate of the control surface, in PEM."`
	HoldClientCAFile    string        `env:"HOLD_TLS_CLIENT_CA_FILE" section:"holds" doc:"Certificate authority of the client certificates that are taken, in PEM. None are asked for if not set."`
	HoldPlaintext       bool          `env:"HOLD_PLAINTEXT, default=false" section:"holds" values:"true|false" doc:"Whether the control surface may listen without a certificate elsewhere than on loopback, because something else encrypts."`
	HoldTimeout         time.Duration `env:"HOLD_TIMEOUT, default=15s" section:"holds" kind:"duration" doc:"How long a call may take, with its wait for open writers. Clients wait for 20s."`
	HoldStopTimeout     time.Duration `env:"HOLD_STOP_TIMEOUT, default=5s" section:"holds" kind:"duration" doc:"How long calls may take to end when the relay stops. The relay stops meanwhile."`

	LogFormat string `env:"LOG_FORMAT, default=text" section:"log" values:"text|json" doc:"Format of the log on stderr."`
	LogLevel  string `env:"LOG_LEVEL, default=info" section:"log" values:"debug|info|warn|error" doc:"Least level that is logged."`

	// Rotated reads again the secrets that came from files, by the names of their variables. It has
	// no tags: it is no setting.
	Rotated map[string]func() string
}
