// Package roles proves what each of the roles that `outbox-gen roles` writes can and cannot
// do, by logging in as it: the schema belongs to an ordinary role, a whole relay runs with
// the rights of its own, and nobody but the owner gets at more than his work needs. It has
// tests only.
package roles
