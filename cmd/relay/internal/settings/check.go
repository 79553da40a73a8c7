package settings

import (
	"errors"
	"slices"
	"strings"
	"unicode"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-dev/holdfast/cmd/internal/suggest"
	"github.com/holdfast-dev/holdfast/relay"
	"github.com/holdfast-dev/holdfast/relay/check"
	"github.com/holdfast-dev/holdfast/relay/retention"
	"github.com/holdfast-dev/holdfast/relay/retry"
)

// check reports what is missing for a command, and what does not fit together.
func (l *loader) check(loaded *Loaded, needs []Need) {
	all := slices.Contains(needs, NeedRelay)
	if all || slices.Contains(needs, NeedDatabase) {
		l.checkDatabase(loaded)
	}
	if all || slices.Contains(needs, NeedNATS) {
		l.checkNATS(loaded)
	}
	if (all || slices.Contains(needs, NeedStream)) && loaded.Stream == "" {
		l.add("name the JetStream stream that stores the events: RELAY_STREAM=ORDERS or --stream ORDERS", "RELAY_STREAM is not set")
	}
	if all {
		l.checkHTTP(loaded)
		l.checkHolds(loaded)
		l.checkRelay(loaded)
	}
}

func (l *loader) checkHTTP(loaded *Loaded) {
	l.checkAddr(loaded.value(Prefix+"HTTP_ADDR"), loaded.HTTPAddr)
}

// checkRelay lets the relay itself judge what it will run with.
func (l *loader) checkRelay(loaded *Loaded) {
	cfg := loaded.Relay()
	if cfg.Stream == "" {
		cfg.Stream = "UNSET" // reported already
	}
	l.checkRetries(loaded, cfg.Retry)
	l.checkAllow(loaded)
	l.checkRetention(loaded)
	cfg.Retry = retry.Policy{}                  // judged already
	_, err := relay.New(nil, &nats.Conn{}, cfg) // connects to nothing
	var refused *relay.ConfigError
	switch {
	case errors.As(err, &refused):
		for _, problem := range refused.Problems {
			name, rest := inOurWords(problem)
			if name == "" || !l.refused[name] {
				l.add("`relay config env` explains every setting", "%s%s", name, rest)
			}
		}
	case err != nil:
		l.add("", "%v", err)
	}
}

// checkRetries lets the policy judge itself; its faults get the names of our variables.
func (l *loader) checkRetries(loaded *Loaded, policy retry.Policy) {
	if l.refused[refusedRetries] || l.refused[refusedPauseMin] || l.refused[refusedPauseMax] {
		return
	}
	var invalid *retry.InvalidError
	if !errors.As(policy.Validate(), &invalid) {
		return
	}
	for field, name := range map[string]string{"max retries": refusedRetries, "initial backoff": refusedPauseMin, "max backoff": refusedPauseMax} {
		if rest, found := strings.CutPrefix(invalid.Problem, field); found {
			l.add("`relay config env` explains every setting", "%s%s", loaded.value(name).named(), rest)
		}
	}
}

// checkRetention lets the keeper judge its settings; their faults get the names of our variables.
func (l *loader) checkRetention(loaded *Loaded) {
	cfg := loaded.Keeper()
	cfg.Schema, cfg.Owner = "", "" // judged elsewhere
	var refused *retention.ConfigError
	if !errors.As(cfg.Validate(), &refused) {
		return
	}
	for _, problem := range refused.Problems {
		name, rest := inOurWords(problem)
		if name == "" || !l.refused[name] {
			l.add("`relay config env` explains every setting", "%s%s", name, rest)
		}
	}
}

const (
	refusedRetries  = Prefix + "REFUSED_RETRIES"
	refusedPauseMin = Prefix + "REFUSED_PAUSE_MIN"
	refusedPauseMax = Prefix + "REFUSED_PAUSE_MAX"
)

// checkAllow refuses the name of a check that does not exist: somebody believes in it.
func (l *loader) checkAllow(loaded *Loaded) {
	v := loaded.value(Prefix + "ALLOW")
	for _, name := range loaded.Allowed() {
		if slices.Contains(check.Names(), name) {
			continue
		}
		hint := "the checks are " + strings.Join(check.Names(), ", ")
		if near := suggest.Nearest(name, check.Names()); near != "" {
			hint = "did you mean " + near + "?"
		}
		l.add(hint, "%s: there is no check %q", v.named(), name)
	}
}

// Allowed returns the checks that are overridden by name.
func (s *Settings) Allowed() []string {
	return strings.FieldsFunc(s.Allow, func(r rune) bool { return r == ',' || unicode.IsSpace(r) })
}

// inOurWords puts the name of the variable where the relay has the name of its field.
func inOurWords(problem string) (name, rest string) {
	field := ""
	for _, v := range variables() {
		words := strings.ReplaceAll(flagOf(v.Name), "-", " ")
		if len(words) > len(field) && strings.HasPrefix(problem, words+" ") {
			name, field = v.Name, words
		}
	}
	return name, strings.TrimPrefix(problem, field)
}

// Relay returns the configuration of the relay, without a version and a logger.
func (s *Settings) Relay() relay.Config {
	return relay.Config{
		Stream:          s.Stream,
		SubjectPrefix:   s.SubjectPrefix,
		SubjectTemplate: s.SubjectTemplate,
		Mode:            s.Mode,
		Publisher:       s.Publisher,
		Schema:          s.Schema,
		Group:           s.Group,
		Owner:           s.Owner,
		BatchSize:       s.BatchSize,
		BatchBytes:      int(s.BatchBytes),
		Workers:         s.Workers,
		Lease:           s.Lease,
		PollMin:         s.PollMin,
		PollMax:         s.PollMax,
		WakeSubject:     s.WakeSubject,
		ListenChannel:   s.ListenChannel,
		AckTimeout:      s.AckTimeout,
		RetryMin:        s.RetryMin,
		RetryMax:        s.RetryMax,
		Retry:           retry.Policy{MaxRetries: s.RefusedRetries, Initial: s.RefusedPauseMin, Max: s.RefusedPauseMax},

		DeadLetterBlocksKey: s.DeadLetterBlocksKey,

		StopTimeout:  s.StopTimeout,
		UnreadyAfter: s.UnreadyAfter,
		MeasureEvery: s.MeasureEvery,
	}
}

// Keeper returns the configuration of what looks after retention, without a logger.
func (s *Settings) Keeper() retention.Config {
	return retention.Config{Schema: s.Schema, Owner: s.Owner, Keep: s.Retention, Records: s.RecordRetention, Every: s.RetentionEvery}
}
