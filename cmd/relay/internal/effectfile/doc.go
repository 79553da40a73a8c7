// Package effectfile reads descriptions of tables of effects from YAML: the file that the commands check,
// reconcile and repair of relay consumer take. It refuses what it does not know, with the place.
package effectfile
