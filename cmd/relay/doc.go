// Command relay drains a Holdfast outbox to NATS JetStream, and shows operators what it does.
//
//	relay run                 the daemon
//	relay status              who drains, and what waits
//	relay stream plan|apply   what the stream needs
//	relay config              the settings: where each comes from, whether they fit
//	relay audit list|export   what people and services decided
//	relay docs                the commands as a document and as manual pages
//
// The exit statuses stand in package exit, the settings in package settings. Everything that
// a command does is in package command; this one connects it to the process.
package main
