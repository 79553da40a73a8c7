package gen_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/gen"
	"github.com/holdfast-dev/holdfast/schema/canonical"
)

// fleet is a repository of services with thirty migrations of their own each, of all tools
// and with different parameters, and everything written.
func fleet(t *testing.T, services int) gen.Config {
	t.Helper()
	c := gen.Config{Version: gen.ConfigVersion, Root: t.TempDir(), Now: func() time.Time { return clock }}
	for i := range services {
		s := gen.Service{
			Name: fmt.Sprintf("service-%03d", i), Dir: fmt.Sprintf("services/service-%03d/migrations", i),
			Tool: gen.Tools()[i%len(gen.Tools())], Components: canonical.Components(), Params: canonical.Params{Lanes: 1 << (i % 6)},
		}
		own := map[string]string{}
		for n := 1; n <= 30; n++ {
			name := fmt.Sprintf("%03d_change", n)
			switch s.Tool {
			case gen.Flyway:
				name = fmt.Sprintf("V%d__change", n)
			case gen.GolangMigrate:
				name += ".up"
			}
			own[s.Dir+"/"+name+".sql"] = strings.Repeat(fmt.Sprintf("CREATE TABLE change_%d (id bigint PRIMARY KEY, note text DEFAULT 'outbox.event_outbox');\n", n), 20)
		}
		plant(t, c.Root, own)
		c.Services = append(c.Services, s)
	}
	return c
}

// TestHundredServices: check runs in every build of a fleet of this size, and finds nothing. How
// long it takes is logged, the best of a few tries.
func TestHundredServices(t *testing.T) {
	t.Parallel()
	c := fleet(t, 100)
	started := time.Now()
	mustWrite(t, c)
	wrote := time.Since(started)
	checked := time.Hour
	for range 5 {
		started = time.Now()
		if found := mustCheck(t, c); len(found) > 0 {
			t.Fatalf("found %v", kinds(found))
		}
		if checked = min(checked, time.Since(started)); checked < time.Second {
			break
		}
	}
	t.Logf("100 services, %d files: write %v, check %v", len(tree(t, c.Root)), wrote.Round(time.Millisecond), checked.Round(time.Millisecond))
}
