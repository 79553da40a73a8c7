// Command outbox-gen keeps one outbox schema in all services of a repository.
//
//	outbox-gen init      propose a configuration
//	outbox-gen write     add the migrations that services lack
//	outbox-gen check     find every byte that is not as it was written; the gate for CI
//	outbox-gen list      what there is: components, versions, checksums
//	outbox-gen show      the SQL of one
//	outbox-gen explain   what a word of the reports means
//	outbox-gen go        constants for Go code, with a compile-time handshake
//	outbox-gen hook      how git and CI call it
//	outbox-gen docs      the commands as a document and as manual pages
//
// The exit statuses stand in package exit, the configuration in package config. Everything
// that a command does is in package command; this one connects it to the process.
package main
