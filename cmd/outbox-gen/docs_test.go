package main

import (
	"io"
	"os"
	"testing"

	"github.com/holdfast-dev/holdfast/cmd/internal/commandtest"
	"github.com/holdfast-dev/holdfast/cmd/internal/exit"
	"github.com/holdfast-dev/holdfast/cmd/outbox-gen/internal/command"
)

func TestReferenceIsThatOfTheCommands(t *testing.T) {
	t.Parallel()
	commandtest.Reference(t, "outbox-gen", func(args []string, stdout, stderr io.Writer) exit.Code {
		return command.Main(command.Process{Args: args, Stdout: stdout, Stderr: stderr, Getenv: os.Getenv})
	})
}
