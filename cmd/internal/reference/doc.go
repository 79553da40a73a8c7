// Package reference says what the commands of a program are: as help on a terminal, as a Markdown
// document, and as manual pages; [Command] writes those. All three are made from the same [Page], which is read from the
// tree of commands, so none of them can say what the program does not do.
//
// What it makes has no date and no version: the same tree makes the same bytes.
package reference
