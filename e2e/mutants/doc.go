// Command mutants shows that the checks can see bugs: it plants one small bug after another
// in the relay, or in the consumers, lets chaos run over it, and wants an invariant to be violated. What
// chaos does not run, which are the rooms of the holds, has mutants that a test must see.
//
//	make mutants                       all of them, one after the other
//	go run ./e2e/mutants -run hold,key those whose name contains it, or one of them
//	go run ./e2e/mutants -list
//
// # A mutant
//
// is a file in list/: what the bug is, which invariants are expected to see it, and the
// text that it replaces in which source file. The source is not touched, and has no hooks:
// the mutated file is laid over it with go build -overlay, so a bug that is planted
// here can't reach a binary that anybody else builds. A text that does not occur
// exactly once is an error: the code has changed, and the mutant must be written anew. One with
// a line "tests: ./hold/saga" is caught by the tests of that package which it names.
//
// # A run
//
// The relay without a mutation comes first, with each seed: it must be clean, or nothing is
// proven. A mutant gets up to -seeds tries, each with another seed. It is caught when chaos
// reports a violation; by which invariant is printed. It ends with one line, MUTANTS {json},
// and status 1 if a mutant survived. Tests run without their mutant first, and must pass.
package main
