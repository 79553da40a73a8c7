package outbox

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/uuid"
)

// records turns events into what the outbox stores, or reports every fault of every event.
func (p *Publisher) records(ctx context.Context, events []event.Event) ([]Record, error) {
	var trace []member
	if len(events) > 0 {
		trace = p.capture(ctx)
	}
	records := make([]Record, len(events))
	var faults []error
	for i := range events {
		c := check{index: i}
		records[i] = c.record(p, &events[i], trace)
		faults = append(faults, c.faults...)
	}
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	for i := range records {
		if records[i].ID != "" {
			continue
		}
		id, err := uuid.NewV7()
		if err != nil {
			return nil, fmt.Errorf("make an event id: %w", err)
		}
		records[i].ID = id.String()
	}
	return records, nil
}

// check collects the faults of one event.
type check struct {
	index  int
	id     string
	faults []error
}

func (c *check) fault(field, problem, hint string) {
	c.faults = append(c.faults, &InvalidEventError{Index: c.index, ID: c.id, Field: field, Problem: problem, hint: hint})
}

// rule reports a field that breaks its rule.
func (c *check) rule(ok bool, field, problem string) {
	if !ok {
		c.fault(field, problem, hints[field])
	}
}

// text reports a text that breaks its rule. What is not UTF-8 breaks every rule.
func (c *check) text(ok bool, field, text, problem string) {
	if !utf8.ValidString(text) {
		problem = problemUTF8
	}
	c.rule(ok, field, problem)
}

func (c *check) record(p *Publisher, e *event.Event, trace []member) Record {
	attributes, ok := attributesOf(e)
	if attributes != nil {
		c.id = attributes.ID
	}
	refused := c.sdkFaults(e)
	if !ok || refused["specversion"] {
		c.rule(refused["specversion"], "specversion", "must be 1.0")
		return Record{}
	}
	r := Record{
		ID: attributes.ID, Source: attributes.Source.String(), Type: attributes.Type,
		Subject: value(attributes.Subject), DataContentType: value(attributes.DataContentType), Data: e.DataEncoded,
	}
	if r.Source == "" {
		r.Source = p.source
	}
	if attributes.Time != nil && !attributes.Time.IsZero() {
		r.Time = attributes.Time.UTC()
		c.rule(validTime(r.Time), "time", problemTime)
	}
	c.text(r.ID == "" || validText(r.ID, maxName), "id", r.ID, problemID)
	c.text(refused["source"] || validSource(r.Source), "source", r.Source, problemSource)
	c.text(refused["type"] || validType(r.Type), "type", r.Type, problemType)
	c.text(attributes.Subject == nil || validText(r.Subject, maxReference), "subject", r.Subject, problemSubject)
	c.text(attributes.DataContentType == nil || validMediaType(r.DataContentType), "datacontenttype", r.DataContentType, problemContentType)
	if attributes.DataSchema != nil {
		r.DataSchema = attributes.DataSchema.String()
		c.text(validURI(r.DataSchema), "dataschema", r.DataSchema, problemSchema)
	}
	c.rule(len(r.Data) <= p.maxEventBytes, "data", fmt.Sprintf("has %d bytes, more than %d", len(r.Data), p.maxEventBytes))
	r.PartitionKey, r.Extensions = c.extensions(attributes.Extensions, trace)
	return r
}

// attributesOf returns the attributes of a CloudEvents 1.0 event. An event that was never
// given any is one without attributes; nil and false are those of another version.
func attributesOf(e *event.Event) (*event.EventContextV1, bool) {
	switch attributes := e.Context.(type) {
	case nil:
		return &event.EventContextV1{}, true
	case *event.EventContextV1:
		if attributes == nil {
			return &event.EventContextV1{}, true
		}
		return attributes, true
	}
	return nil, false
}

// sdkFaults reports what a setter of the SDK refused: it keeps the error in the event and
// leaves the attribute as it was. It returns the attributes for which it did.
func (c *check) sdkFaults(e *event.Event) map[string]bool {
	if len(e.FieldErrors) == 0 {
		return nil
	}
	refused := map[string]bool{}
	for _, field := range slices.Sorted(maps.Keys(e.FieldErrors)) {
		err := e.FieldErrors[field]
		refused[field] = true
		var parse *url.Error
		if errors.As(err, &parse) {
			err = parse.Err // without the text that was parsed
		}
		if name, is := strings.CutPrefix(field, "extension:"); is {
			field = extensionField(name)
		}
		c.fault(field, fmt.Sprintf("was not set: %v", err), "The setter of the CloudEvents SDK refused the value and kept this error in the event.")
	}
	return refused
}

func value(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
