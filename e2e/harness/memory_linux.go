package harness

import (
	"bufio"
	"bytes"
	"os"
	"strconv"
	"strings"
	"syscall"
)

const (
	memoryPath = "/dev/shm"
	tmpfsMagic = 0x01021994

	// memoryRoom must be free, both in the file system and of the memory, before
	// a cluster goes there. A test cluster needs a few hundred MB, and several
	// packages are tested at once.
	memoryRoom = 4 << 30
)

// memoryDir returns a directory in memory with room for clusters whose data
// nobody needs to keep, or nothing. A TMPDIR that was set is respected.
func memoryDir() string {
	var fs syscall.Statfs_t
	if os.Getenv("TMPDIR") != "" || syscall.Statfs(memoryPath, &fs) != nil || fs.Type != tmpfsMagic {
		return ""
	}
	if fs.Bavail*uint64(fs.Bsize) < memoryRoom || spareMemory(os.ReadFile) < memoryRoom {
		return ""
	}
	return memoryPath
}

// spareMemory returns how many bytes this machine, or the container, can still
// give; 0 when it can't tell.
func spareMemory(read func(string) ([]byte, error)) uint64 {
	meminfo, err := read("/proc/meminfo")
	if err != nil {
		return 0
	}
	var spare uint64
	for lines := bufio.NewScanner(bytes.NewReader(meminfo)); lines.Scan(); {
		if fields := strings.Fields(lines.Text()); len(fields) == 3 && fields[0] == "MemAvailable:" {
			kib, err := strconv.ParseUint(fields[1], 10, 64)
			if err != nil {
				return 0
			}
			spare = kib << 10
		}
	}
	for _, cgroup := range [][2]string{ // limit and use, as a container sees its own
		{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"},
		{"/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"},
	} {
		limit, limited := readNumber(read, cgroup[0])
		if !limited {
			continue
		}
		used, _ := readNumber(read, cgroup[1])
		spare = min(spare, limit-min(used, limit))
	}
	return spare
}

// readNumber reports false for a file that isn't there or says "max".
func readNumber(read func(string) ([]byte, error), path string) (uint64, bool) {
	content, err := read(path)
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseUint(strings.TrimSpace(string(content)), 10, 64)
	return n, err == nil
}
