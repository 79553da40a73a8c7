//go:build !linux

package harness

const memoryPath = ""

// memoryDir returns nothing: this system has no file system in memory that
// could be used without asking.
func memoryDir() string { return "" }
