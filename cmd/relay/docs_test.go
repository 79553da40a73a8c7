package main

import (
	"io"
	"testing"

	"github.com/holdfast-dev/holdfast/cmd/internal/commandtest"
	"github.com/holdfast-dev/holdfast/cmd/internal/exit"
	"github.com/holdfast-dev/holdfast/cmd/relay/internal/command"
)

func TestReferenceIsThatOfTheCommands(t *testing.T) {
	t.Parallel()
	commandtest.Reference(t, "relay", func(args []string, stdout, stderr io.Writer) exit.Code {
		return command.Main(command.Process{Args: args, Stdout: stdout, Stderr: stderr})
	})
}
