package wire_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/outbox"
	"github.com/holdfast-dev/holdfast/outbox/wire"
)

func TestSubjectTemplate(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ prefix, template, want, subjects string }{
		{"", "", "events.shop.order.placed", "events.>"},
		{"eu.shop", "", "eu.shop.shop.order.placed", "eu.shop.>"},
		{"", "{type}", "shop.order.placed", ">"},
		{"", "fixed", "fixed", "fixed"},
		{"p", "{prefix}.{partitionkey}.{type}", "p.K%20%2E7%3E.shop.order.placed", "p.*.>"},
		{"p", "{prefix}.{source}", "p.%2Forders%2Feu", "p.*"},
		{"p", "{prefix}.s-{subject}.end", "p.s-_.end", "p.*.end"},
		{"p", "{prefix}.v1-{type}", "p.v1-shop.order.placed", "p.>"},
	} {
		t.Run(c.template, func(t *testing.T) {
			t.Parallel()
			cfg := wire.Config{Prefix: c.prefix, Subject: c.template}
			msg := encode(t, cfg, with(func(r *outbox.Record) {
				r.PartitionKey = "K .7>"
				r.Subject = ""
			}))
			if msg.Subject != c.want {
				t.Errorf("subject is %q, want %q", msg.Subject, c.want)
			}
			if got := newEncoder(t, cfg).Subjects(); got != c.subjects {
				t.Errorf("subjects are %q, want %q", got, c.subjects)
			}
		})
	}
}

// A type that comes first would be able to address the server.
func TestSubjectCannotAddressTheServer(t *testing.T) {
	t.Parallel()
	rec := with(func(r *outbox.Record) { r.Type = "$JS.API.STREAM.DELETE.EVENTS" })
	_, err := newEncoder(t, wire.Config{Subject: "{type}"}).Encode(rec)
	wantInvalid(t, err, "type")
	if got := encode(t, wire.Config{}, rec).Subject; got != "events."+rec.Type {
		t.Errorf("subject is %q, want the type behind the prefix", got)
	}
}

func TestNewEncoderExplainsBadConfig(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		field string
		cfg   wire.Config
	}{
		{"Prefix", wire.Config{Prefix: "a..b"}},
		{"Prefix", wire.Config{Prefix: ".a"}},
		{"Prefix", wire.Config{Prefix: "a.*"}},
		{"Prefix", wire.Config{Prefix: "a b"}},
		{"Prefix", wire.Config{Prefix: "$JS.API"}},
		{"Prefix", wire.Config{Prefix: "a\xff"}},
		{"Subject", wire.Config{Subject: "{prefix}.{typ}"}},
		{"Subject", wire.Config{Subject: "{prefix"}},
		{"Subject", wire.Config{Subject: "prefix}"}},
		{"Subject", wire.Config{Subject: "{prefix}..{type}"}},
		{"Subject", wire.Config{Subject: "{prefix}.>"}},
		{"Subject", wire.Config{Subject: "$SYS.{type}"}},
		{"Subject", wire.Config{Subject: "{prefix}.\r\n{type}"}},
		{"Stream", wire.Config{Stream: "a.b"}},
		{"Stream", wire.Config{Stream: "A\r\nNats-Rollup: all"}},
		{"Mode", wire.Config{Mode: 7}},
	} {
		_, err := wire.NewEncoder(c.cfg)
		var bad *wire.ConfigError
		if !errors.As(err, &bad) {
			t.Errorf("%+v: error is %v, want a *ConfigError", c.cfg, err)
			continue
		}
		if bad.Field != c.field || bad.Hint == "" || !strings.Contains(err.Error(), bad.Hint) {
			t.Errorf("%+v: error is %v, want one about %s with a hint", c.cfg, err, c.field)
		}
	}
}

func TestModeText(t *testing.T) {
	t.Parallel()
	for _, mode := range []wire.Mode{wire.Binary, wire.Structured} {
		text, err := mode.MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		var got wire.Mode
		if err := got.UnmarshalText(text); err != nil || got != mode {
			t.Errorf("%q is read as %v, %v", text, got, err)
		}
	}
	var m wire.Mode
	if err := m.UnmarshalText([]byte("Binary")); err == nil {
		t.Error("UnmarshalText accepts a mode that does not exist")
	}
}
