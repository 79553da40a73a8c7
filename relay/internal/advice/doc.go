// Package advice gives errors of the relay's packages what a person can do about them, where
// [outbox.Hint] finds it. Which hint an SQLSTATE has is for each package to say: they run as
// other roles.
package advice
