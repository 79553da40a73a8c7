// Package consumerstest gives tests of a handler what they need: events that are delivered on a
// real database without a broker, and a suite that says whether the handler keeps the protocol of
// package [github.com/holdfast-dev/holdfast/consumers].
//
//	func TestRefunds(t *testing.T) {
//		consumerstest.Run(t, consumerstest.Subject{
//			Open:     openDatabase, // with the component consumer and the tables of the service
//			Handler:  refunds.Handle,
//			Config:   refunds.Config,
//			Event:    refundMade,     // tells the n-th fact
//			Same:     chargeRefunded, // tells the same fact in another event
//			Mismatch: refundOfAnotherAmount,
//		})
//	}
//
// # What the suite does
//
// Each case has a database of its own. It delivers events in the ways in which brokers and
// producers deliver them, and compares effects and facts afterwards; [Cases] lists them. The
// database decides: a case counts rows of effects, and asks the handler for nothing.
//
// # What it never does
//
// It uses no broker, no clock and no network, never skips, and needs no access to the handler's
// code. It cannot see a call that a handler makes to something else than its transaction.
package consumerstest
