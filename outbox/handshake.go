package outbox

// The versions of the components that this package works with. The code that
// `outbox-gen go` writes for a service names one of each component that the service has, so
// that it does not compile with a package that needs another version: a later version
// replaces the constant of the one before.
const (
	SchemaOutboxV1   = true
	SchemaHoldV1     = true
	SchemaRelayV1    = true
	SchemaConsumerV1 = true
	SchemaSagaV1     = true
)
