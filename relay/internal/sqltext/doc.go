// Package sqltext reads the SQL files that the packages of the relay embed: one statement a file,
// in the folder sql. It fills in nothing: what stands in braces is for each package to say.
package sqltext
