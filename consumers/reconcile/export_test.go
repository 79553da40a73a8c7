package reconcile_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/consumers/reconcile"
)

// records reads a truth to its end.
func records(t *testing.T, truth reconcile.Truth) ([]reconcile.Record, error) {
	t.Helper()
	var all []reconcile.Record
	err := truth.Records(t.Context(), func(r reconcile.Record) error {
		all = append(all, r)
		return nil
	})
	return all, err
}

func jsonExport(text string) reconcile.Truth {
	return reconcile.JSON("export.json", strings.NewReader(text), table())
}

func csvExport(text string) reconcile.Truth {
	return reconcile.CSV("export.csv", strings.NewReader(text), table())
}

const (
	objectOne = `{"id": "one", "acct": "a", "cents": 500}`
	objectTwo = `{"id": "two", "acct": "a", "cents": 300}`
	headings  = "id,acct,cents\n"
)

// TestExportsThatAreAccepted: as many records as the file tells, and none when it says so.
func TestExportsThatAreAccepted(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		truth reconcile.Truth
		want  int
	}{
		"array":                       {jsonExport("[" + objectOne + ", " + objectTwo + "]\n"), 2},
		"array over several lines":    {jsonExport("\ufeff \n[\n" + objectOne + ",\n" + objectTwo + "\n]\n\n"), 2},
		"array of nothing":            {jsonExport("[]"), 0},
		"lines":                       {jsonExport(objectOne + "\n" + objectTwo + "\n"), 2},
		"lines, the last without end": {jsonExport(objectOne + "\r\n\r\n" + objectTwo), 2},
		"objects over several lines":  {jsonExport("{\"id\": \"one\",\n\"acct\": \"a\",\n\"more\": {\"deep\": [{}, [1, null]]}}\n" + objectTwo), 2},
		"CSV":                         {csvExport(headings + "one,a,500\ntwo,a,300\n"), 2},
		"CSV of a spreadsheet":        {csvExport("\ufeff\"id\",acct,\"cents\"\r\n\"o\"\"ne\",a,500\r\n"), 1},
		"CSV, other columns twice":    {csvExport("id,,acct,,note,cents,note\none,,a,,x,500,y\n"), 1},
		"CSV without an attribute":    {csvExport("id,acct\none,a\n"), 1},
		"CSV of nothing":              {csvExport(headings), 0},
		"CSV, counted":                {reconcile.Counted(csvExport(headings+"one,a,500\r\ntwo,a,300"), 2), 2},
		"CSV, counted, with its end":  {reconcile.Counted(csvExport(headings+"one,a,500\ntwo,a,300\n"), 2), 2},
		"CSV, counted, of nothing":    {reconcile.Counted(csvExport(strings.TrimSpace(headings)), 0), 0},
		"lines, counted":              {reconcile.Counted(jsonExport(objectOne+"\n"+objectTwo), 2), 2},
	} {
		if all, err := records(t, c.truth); err != nil || len(all) != c.want {
			t.Errorf("%s: %d records, want %d: %v", name, len(all), c.want, err)
		}
	}
}

// TestExportsThatAreRefused: what may be cut, or can be read in two ways, is refused with its place and with what to do.
func TestExportsThatAreRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		truth      reconcile.Truth
		want, hint string
	}{
		"JSON, empty":                        {jsonExport(""), "export.json: is empty", "[]"},
		"JSON, white space":                  {jsonExport("\ufeff \r\n\t"), "export.json: is empty", "[]"},
		"JSON, two arrays":                   {jsonExport("[" + objectOne + "]\n[" + objectTwo + "]"), "export.json byte 44: something follows the array", "one array"},
		"JSON, an empty array, then another": {jsonExport("[] [" + objectTwo + "]"), "export.json byte 4: something follows the array", "one array"},
		"JSON, array then object":            {jsonExport("[" + objectOne + "]" + objectTwo), "export.json byte 43: something follows the array", "one array"},
		"JSON, array then rest":              {jsonExport("\ufeff [" + objectOne + "]\n]"), "export.json byte 48: something follows the array", "one array"},
		"JSON, object then array":            {jsonExport(objectOne + "\n[" + objectTwo + "]"), "export.json record 2 at byte 42: is no object", "mend the export"},
		"JSON, cut array":                    {jsonExport("[" + objectOne), "export.json record 2 at byte 42: the file ends within the array", "cut off"},
		"JSON, cut after comma":              {jsonExport("[" + objectOne + ", "), "export.json record 2", "cut off"},
		"JSON, only a bracket":               {jsonExport("["), "export.json record 1 at byte 2: the file ends within the array", "cut off"},
		"JSON, cut object":                   {jsonExport(objectOne + "\n" + `{"id": "tw`), "export.json record 2 at byte 42: the file ends within it", "cut off"},
		"JSON, cut in the array":             {jsonExport("[" + objectOne + `, {"id": "two", "acct": "a", "cents": 3`), "export.json record 2 at byte 44: the file ends within it", "cut off"},
		"JSON, a bracket more":               {jsonExport(objectOne + "\n]"), "export.json record 2 at byte 42", "mend the export"},
		"JSON, a comma more":                 {jsonExport("[" + objectOne + ",]"), "export.json record 2", "mend the export"},
		"JSON, commas, no array":             {jsonExport(objectOne + "," + objectTwo), "export.json record 2 at byte 41", "mend the export"},
		"JSON, null":                         {jsonExport("[" + objectOne + ", null]"), "export.json record 2 at byte 42: is no object", "mend the export"},
		"JSON, null alone":                   {jsonExport("null"), "export.json record 1 at byte 1: is no object", "mend the export"},
		"JSON, a member twice":               {jsonExport(`{"id": "one", "acct": "a", "cents": 500, "cents": 5}`), `export.json record 1 at byte 1: has "cents" twice`, "mend the export"},
		"JSON, UTF-16":                       {jsonExport("\xff\xfe[\x00]\x00"), "export.json: is UTF-16", "UTF-8"},
		"JSON, objects without end":          {jsonExport(strings.Repeat(`{"a": `, 2000)), "export.json record 1 at byte 1: is nested deeper than 1000", "mend the export"},
		"JSON, arrays without end":           {jsonExport(`{"a": ` + strings.Repeat("[", 2000)), "export.json record 1 at byte 1: is nested deeper than 1000", "mend the export"},
		"CSV, empty":                         {csvExport(""), "export.csv: is empty", "headings"},
		"CSV, only a mark":                   {csvExport("\ufeff"), "export.csv: is empty", "headings"},
		"CSV, blank lines":                   {csvExport("\n\r\n"), "export.csv: is empty", "headings"},
		"CSV, UTF-16":                        {csvExport("\xfe\xff\x00i\x00d"), "export.csv: is UTF-16", "UTF-8"},
		"CSV, no headings":                   {csvExport("one,a,500\n"), `export.csv line 1: has no column "acct", which is the account`, "export of the description"},
		"CSV, no column of key":              {csvExport("acct,cents\n"), `export.csv line 1: has no column "id", which is the part refund of the key`, "export of the description"},
		"CSV, semicolons":                    {csvExport("id;acct;cents\none;a;500\n"), `export.csv line 1: has no column "acct"`, "commas"},
		"CSV, account twice":                 {csvExport("id,acct,cents,acct\none,a,500,b\n"), `export.csv line 1: has the column "acct" twice`, "mend the export"},
		"CSV, attribute twice":               {csvExport("id,acct,cents,cents\none,a,500,5\n"), `export.csv line 1: has the column "cents" twice`, "mend the export"},
		"CSV, old line breaks":               {csvExport("id,acct,cents\rone,a,500\rtwo,a,300\n"), "export.csv line 1: lines end with CR alone", "CRLF"},
		"CSV, short line":                    {csvExport(headings + "one,a,500\ntwo,a\n"), "export.csv: record on line 3: wrong number of fields", "mend the export"},
		"CSV, long line":                     {csvExport(headings + "one,a,500,x\n"), "export.csv: record on line 2: wrong number of fields", "mend the export"},
		"CSV, cut cell":                      {csvExport(headings + "one,a,500\ntwo,a,30"), "export.csv line 3: the file ends within it", "--records"},
		"CSV, cut headings":                  {csvExport("id,acct,cents"), "export.csv line 1: the file ends within it", "line break"},
		"CSV, cut quotes":                    {csvExport(headings + "one,a,500\n\"tw\n"), "export.csv: parse error on line 3", "mend the export"},
		"CSV, counted, cut between lines":    {reconcile.Counted(csvExport(headings+"one,a,500"), 2), "export.csv: has 1 records, and 2 were told", "whole export"},
		"CSV, counted, more than told":       {reconcile.Counted(csvExport(headings+"one,a,500\ntwo,a,300\n"), 1), "export.csv: has 2 records, and 1 were told", "whole export"},
		"CSV, counted, cut before a cell":    {reconcile.Counted(csvExport(headings+"one,a,500\ntwo,a"), 2), "export.csv: record on line 3: wrong number of fields", "mend the export"},
		"CSV, counted, cut quotes":           {reconcile.Counted(csvExport(headings+"one,a,500\ntwo,a,\"30"), 2), "export.csv: parse error on line 3", "mend the export"},
		"CSV, counted, no headings":          {reconcile.Counted(csvExport("one,a,500"), 1), `export.csv line 1: has no column "acct"`, "headings"},
		"JSON, counted, cut between lines":   {reconcile.Counted(jsonExport(objectOne+"\n"), 2), "export.json: has 1 records, and 2 were told", "whole export"},
		"CSV, stray quote":                   {csvExport(headings + "o\"ne,a,500\n"), "export.csv: parse error on line 2, column 2", "mend the export"},
	} {
		_, err := records(t, c.truth)
		var wrong *reconcile.TruthError
		if !errors.As(err, &wrong) {
			t.Errorf("%s: error is %v", name, err)
			continue
		}
		if !strings.Contains(err.Error(), c.want) || !strings.Contains(wrong.Hint(), c.hint) {
			t.Errorf("%s: error is %q with the hint %q, want %q and %q", name, err, wrong.Hint(), c.want, c.hint)
		}
	}
}
