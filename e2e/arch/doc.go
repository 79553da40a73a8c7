// Package arch holds the tests that keep the repository what its documents say
// it is. It exports nothing and nothing imports it.
//
//   - Imports: each room imports only what the architecture gives it. A room is
//     a folder in the table of rules_test.go together with its subfolders, up to
//     the ones that have a line of their own. Arrows are checked on direct
//     imports, and the "never" rules on everything that is linked: a producer
//     never links NATS, whatever the detour. A folder that no room covers is an
//     error, so a new room starts with a decision and a line in the table.
//   - Tree: the limits on the size of files and functions, a doc.go in every
//     folder with Go code, no skipped tests and no leftovers, no paths of one
//     machine, process exits and HTTP servers in commands only.
//   - Docs: links that lead somewhere, make targets that exist, decision records
//     that are listed, a reason on record for every module, and Go examples that
//     are also code, and so compile.
//   - Field cases: every id of docs/field-cases.md once, with a test that exists, a
//     reason why it is struck, or the issue that is to bring it.
//   - Requirements: every item of the ranges that are complete once in docs/requirements.md,
//     with a test or a document that exists, or a reason why it is struck.
//
// The rules bind production code. Test files may import any room, and outside
// modules that some room or the list of test modules names.
//
// Every check is a function over plain values. Beside the run over the
// repository stands one over small made-up input that breaks each rule once:
// a rule that cannot fail is not a rule.
package arch
