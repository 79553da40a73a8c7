package main

import (
	"os"

	"github.com/holdfast-dev/holdfast/cmd/relay/internal/command"
)

func main() {
	os.Exit(int(command.Main(command.Process{
		Args:    os.Args[1:],
		Environ: os.Environ(),
		Stdin:   os.Stdin,
		Stdout:  os.Stdout,
		Stderr:  os.Stderr,
	})))
}
