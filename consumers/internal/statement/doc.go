// Package statement reads the SQL files that the packages of a consumer embed: one statement a file,
// in the folder sql. It fills in the name of the database schema and nothing else: values are
// arguments of the statements.
package statement
