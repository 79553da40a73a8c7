package rebase

import "testing"

func TestSnapshotText(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text    string
		without []uint64
		want    string
	}{
		{"1:1:", nil, "1:1:"},
		{"700:700:", []uint64{3}, "3:700:3"},
		{"700:710:700,705", []uint64{4, 3, 705, 3}, "3:710:3,4,700,705"},
		{"700:700:", []uint64{700, 4294967296}, "700:700:"},
		{"4294967300:8589934600:4294967300", []uint64{5}, "5:8589934600:5,4294967300"},
	} {
		s, err := parseSnapshot(c.text)
		if err != nil {
			t.Errorf("parse %s: %v", c.text, err)
			continue
		}
		if got := s.without(c.without...).String(); got != c.want {
			t.Errorf("%s without %v is %s, want %s", c.text, c.without, got, c.want)
		}
	}
	for _, bad := range []string{"", "1:1", "1:x:", "1:5:a", "1:2:3:4"} {
		if _, err := parseSnapshot(bad); err == nil {
			t.Errorf("%q was parsed", bad)
		}
	}
}
