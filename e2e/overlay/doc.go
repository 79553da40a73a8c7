// Package overlay builds a command of this module with changes that its source does not have:
// places to die for e2e/pods and e2e/payments, and clocks that are wrong. It uses the go command's
// -overlay: the changed file stands in for the true one in that one build, so production source
// holds no test code, and what is planted reaches no other binary.
//
// # A patch
//
// says which text it replaces in which file. A text that does not occur exactly once is an
// error that names the patch and the text: the code has changed, and the patch must be
// written anew. So a patch is never left out in silence.
//
// Patches are applied one after another, and each sees what those before it made.
//
// # A point
//
// is a patch after which a process can die: what is true there, and to which line of a crash table it
// belongs, so that a test can want a point for each line.
package overlay
