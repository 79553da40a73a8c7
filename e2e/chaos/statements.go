package main

import _ "embed"

// The statements of the load and of the trial.
var (
	//go:embed sql/schema.sql
	schemaSQL string
	//go:embed sql/advance_key.sql
	advanceKeySQL string
	//go:embed sql/write_ledger.sql
	writeLedgerSQL string
	//go:embed sql/write_decision.sql
	writeDecisionSQL string
	//go:embed sql/backlog.sql
	backlogSQL string
	//go:embed sql/terminate.sql
	terminateSQL string
	//go:embed sql/unowned.sql
	unownedSQL string
)
