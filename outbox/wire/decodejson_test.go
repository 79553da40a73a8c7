package wire_test

import (
	"testing"

	"github.com/cloudevents/sdk-go/v2/event"

	"github.com/holdfast-dev/holdfast/outbox/wire"
)

const jsonHead = `{"specversion":"1.0","id":"1","source":"/s","type":"t"`

func TestDecodeJSONData(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, members, contentType, want string
	}{
		{"object", `"datacontenttype":"application/json","data":{"a" : [1, 2.50]}`, "application/json", `{"a" : [1, 2.50]}`},
		{"data first", `"data": "x" ,"datacontenttype":"text/plain"`, "text/plain", "x"},
		{"parameters", `"datacontenttype":"application/vnd.x+json; charset=utf-8","data":{"a":1}`,
			"application/vnd.x+json; charset=utf-8", `{"a":1}`},
		{"any case", `"datacontenttype":"TEXT/JSON","data":[1]`, "TEXT/JSON", `[1]`},
		{"an event as data", `"datacontenttype":"application/cloudevents+json","data":{"id":"2"}`,
			"application/cloudevents+json", `{"id":"2"}`},
		{"string as JSON", `"datacontenttype":"application/json","data":"{\"a\":1}"`, "application/json", `"{\"a\":1}"`},
		{"null as JSON", `"datacontenttype":"application/json","data":null`, "application/json", `null`},
		{"implied JSON", `"data":{"a":1}`, "application/json", `{"a":1}`},
		{"XML", `"datacontenttype":"application/xml","data":"<a b=\"\u20ac\"\/>"`, "application/xml", `<a b="€"/>`},
		{"base64", `"datacontenttype":"image/png","data_base64":"AP8="`, "image/png", "\x00\xff"},
		{"base64 with escaped slashes", `"data_base64":"\/\/8="`, "", "\xff\xff"},
		{"base64 null", `"data_base64":null,"datacontenttype":null`, "", ""},
		{"astral characters", `"datacontenttype":"text/plain","data":"\ud83d\ude00"`, "text/plain", "😀"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			ev, err := wire.DecodeJSON([]byte(jsonHead + "," + c.members + " }\n"))
			if err != nil {
				t.Fatal(err)
			}
			if got := string(ev.Data()); got != c.want || ev.DataContentType() != c.contentType {
				t.Errorf("data is %q, datacontenttype %q; want %q, %q", got, ev.DataContentType(), c.want, c.contentType)
			}
		})
	}
}

func TestDecodeJSONAttributes(t *testing.T) {
	t.Parallel()
	ev, err := wire.DecodeJSON([]byte(` {"\u0069d":"\u00fc","specversion":"1.0","source":"/s","type":"t","subject":null,` +
		`"dataschema":"https://example.com/s","time":"2018-04-05T17:31:00.5+02:00","ext":7,"no":null}`))
	if err != nil {
		t.Fatal(err)
	}
	if ev.ID() != "ü" || ev.Subject() != "" || ev.DataSchema() != "https://example.com/s" || len(ev.Extensions()) != 1 {
		t.Errorf("event is %v", ev)
	}
	if got := ev.Time().UTC().Format("15:04:05.0"); got != "15:31:00.5" {
		t.Errorf("time is %s, want 15:31:00.5", got)
	}
	if ev.SpecVersion() != event.CloudEventsVersionV1 {
		t.Errorf("specversion is %q", ev.SpecVersion())
	}
}

func TestDecodeJSONRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, field, body string }{
		{"nothing", "body", ``},
		{"not JSON", "body", `{"id"}`},
		{"not an object", "body", `[1]`},
		{"not UTF-8", "body", jsonHead + ",\"subject\":\"\xff\"}"},
		{"more behind", "body", jsonHead + `}{}`},
		{"no id", "id", `{"specversion":"1.0","source":"/s","type":"t"}`},
		{"id twice", "id", jsonHead + `,"id":"1"}`},
		{"id twice by escape", "id", jsonHead + `,"\u0069d":"1"}`},
		{"id a number", "id", `{"specversion":"1.0","id":1,"source":"/s","type":"t"}`},
		{"old specversion", "specversion", `{"specversion":"0.3","id":"1","source":"/s","type":"t"}`},
		{"lone surrogate", "subject", jsonHead + `,"subject":"\udc00"}`},
		{"half a pair", "subject", jsonHead + `,"subject":"\ud83dx"}`},
		{"NUL", "subject", jsonHead + `,"subject":"\u0000"}`},
		{"time", "time", jsonHead + `,"time":"noon"}`},
		{"capital in name", "fooBar", jsonHead + `,"fooBar":"x"}`},
		{"extension twice", "foo", jsonHead + `,"foo":"x","foo":"x"}`},
		{"object as extension", "foo", jsonHead + `,"foo":{}}`},
		{"fraction", "foo", jsonHead + `,"foo":1.5}`},
		{"too large", "foo", jsonHead + `,"foo":99999999999}`},
		{"data twice", "data", jsonHead + `,"data":1,"data":1}`},
		{"both kinds of data", "data", jsonHead + `,"data":1,"data_base64":""}`},
		{"text that is no string", "data", jsonHead + `,"datacontenttype":"text/plain","data":1}`},
		{"text with lone surrogate", "data", jsonHead + `,"datacontenttype":"text/plain","data":"\ud800"}`},
		{"base64 that is no string", "data_base64", jsonHead + `,"data_base64":1}`},
		{"bad base64", "data_base64", jsonHead + `,"data_base64":"A"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := wire.DecodeJSON([]byte(c.body))
			wantInvalid(t, err, c.field)
		})
	}
}

func TestDecodeJSONDoesNotKeepTheBody(t *testing.T) {
	t.Parallel()
	body := []byte(jsonHead + `,"data":{"a":1}}`)
	ev, err := wire.DecodeJSON(body)
	if err != nil {
		t.Fatal(err)
	}
	clear(body)
	if got := string(ev.Data()); got != `{"a":1}` {
		t.Errorf("data is %q after the body was overwritten", got)
	}
}
