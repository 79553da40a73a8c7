// Package overlay builds a command of this module with changes that its source does not have:
// places to die and clocks that are wrong for e2e/pods. It uses the go command's -overlay: the changed file stands in for the true one in that one build, so
// production source holds no test code, and what is planted reaches no other binary.
//
// # A patch
//
// says which text it replaces in which file. A text that does not occur exactly once is an
// error that names the patch and the text: the code has changed, and the patch must be
// written anew. So a patch is never left out in silence.
//
// Patches are applied one after another, and each sees what those before it made.
package overlay
