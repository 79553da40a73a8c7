package check

// check is one fact that is looked at.
type check struct {
	name string
	// needs are checks that must not have failed: one fault gives one line.
	needs []string
	// after says that the schema and the stream must be there: not made before that.
	after bool
	// start says that a relay must not start while it fails.
	start bool
	judge func(*facts) Finding
}

// checks is everything that is looked at, in the order of reports. Names are a contract.
var checks = []check{
	{name: "database", judge: databaseFinding},
	{name: "database-login", needs: needs("database"), judge: loginFinding},
	{name: "postgres-version", needs: needs("database-login"), judge: versionFinding},
	{name: "primary", needs: needs("database-login"), judge: primaryFinding},
	{name: "encoding", needs: needs("database-login"), judge: encodingFinding},
	{name: "clock", needs: needs("database-login"), judge: clockFinding},
	{name: "pooler", needs: needs("database-login"), judge: poolerFinding},
	{name: "prepared-statements", needs: needs("database-login"), judge: statementsFinding},
	{name: "connections", needs: needs("database-login"), judge: connectionsFinding},
	{name: "old-transactions", needs: needs("database-login"), judge: transactionsFinding},
	{name: "prepared-transactions", needs: needs("database-login"), judge: preparedTransactionsFinding},
	{name: "rights", needs: needs("database-login"), after: true, judge: rightsFinding},
	{name: "least-rights", needs: needs("database-login"), after: true, judge: leastRightsFinding},
	{name: "cluster", needs: needs("rights"), after: true, judge: clusterFinding},
	{name: "schema", needs: needs("rights", "postgres-version"), after: true, judge: schemaFinding},
	{name: "schema-drift", needs: needs("schema"), after: true, judge: driftFinding},
	{name: "lanes", needs: needs("schema", "schema-drift"), after: true, judge: lanesFinding},
	{name: "owner", needs: needs("schema", "schema-drift"), after: true, judge: ownerFinding},
	{name: "waiting-events", needs: needs("schema", "schema-drift"), after: true, judge: waitingFinding},
	{name: "rotation", needs: needs("schema", "schema-drift"), after: true, judge: rotationFinding},

	{name: "nats", judge: natsFinding},
	{name: "nats-login", needs: needs("nats"), judge: natsLoginFinding},
	{name: "jetstream", needs: needs("nats-login"), judge: jetStreamFinding},
	{name: "publish-permission", needs: needs("nats-login"), after: true, judge: publishFinding},
	{name: "stream", needs: needs("jetstream"), after: true, judge: streamFinding},
	{name: "stream-writable", needs: needs("stream"), after: true, judge: writableFinding},
	{name: "overlap", needs: needs("stream-writable"), after: true, start: true, judge: overlapFinding},
	{name: "subjects", needs: needs("stream-writable", "overlap"), after: true, start: true, judge: subjectsFinding},
	{name: "acknowledgements", needs: needs("stream-writable"), after: true, start: true, judge: ackFinding},
	{name: "retention", needs: needs("stream-writable"), after: true, start: true, judge: retentionFinding},
	{name: "persist-mode", needs: needs("stream-writable"), after: true, start: true, judge: persistFinding},
	{name: "dedup-window", needs: needs("stream-writable"), after: true, start: true, judge: dedupFinding},
	{name: "publisher", needs: needs("stream-writable"), after: true, judge: publisherFinding},
	{name: "discard", needs: needs("stream-writable"), after: true, judge: discardFinding},
	{name: "storage", needs: needs("stream-writable"), after: true, judge: storageFinding},
	{name: "replicas", needs: needs("stream-writable"), after: true, judge: replicasFinding},
	{name: "sync", needs: needs("stream-writable"), after: true, judge: syncFinding},
	{name: "message-size", needs: needs("database-login", "stream-writable"), after: true, start: true, judge: sizeFinding},
}

func needs(names ...string) []string { return names }

// Names returns the names of all checks, in the order of reports.
func Names() []string {
	names := make([]string, len(checks))
	for i, c := range checks {
		names[i] = c.name
	}
	return names
}
