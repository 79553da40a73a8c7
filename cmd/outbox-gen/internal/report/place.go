package report

import (
	"path/filepath"
	"regexp"
	"strings"
)

// Place translates from the root of a configuration to the folder of the caller.
type Place struct {
	root   string // of the configuration
	config string // how its file is named from there; "" for the default name
}

// NewPlace takes the path of the configuration file, and the name that needs no flag.
func NewPlace(path, defaultName string) Place {
	p := Place{root: filepath.Dir(path), config: filepath.Base(path)}
	if p.config == defaultName {
		p.config = ""
	}
	return p
}

// Path is a path as the caller knows it, with slashes.
func (p Place) Path(file string) string {
	return filepath.ToSlash(filepath.Join(p.root, filepath.FromSlash(file)))
}

// Command is a command as the caller must give it. What is no command stays as it is.
func (p Place) Command(command string) string {
	isCommand := false
	for _, program := range []string{"outbox-gen ", "git ", "rm ", "atlas "} {
		isCommand = isCommand || strings.HasPrefix(command, program)
	}
	if !isCommand {
		return command
	}
	if p.config != "" {
		command = strings.ReplaceAll(command, "outbox-gen ", "outbox-gen --config "+quote(p.config)+" ")
	}
	if p.root != "." {
		command = "(cd " + quote(p.root) + " && " + command + ")"
	}
	return command
}

var harmless = regexp.MustCompile(`^[A-Za-z0-9_./:@%+=,][A-Za-z0-9_./:@%+=,-]*$`)

// quote writes a word so that a POSIX shell takes it as one.
func quote(word string) string {
	if harmless.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
