package relay

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-dev/holdfast/relay/internal/subject"
)

// StreamSpec is what a relay needs of its stream. Zero fields are left as they are on an
// existing stream, and take the default that is named on a new one.
type StreamSpec struct {
	Name     string        // required
	Subjects []string      // subjects that the stream must capture; required
	Window   time.Duration // dedup window; defaults to 2 minutes
	Replicas int           // defaults to 1
	MaxAge   time.Duration // defaults to none
	MaxBytes int64         // defaults to none
	// Publisher says whether the stream must allow fast batches: with PublisherFast it must, with PublisherAuto,
	// the default, a new stream does if the server can, and with PublisherAsync it is left as it is.
	Publisher PublisherKind
}

// StreamChange is one difference between a stream and its spec.
type StreamChange struct {
	Field, Have, Want string
}

// StreamPlan is what applying a spec would do.
type StreamPlan struct {
	Name    string
	Exists  bool
	Changes []StreamChange // empty: nothing to do

	config jetstream.StreamConfig
}

// PlanStream compares a stream with a spec. It changes nothing.
func PlanStream(ctx context.Context, js jetstream.JetStream, spec StreamSpec) (*StreamPlan, error) {
	if spec.Name == "" || len(spec.Subjects) == 0 {
		return nil, errors.New("plan stream: name and subjects are required")
	}
	stream, err := js.Stream(ctx, spec.Name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return planNew(spec, batches(js.Conn().ConnectedServerVersion())), nil
	}
	if err != nil {
		return nil, fmt.Errorf("plan stream %s: %w", spec.Name, err)
	}
	return planChange(stream.CachedInfo().Config, spec), nil
}

func planNew(spec StreamSpec, batches bool) *StreamPlan {
	cfg := jetstream.StreamConfig{
		Name: spec.Name, Subjects: spec.Subjects, Storage: jetstream.FileStorage, Retention: jetstream.LimitsPolicy,
		Discard: jetstream.DiscardNew, Replicas: max(spec.Replicas, 1), Duplicates: spec.Window,
		MaxAge: spec.MaxAge, MaxBytes: spec.MaxBytes, MaxMsgs: -1, MaxMsgSize: -1, MaxConsumers: -1,
		MaxMsgsPerSubject: -1, AllowDirect: true, DenyDelete: true,
		AllowBatchPublish: spec.Publisher == PublisherFast || (batches && spec.Publisher != PublisherAsync),
	}
	setDefault(&cfg.Duplicates, 2*time.Minute)
	setDefault(&cfg.MaxBytes, -1)
	p := &StreamPlan{Name: spec.Name, config: cfg}
	add := func(field, want string) {
		p.Changes = append(p.Changes, StreamChange{Field: field, Want: want})
	}
	add("subjects", strings.Join(cfg.Subjects, " "))
	add("storage", cfg.Storage.String())
	add("retention", cfg.Retention.String())
	add("discard", cfg.Discard.String())
	add("replicas", fmt.Sprint(cfg.Replicas))
	add("duplicate window", cfg.Duplicates.String())
	add("max age", ageText(cfg.MaxAge))
	add("max bytes", bytesText(cfg.MaxBytes))
	if cfg.AllowBatchPublish {
		add("batches", "allowed")
	}
	return p
}

func planChange(have jetstream.StreamConfig, spec StreamSpec) *StreamPlan {
	p := &StreamPlan{Name: spec.Name, Exists: true, config: have}
	change := func(field, from, to string) {
		p.Changes = append(p.Changes, StreamChange{Field: field, Have: from, Want: to})
	}
	subjects := slices.Clone(have.Subjects)
	for _, s := range spec.Subjects {
		if !subject.Captured(subjects, s) {
			subjects = append(subjects, s)
		}
	}
	if len(subjects) != len(have.Subjects) {
		change("subjects", strings.Join(have.Subjects, " "), strings.Join(subjects, " "))
		p.config.Subjects = subjects
	}
	if have.NoAck {
		change("no ack", "true", "false")
		p.config.NoAck = false
	}
	if spec.Window != 0 && have.Duplicates != spec.Window {
		change("duplicate window", have.Duplicates.String(), spec.Window.String())
		p.config.Duplicates = spec.Window
	}
	if spec.Replicas != 0 && have.Replicas != spec.Replicas {
		change("replicas", fmt.Sprint(have.Replicas), fmt.Sprint(spec.Replicas))
		p.config.Replicas = spec.Replicas
	}
	if spec.MaxAge != 0 && have.MaxAge != spec.MaxAge {
		change("max age", ageText(have.MaxAge), ageText(spec.MaxAge))
		p.config.MaxAge = spec.MaxAge
	}
	if spec.MaxBytes != 0 && have.MaxBytes != spec.MaxBytes {
		change("max bytes", bytesText(have.MaxBytes), bytesText(spec.MaxBytes))
		p.config.MaxBytes = spec.MaxBytes
	}
	if spec.Publisher == PublisherFast && !have.AllowBatchPublish {
		change("batches", "not allowed", "allowed")
		p.config.AllowBatchPublish = true
	}
	return p
}

// Apply does what the plan says. A stream that changed since the plan was made is not noticed.
func (p *StreamPlan) Apply(ctx context.Context, js jetstream.JetStream) error {
	if len(p.Changes) == 0 {
		return nil
	}
	var err error
	if p.Exists {
		_, err = js.UpdateStream(ctx, p.config)
	} else {
		_, err = js.CreateStream(ctx, p.config)
	}
	if err != nil {
		return fmt.Errorf("apply stream %s: %w", p.Name, err)
	}
	return nil
}

func ageText(d time.Duration) string {
	if d <= 0 {
		return "unlimited"
	}
	return d.String()
}

func bytesText(n int64) string {
	if n <= 0 {
		return "unlimited"
	}
	return fmt.Sprint(n)
}
