// Package reconcile joins a source of truth with the facts and the effects of a consumer: a provider's
// export, or the stream. It is what `relay consumer reconcile` does, as the gate of a cut-over and every
// night after it.
//
// # What is compared
//
// The truth tells a key (an account and the parts of the fact's key) and attributes. The facts of one type
// and source, and the effects that count, are read once each from one snapshot that is taken after the
// truth was read. Each key gets one class:
//
//	truth  facts  effects           class          explained
//	yes    one    one, of the fact  clean          yes
//	yes    none   none              missing        no
//	any    any    several           duplicate      no
//	yes    one    one, other text   mismatch       no: an attribute of truth, fact and effect differs, or the truth tells two
//	yes    one    one, other text   decided        yes: the same, and every quarantine of the fact is resolved
//	any    one    none              split          no: also an effect without its fact, or with another one's
//	yes    only of another account  cross_account  no: one thing of the provider, credited to somebody else
//	no     any    any               foreign        no: the truth does not know it
//
// Effects that are superseded do not count: package check proves that each is compensated once.
//
// A window bounds the truth. Foreign is then only what was made within it, by the clock of the database; what
// the truth tells is looked for however old it is. Attributes are compared as text, those of the description.
// Several tellings of one key, such as replays in the stream, are one.
//
// # The gate
//
// Zero unexplained. A threshold, or the largest accounts only, is no gate. What is in flight counts as
// missing: wait for it, or end the window before it.
//
// # Memory
//
// About 300 bytes for each key of the truth.
//
// # What it never does
//
// It changes nothing, and its report has ids and keys, and never an attribute. A truth that cannot be read
// to its end, or loses messages while it is read, or has none that tells the fact, or a record without its key, ends it without a report: half a
// truth explains nothing. It never
// waits for ever: a stream that gives no message for a minute before its end was reached is an error.
package reconcile
