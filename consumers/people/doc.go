// Package people is what people see of a consumer, and what they decide: dead letters, quarantine, and
// whether a paused group is drained. It is what `relay consumer` does. It asks; the runtime, package
// consumers, performs.
//
// # States of a dead letter
//
//	state             who moves it on                                to
//	dead              a person, with a reason                        replay_requested, discarded
//	replay_requested  an instance of the consumer, with a token      replaying
//	                  a person who takes it back                     discarded
//	replaying         the holder of the token                        resolved, dead again, replay_requested
//	                  another instance, when the claim ran out       replaying
//	resolved          nobody: its effect is proven                   pruned after the retention
//	discarded         nobody                                         pruned after the retention
//
// A replay is requested of what is dead, so there is one at a time for each entry, and it goes through
// the claim of the fact like every delivery: however often it happens, the effect is one.
//
// # Crash table of a replay
//
//	the process dies                      what is left         what happens
//	before it claimed                     replay_requested     an instance claims
//	before the commit                     replaying            the claim runs out, another one applies
//	after the commit                      replaying, effect    the claim runs out, another one proves
//	a holder that was too slow ends it    another token        its end is not taken
//
// # Drained
//
// A transaction of the group commits unless its last statement found the switch off, so those that began
// before a look that found it off may commit still. [Store.Drain] takes that look as the cut. The group is
// drained when no transaction is left that began before the cut, as pg_stat_activity has it, none is
// prepared, and the inbox has no delivery that was processed after the cut. A session that this role may
// not see proves nothing, and neither does time.
//
// # What it never does
//
// It applies nothing, acknowledges nothing, never shows a payload, an attribute or the text of an
// error, and turns no state but those of the table.
package people
