package catalog

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/schema/canonical"
)

var update = flag.Bool("update", false, "write the snapshots of the servers that the tests run on")

// TestSnapshotIsFresh: the files are what the servers at hand say today.
func TestSnapshotIsFresh(t *testing.T) {
	t.Parallel()
	ForEachServer(t, func(t *testing.T, s Server) {
		snap, err := makeSnapshot(t.Context(), s.Pool(t))
		if err != nil {
			t.Fatal(err)
		}
		got, err := snap.encode()
		if err != nil {
			t.Fatal(err)
		}
		path := fmt.Sprintf("snapshot/%d.json", snap.Postgres)
		if *update {
			if err := os.WriteFile(path, got, 0o644); err != nil {
				t.Fatal(err)
			}
			return
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatalf("%v; hint: go generate ./schema/catalog", err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is old; hint: go generate ./schema/catalog (-want +got):\n%s", path, cmp.Diff(string(want), string(got)))
		}
	})
}

// TestSnapshotsFollowTheSource guards the versions that are not at hand: whoever changes the
// schema must make the snapshots of all of them anew.
func TestSnapshotsFollowTheSource(t *testing.T) {
	t.Parallel()
	want, err := sources()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int{14, 15, 16, 17, 18}, Majors()); diff != "" {
		t.Errorf("supported versions (-want +got):\n%s", diff)
	}
	for _, major := range Majors() {
		snap, err := load(major)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, snap.Sources); diff != "" {
			t.Errorf("the snapshot of Postgres %d was made from another schema; hint: go generate ./schema/catalog (-want +got):\n%s", major, diff)
		}
		if snap.Postgres != major {
			t.Errorf("the snapshot of Postgres %d was made on %d", major, snap.Postgres)
		}
	}
}

// TestSnapshotEqualsScratch: whatever the parameters, both ways to know what is expected
// give the same facts.
func TestSnapshotEqualsScratch(t *testing.T) {
	t.Parallel()
	every := []canonical.Params{
		{},
		{Schema: "events", Lanes: 1, Slots: 3, Period: time.Minute, MaxEventBytes: 1024},
		{Schema: "h_2", Lanes: 256, Slots: 32, Period: 31 * 24 * time.Hour, MaxEventBytes: 64_000_000},
		{Schema: "x", Lanes: 241, Slots: 31, Period: 32 * time.Minute, MaxEventBytes: 4 << 10},
	}
	ForEachServer(t, func(t *testing.T, s Server) {
		pool := s.Pool(t)
		for _, params := range every {
			for _, c := range canonical.Components() {
				scratch, err := Scratch(t.Context(), pool, params, c)
				if err != nil {
					t.Fatal(err)
				}
				snap, err := Snapshot(scratch.Major, params, c)
				if err != nil {
					t.Fatal(err)
				}
				want, got := scratch.in(scratch.Params.Schema), snap.in(scratch.Params.Schema)
				for _, f := range []facts{want, got} {
					for o, props := range f {
						f[o] = judged(props)
					}
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s with %+v (-scratch +snapshot):\n%s", c, params, diff)
				}
			}
		}
	})
}
