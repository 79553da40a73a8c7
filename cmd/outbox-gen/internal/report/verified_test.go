package report_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/cmd/internal/output"
	"github.com/holdfast-dev/holdfast/cmd/outbox-gen/internal/report"
	"github.com/holdfast-dev/holdfast/gen"
	"github.com/holdfast-dev/holdfast/schema/canonical"
	"github.com/holdfast-dev/holdfast/schema/catalog"
)

// answers are two databases, one with a difference and one that could not be asked.
func answers() *report.Verified {
	var v report.Verified
	v.Add("db:5432/orders", &gen.Verified{
		Schema: "outbox", Postgres: 15, Source: catalog.FromScratch, Components: []canonical.Component{canonical.Outbox},
		Params: canonical.Params{Schema: "outbox", Lanes: 16, Slots: 4, Period: 24 * time.Hour, MaxEventBytes: 1_000_000},
		Differences: []catalog.Difference{{
			Object: catalog.Object{Kind: "sequence", Name: "event_outbox_seq"}, Component: canonical.Outbox,
			Property: "cache", Expected: "1", Actual: "20", Mend: "ALTER SEQUENCE outbox.event_outbox_seq CACHE 1;", Matters: true,
		}},
	}, nil, "")
	v.Add("db:5432/billing", nil, errors.New("connect to db:5432/billing: refused"), "start it")
	return &v
}

// TestVerifiedJSON is a contract: it is only ever added to.
func TestVerifiedJSON(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	if err := answers().JSON(&out); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(verifiedJSON, out.String()); diff != "" {
		t.Errorf("JSON (-want +got):\n%s", diff)
	}
}

func TestVerifiedText(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	if err := answers().Text(&out, output.Painter{}); err != nil {
		t.Fatal(err)
	}
	const want = `db:5432/orders: schema outbox, Postgres 15: 1 difference, a relay refuses it

  sequence event_outbox_seq: cache is 20, expected 1
  mend: ALTER SEQUENCE outbox.event_outbox_seq CACHE 1;
db:5432/billing: error: connect to db:5432/billing: refused
  hint: start it
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("text (-want +got):\n%s", diff)
	}
	if got := answers().Summary(); got != "1 database verified: 1 difference; 1 could not be asked" {
		t.Errorf("summary is %q", got)
	}
	var nobody report.Verified
	nobody.Add("db:5432/billing", nil, errors.New("refused"), "")
	if got := nobody.Summary(); got != "no database could be asked: nothing is known" {
		t.Errorf("summary of no answer is %q", got)
	}
}

const verifiedJSON = `{
  "clean": false,
  "databases": [
    {
      "database": "db:5432/orders",
      "schema": "outbox",
      "postgres": 15,
      "expected_from": "scratch",
      "components": [
        "outbox"
      ],
      "parameters": {
        "lanes": 16,
        "slots": 4,
        "period_seconds": 86400,
        "max_event_bytes": 1000000
      },
      "matters": true,
      "differences": [
        {
          "object": "sequence event_outbox_seq",
          "kind": "sequence",
          "component": "outbox",
          "property": "cache",
          "expected": "1",
          "actual": "20",
          "mend": "ALTER SEQUENCE outbox.event_outbox_seq CACHE 1;",
          "matters": true
        }
      ]
    },
    {
      "database": "db:5432/billing",
      "matters": false,
      "differences": [],
      "error": {
        "message": "connect to db:5432/billing: refused",
        "hint": "start it"
      }
    }
  ]
}
`
