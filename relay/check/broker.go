package check

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-dev/holdfast/relay"
)

// broker is what was gathered from NATS. What was not gathered is zero.
type broker struct {
	connectErr error // of the connection or the login
	place      string
	version    string
	maxPayload int64

	accountErr error
	stream     *jetstream.StreamInfo
	streamErr  error
	// others are the streams, but for ours, that capture something of what the template gives.
	others     []jetstream.StreamConfig
	othersErr  error
	user       *userInfo
	userErr    error
	restricted bool // the server refused a request for the lack of a permission
}

// userInfo is what a server tells a user of itself.
type userInfo struct {
	User        string `json:"user"`
	Account     string `json:"account"`
	Permissions *struct {
		Publish *permission `json:"publish"`
	} `json:"permissions"`
}

// permission says on which subjects a user may publish; no list of allowed ones allows all.
type permission struct {
	Allow []string `json:"allow"`
	Deny  []string `json:"deny"`
}

const (
	dialTimeout = 2 * time.Second
	// askTimeout bounds a request. A request that is not permitted gets no answer at all; once
	// the server has said so about one, the others have restrictedTimeout left.
	askTimeout        = 2 * time.Second
	restrictedTimeout = 400 * time.Millisecond
	// userInfoSubject is answered by every server since 2.9.
	userInfoSubject = "$SYS.REQ.USER.INFO"
)

func gatherBroker(ctx context.Context, t Target, filter string) *broker {
	b := &broker{place: t.Servers}
	ask, cancel := context.WithTimeout(ctx, askTimeout+dialTimeout)
	defer cancel()
	var once sync.Once
	var restricted *time.Timer
	refused := make(chan struct{}) // closed when the server refuses a request
	opts := append(relay.NATSOptions("holdfast-relay-check"), t.Login...)
	opts = append(opts, nats.RetryOnFailedConnect(false), nats.NoReconnect(), nats.Timeout(dialTimeout),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			if errors.Is(err, nats.ErrPermissionViolation) {
				once.Do(func() {
					restricted = time.AfterFunc(restrictedTimeout, cancel)
					close(refused)
				})
			}
		}))
	nc, err := nats.Connect(t.Servers, opts...)
	if err != nil {
		b.connectErr = err
		return b
	}
	defer nc.Close()
	b.place, b.version, b.maxPayload = nc.ConnectedUrlRedacted(), nc.ConnectedServerVersion(), nc.MaxPayload()
	js, err := jetstream.New(nc)
	if err != nil {
		b.connectErr = err
		return b
	}
	b.askAll(ask, nc, js, t, filter)
	select {
	case <-refused:
		b.restricted = true
		restricted.Stop()
	default:
	}
	return b
}

// askAll asks everything at once, so that a question that gets no answer costs no more than one.
func (b *broker) askAll(ctx context.Context, nc *nats.Conn, js jetstream.JetStream, t Target, filter string) {
	var all sync.WaitGroup
	all.Go(func() { _, b.accountErr = js.AccountInfo(ctx) })
	all.Go(func() { b.user, b.userErr = askUser(ctx, nc) })
	if !t.Before {
		all.Go(func() {
			stream, err := js.Stream(ctx, t.Relay.Stream)
			if b.streamErr = err; err == nil {
				b.stream = stream.CachedInfo()
			}
		})
		all.Go(func() {
			lister := js.ListStreams(ctx, jetstream.WithStreamListSubject(filter))
			for info := range lister.Info() {
				if info.Config.Name != t.Relay.Stream {
					b.others = append(b.others, info.Config)
				}
			}
			b.othersErr = lister.Err()
		})
	}
	all.Wait()
}

func askUser(ctx context.Context, nc *nats.Conn) (*userInfo, error) {
	m, err := nc.RequestWithContext(ctx, userInfoSubject, nil)
	if err != nil {
		return nil, err
	}
	var answer struct {
		Data  *userInfo       `json:"data"`
		Error json.RawMessage `json:"error"`
	}
	if err := json.Unmarshal(m.Data, &answer); err != nil {
		return nil, fmt.Errorf("read user information: %w", err)
	}
	if answer.Data == nil {
		return nil, errors.New("the server tells nothing of the user")
	}
	return answer.Data, nil
}

func natsFinding(f *facts) Finding {
	b := f.br
	if b.connectErr == nil || isDenied(b.connectErr) {
		version := b.version
		if version != "" {
			version = ", version " + version
		}
		return ok("NATS answers: %s%s", redacted(b.place), version)
	}
	var unreadable *url.Error
	if errors.As(b.connectErr, &unreadable) { // its text would show a password
		return fail("check RELAY_NATS_URL", "the address of NATS cannot be read")
	}
	return away("check that the server runs and can be reached from here: relay config print shows its address",
		"NATS cannot be reached: %s: %s", redacted(b.place), line(b.connectErr))
}

func natsLoginFinding(f *facts) Finding {
	if err := f.br.connectErr; err != nil {
		return fail("check the credentials of the NATS user", "NATS refuses the login: %s", line(err))
	}
	if u := f.br.user; u != nil {
		return ok("logged in as user %q of account %s", u.User, u.Account)
	}
	return ok("logged in")
}

// redacted returns the addresses of servers without what logs in to them.
func redacted(servers string) string {
	var shown []string
	for server := range strings.SplitSeq(servers, ",") {
		u, err := url.Parse(strings.TrimSpace(server))
		if err != nil || u.Host == "" && strings.Contains(server, "@") {
			return "the configured servers"
		}
		u.User = nil
		shown = append(shown, u.String())
	}
	return strings.Join(shown, ",")
}

// isDenied reports an error that only other credentials mend.
func isDenied(err error) bool {
	for _, denied := range []error{nats.ErrAuthorization, nats.ErrAuthExpired, nats.ErrAuthRevoked, nats.ErrAccountAuthExpired} {
		if errors.Is(err, denied) {
			return true
		}
	}
	return false
}

const grantAPI = "permit the user to publish on $JS.API.INFO, $JS.API.STREAM.INFO.>, $JS.API.CONSUMER.> and $JS.API.STREAM.MSG.GET.>, and to subscribe to its inbox"

func jetStreamFinding(f *facts) Finding {
	b := f.br
	known := b.stream != nil || errors.Is(b.streamErr, jetstream.ErrStreamNotFound)
	switch {
	case b.accountErr == nil || known:
		return ok("JetStream answers")
	case errors.Is(b.accountErr, jetstream.ErrJetStreamNotEnabledForAccount):
		return fail("enable JetStream for the account of the user", "JetStream is not enabled for the account")
	case errors.Is(b.accountErr, jetstream.ErrJetStreamNotEnabled), errors.Is(b.accountErr, nats.ErrNoResponders):
		return fail("enable JetStream on the server", "JetStream is not enabled on the server")
	case b.restricted:
		return fail(grantAPI, "the user may not use the JetStream API")
	}
	return away("see whether the JetStream cluster has a leader: nats server report jetstream", "JetStream does not answer: %s", line(b.accountErr))
}
