// Package gen puts the canonical schema where it belongs: into a database, and into the
// migrations of services; and it says what a database has.
//
// # A database
//
// Install runs the canonical files in one transaction under an advisory lock, so that
// of several processes one installs and the others find it done. A database is
// left as it was when anything fails. It never changes an object that exists, and never
// goes backwards.
//
// # The migrations of services
//
// A [Config] says which services there are. [Write] adds the files that they lack, in the
// form that their tools want, and [Check] finds every byte that is not as Write would
// have left it. Both are pure functions of the configuration, the canonical schema and what is
// in the folders; only a new file whose number is a time depends on the clock.
//
// A file of ours is known by its name: the number is the service's own way to count, the
// rest is holdfast_<component>_v<version>. So a file may be renumbered, as long as it stays
// behind what it needs, and never renamed otherwise.
//
// What Write promises:
//
//   - It never edits, renames or removes a migration, ours included.
//   - All new files appear, or none. What a killed process leaves is whole files in an order
//     that runs, and perhaps a temporary file, .outbox-gen-*.tmp, which is safe to remove.
//   - A number sorts behind every migration that the service has, and a component behind
//     those that it needs. A file that was deleted gets a number before its dependents.
//   - atlas.sum stays valid, and is never made valid over changes that nobody has seen.
//   - Nothing outside [Config.Root] is read or written, not through a symbolic link either.
//
// What Check finds, see [Kind]:
//
//	missing, older          a file or the newest version is not there
//	edited, line-endings    a file has other bytes
//	parameters              it was made for another schema, other lanes, and so on
//	extra                   a stranger has a name that is ours
//	reordered               a file runs before what it needs
//	handmade                a migration of the service defines an object of ours
//	atlas-sum, constants    a derived file does not fit
package gen
