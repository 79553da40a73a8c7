package holdhttp_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/hold/holdhttp"
	"github.com/holdfast-dev/holdfast/hold/wire"
)

type openAPI struct {
	OpenAPI    string
	Paths      map[string]map[string]json.RawMessage
	Components struct {
		Headers map[string]any
		Schemas map[string]struct {
			Properties           map[string]any
			Required             []string
			AdditionalProperties *bool
		}
		Responses map[string]response
	}
}

type response struct {
	Content map[string]struct {
		Schema struct {
			AllOf []struct {
				Properties struct{ Type struct{ Enum []string } }
			}
		}
	}
}

func (r response) problems() (types []string) {
	for _, part := range r.Content[wire.ProblemContentType].Schema.AllOf {
		types = append(types, part.Properties.Type.Enum...)
	}
	return types
}

func readDocument(t *testing.T) openAPI {
	t.Helper()
	text, err := os.ReadFile("openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	var d openAPI
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// The description is a contract: a change of it is a change of this file.
func TestDocumentIsServedAsItStandsHere(t *testing.T) {
	t.Parallel()
	b := setup(t)
	want, err := os.ReadFile("openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	got := b.call(t, billing, http.MethodGet, wire.DocumentPath, "")
	if diff := cmp.Diff(string(want), got.body); diff != "" || got.header.Get("Content-Type") != wire.JSONType {
		t.Errorf("document (-want +got):\n%s", diff)
	}
	if d := readDocument(t); d.OpenAPI != "3.1.0" {
		t.Errorf("version is %q", d.OpenAPI)
	}
}

func TestDocumentHasEveryRouteAndNoOther(t *testing.T) {
	t.Parallel()
	var documented []string
	for path, methods := range readDocument(t).Paths {
		for method := range methods {
			if method != "parameters" {
				documented = append(documented, strings.ToUpper(method)+" "+path)
			}
		}
	}
	slices.Sort(documented)
	if diff := cmp.Diff(holdhttp.Routes(), documented); diff != "" {
		t.Errorf("routes (-code +document):\n%s", diff)
	}
}

// Each problem stands under the status that it has, and each status under a problem.
func TestDocumentHasEveryProblemAndNoOther(t *testing.T) {
	t.Parallel()
	d := readDocument(t)
	documented := map[string]map[string]bool{} // type, statuses
	note := func(status string, r response) {
		for _, name := range r.problems() {
			if documented[name] == nil {
				documented[name] = map[string]bool{}
			}
			documented[name][status] = true
		}
	}
	for path, methods := range d.Paths {
		for method, raw := range methods {
			if method == "parameters" {
				continue
			}
			var operation struct{ Responses map[string]response }
			if err := json.Unmarshal(raw, &operation); err != nil {
				t.Fatalf("%s %s: %v", method, path, err)
			}
			for status, r := range operation.Responses {
				if status != "200" && len(r.problems()) == 0 {
					t.Errorf("%s %s: %s has no problem", method, path, status)
				}
				note(status, r)
			}
		}
	}
	for name, r := range d.Components.Responses {
		note(name[len(name)-3:], r)
	}
	for _, kind := range wire.ProblemTypes() {
		want := map[string]bool{statusText(kind): true}
		if kind == wire.GenerationCancelled {
			want["410"] = true // of a held write
		}
		if diff := cmp.Diff(want, documented[string(kind)]); diff != "" {
			t.Errorf("statuses of %s (-code +document):\n%s", kind, diff)
		}
		delete(documented, string(kind))
	}
	if len(documented) > 0 {
		t.Errorf("documented and unknown: %v", slices.Sorted(maps.Keys(documented)))
	}
}

func statusText(kind wire.ProblemType) string {
	k, _ := kind.Kind()
	text, _ := json.Marshal(k.Status) // a number
	return string(text)
}

func TestDocumentHasEveryMemberAndHeader(t *testing.T) {
	t.Parallel()
	d := readDocument(t)
	bodies := map[string]any{
		"RegisterRequest": wire.RegisterRequest{}, "DecideRequest": wire.DecideRequest{}, "Answer": wire.Answer{}, "CancelAnswer": wire.CancelAnswer{},
		"Entity": wire.Entity{}, "Operation": wire.Operation{}, "Generation": wire.Generation{}, "Problem": wire.Problem{},
	}
	for name, body := range bodies {
		all, required := members(reflect.TypeOf(body))
		schema := d.Components.Schemas[name]
		if diff := cmp.Diff(all, slices.Sorted(maps.Keys(schema.Properties))); diff != "" {
			t.Errorf("members of %s (-code +document):\n%s", name, diff)
		}
		slices.Sort(schema.Required)
		if diff := cmp.Diff(required, schema.Required); diff != "" && len(required)+len(schema.Required) > 0 {
			t.Errorf("members that %s always has (-code +document):\n%s", name, diff)
		}
		if closed := schema.AdditionalProperties != nil; closed != strings.HasSuffix(name, "Request") {
			t.Errorf("%s is closed: %v; only requests are", name, closed)
		}
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(bodies)), slices.Sorted(maps.Keys(d.Components.Schemas))); diff != "" {
		t.Errorf("bodies (-code +document):\n%s", diff)
	}
	headers := []string{wire.GenerationHeader, wire.OperationHeader, wire.StepHeader}
	if diff := cmp.Diff(headers, slices.Sorted(maps.Keys(d.Components.Headers))); diff != "" {
		t.Errorf("headers (-code +document):\n%s", diff)
	}
}

// members returns the names of a struct's members in JSON, and those that are never left out.
func members(of reflect.Type) (all, required []string) {
	for i := range of.NumField() {
		f := of.Field(i)
		if f.Anonymous {
			inner, always := members(f.Type)
			all, required = append(all, inner...), append(required, always...)
			continue
		}
		name, option, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" {
			continue
		}
		all = append(all, name)
		if option != "omitempty" {
			required = append(required, name)
		}
	}
	slices.Sort(all)
	slices.Sort(required)
	return all, required
}
