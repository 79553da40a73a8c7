package harness

import (
	"io/fs"
	"testing"
)

func TestSpareMemory(t *testing.T) {
	t.Parallel()
	const meminfo = "MemTotal:       16384 kB\nMemAvailable:    8192 kB\nHugePages_Total:       0\n"
	for _, c := range []struct {
		name  string
		files map[string]string
		want  uint64
	}{
		{"machine", map[string]string{"/proc/meminfo": meminfo}, 8192 << 10},
		{"container without a limit", map[string]string{
			"/proc/meminfo": meminfo, "/sys/fs/cgroup/memory.max": "max\n", "/sys/fs/cgroup/memory.current": "5\n",
		}, 8192 << 10},
		{"container", map[string]string{
			"/proc/meminfo": meminfo, "/sys/fs/cgroup/memory.max": "1000\n", "/sys/fs/cgroup/memory.current": "400\n",
		}, 600},
		{"container over its limit", map[string]string{
			"/proc/meminfo": meminfo, "/sys/fs/cgroup/memory.max": "1000\n", "/sys/fs/cgroup/memory.current": "1400\n",
		}, 0},
		{"container of version 1", map[string]string{
			"/proc/meminfo": meminfo,
			"/sys/fs/cgroup/memory/memory.limit_in_bytes": "1000\n",
			"/sys/fs/cgroup/memory/memory.usage_in_bytes": "1\n",
		}, 999},
		{"unknown", nil, 0},
		{"nonsense", map[string]string{"/proc/meminfo": "MemAvailable: much kB\n"}, 0},
	} {
		got := spareMemory(func(path string) ([]byte, error) {
			if content, ok := c.files[path]; ok {
				return []byte(content), nil
			}
			return nil, fs.ErrNotExist
		})
		if got != c.want {
			t.Errorf("%s: %d bytes, want %d", c.name, got, c.want)
		}
	}
}
