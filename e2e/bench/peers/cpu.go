package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// Processor time is read from /proc, in hundredths of a second. Where there is none, it is 0 and no
// figure is printed.

// postmasterOf returns the process id of the server behind a pool: the parent of its backends.
func postmasterOf(ctx context.Context, pool *pgxpool.Pool) (int, error) {
	var backend int
	if err := pool.QueryRow(ctx, "SELECT pg_backend_pid()").Scan(&backend); err != nil {
		return 0, err
	}
	fields := statOf(backend)
	if fields == nil {
		return 0, nil
	}
	return strconv.Atoi(fields[1])
}

// cpuTime is the time that this process, which holds the peer and the broker, and the server with all
// its backends have used.
func cpuTime(postmaster int) time.Duration {
	var ticks int64
	add := func(fields []string, from, to int) {
		for i := from; fields != nil && i <= to; i++ {
			n, _ := strconv.ParseInt(fields[i], 10, 64) // the kernel writes numbers
			ticks += n
		}
	}
	add(statOf(os.Getpid()), 11, 12)
	if postmaster == 0 {
		return 0
	}
	add(statOf(postmaster), 11, 14) // with the children that have ended
	processes, _ := filepath.Glob("/proc/[0-9]*")
	for _, p := range processes {
		pid, err := strconv.Atoi(filepath.Base(p))
		if err != nil {
			continue
		}
		if fields := statOf(pid); fields != nil && fields[1] == strconv.Itoa(postmaster) {
			add(fields, 11, 12)
		}
	}
	return time.Duration(ticks) * (time.Second / 100)
}

// statOf returns what /proc says of a process, from its state on: parent at 1, user and system time at
// 11 and 12, those of its ended children at 13 and 14. It is nil when there is nothing.
func statOf(pid int) []string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil
	}
	_, rest, _ := strings.Cut(string(text), ") ") // the name may hold blanks
	if fields := strings.Fields(rest); len(fields) > 14 {
		return fields
	}
	return nil
}
