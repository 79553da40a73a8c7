package main

import (
	"os"
	"time"

	"github.com/holdfast-dev/holdfast/cmd/outbox-gen/internal/command"
)

func main() {
	os.Exit(int(command.Main(command.Process{
		Args:   os.Args[1:],
		Getenv: os.Getenv,
		Stdin:  os.Stdin,
		Stdout: os.Stdout,
		Stderr: os.Stderr,
		Now:    time.Now,
	})))
}
