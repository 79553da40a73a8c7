// Package commandtest holds what must be true of the commands of every program: that the help is
// complete and its examples run, and that the reference which is checked in is what the commands say.
// Only tests import it.
package commandtest
