//go:build !linux

package main

import "syscall"

// diesWithUs leaves the child in our process group, so that ctrl-C at a terminal ends both.
func diesWithUs() *syscall.SysProcAttr { return &syscall.SysProcAttr{} }
