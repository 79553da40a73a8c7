// Package outboxtest gives tests a real Postgres with the outbox installed and
// a real NATS server, without anything to set up:
//
//	func TestMain(m *testing.M) { outboxtest.Main(m) }
//
//	func TestPlaceOrder(t *testing.T) {
//		t.Parallel()
//		db := outboxtest.NewDatabase(t)
//		placeOrder(t, db.Pool)
//		events := outboxtest.Staged(t, db.Pool)
//		...
//	}
//
// # What it promises
//
//   - Every database is private to its test: a copy of a template in which the
//     components outbox, hold, relay, consumer and saga are installed with default parameters.
//     A copy takes some hundredths of a second.
//   - One Postgres cluster serves the tests of a process. It starts with the
//     first test that needs it and ends with Main.
//   - What a test gets is closed and removed when it ends.
//   - A server that can't start fails the test and says what to install.
//
// # What it never does
//
// It never skips a test, never uses a database that it didn't make, and never
// appears in a production binary: only _test.go files may import it.
package outboxtest
