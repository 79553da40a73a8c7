// Package canonical is the one source of Holdfast's database schema.
//
// The schema is plain SQL, one numbered file per version of a component, and it
// is embedded here. Everything else that knows the schema (the generator, the
// installer, the relay's start-up check, the tests) takes it from this package.
//
// Promises:
//
//   - A file of a released version never changes. A change is a new file with
//     the next number.
//   - Rendering is a pure function of the file and [Params]; the same input gives
//     the same bytes and so the same [File.Checksum].
//   - The rendered SQL has no meta-commands of any tool, runs in one transaction,
//     and records itself in the table holdfast_schema.
//
// It never connects to a database, and it imports the standard library only.
package canonical
