package check_test

import (
	"crypto/rand"
	"errors"
	"net"
	"net/url"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/holdfast-dev/holdfast/relay/check"
)

// TestBehindAPooler: one between a relay and the server is seen, and so is that it loses prepared
// statements. The pooler is a small one of our own, so that the test runs everywhere; the same
// is done with pgbouncer in pgbouncer_test.go.
func TestBehindAPooler(t *testing.T) {
	t.Parallel()
	healthy := newBench(t)
	t.Run("one session per transaction", func(t *testing.T) {
		t.Parallel()
		b := healthy.on(t)
		behindTransactionPooler(b, newPooler(b, 3, false))
	})
	t.Run("one session per connection", func(t *testing.T) {
		t.Parallel()
		b := healthy.on(t)
		b.connectTo(newPooler(b, 8, true))
		wantPooled(b, b.clean())
	})
	t.Run("one session for all", func(t *testing.T) {
		t.Parallel()
		b := healthy.on(t)
		b.connectTo(newPooler(b, 1, false))
		b.finds("prepared-statements", check.Warn, "had no further session", "default_query_exec_mode=exec")
	})
}

// behindTransactionPooler: what loses prepared statements fails, and its hint mends it.
func behindTransactionPooler(b *bench, pooler *url.URL) {
	b.t.Helper()
	b.connectTo(pooler)
	b.finds("prepared-statements", check.Fail, "loses prepared statements", "default_query_exec_mode=exec")
	b.connectTo(pooler, "default_query_exec_mode", "exec")
	wantPooled(b, b.clean())
}

func wantPooled(b *bench, r check.Report) {
	b.t.Helper()
	for _, f := range r.Findings {
		if f.Check == "pooler" && f.Text != "a pooler is between here and the server: nothing of the relay needs a session" {
			b.t.Errorf("the pooler was not seen: %+v", f)
		}
	}
}

// pooler shares a few sessions of one role among its clients.
type pooler struct {
	sessions chan struct{} // as many as may be made
	server   string
	own      bool // a client keeps its session

	mu   sync.Mutex
	idle []*pgconn.HijackedConn // the last one is used first
}

// newPooler starts a pooler and returns its address.
func newPooler(b *bench, sessions int, own bool) *url.URL {
	b.t.Helper()
	u, err := url.Parse(b.db.URL)
	if err != nil {
		b.t.Fatal(err)
	}
	u.User = url.User(b.login())
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.t.Fatal(err)
	}
	p := &pooler{sessions: make(chan struct{}, sessions), server: u.String(), own: own}
	var clients sync.WaitGroup
	clients.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			clients.Go(func() { p.serve(b, conn) })
		}
	})
	b.t.Cleanup(func() {
		_ = listener.Close() // ends the loop
		clients.Wait()
		for _, s := range p.idle {
			_ = s.Conn.Close() // the server does not mind
		}
	})
	u.Host = listener.Addr().String()
	return u
}

// serve carries messages between a client and the session that it has for the moment.
func (p *pooler) serve(b *bench, conn net.Conn) {
	defer conn.Close() //nolint:errcheck // it may be closed
	client := pgproto3.NewBackend(conn, conn)
	if err := p.greet(client, conn); err != nil {
		return
	}
	var session *pgconn.HijackedConn
	defer func() {
		if session != nil { // in the middle of something: not to be shared
			_ = session.Conn.Close()
			<-p.sessions
		}
	}()
	for {
		m, err := client.Receive()
		if _, over := m.(*pgproto3.Terminate); err != nil || over {
			return
		}
		if session == nil {
			if session, err = p.take(b); err != nil {
				return
			}
		}
		session.Frontend.Send(m)
		switch m.(type) {
		case *pgproto3.Sync, *pgproto3.Query:
		default:
			continue
		}
		done, err := answer(client, session)
		if err != nil {
			return
		}
		if done && !p.own {
			p.mu.Lock()
			p.idle = append(p.idle, session)
			p.mu.Unlock()
			session = nil
			<-p.sessions
		}
	}
}

// greet lets a client in, with a process id of the pooler's own making.
func (p *pooler) greet(client *pgproto3.Backend, conn net.Conn) error {
	for {
		m, err := client.ReceiveStartupMessage()
		if err != nil {
			return err
		}
		switch m.(type) {
		case *pgproto3.StartupMessage:
			client.Send(&pgproto3.AuthenticationOk{})
			client.Send(&pgproto3.ParameterStatus{Name: "client_encoding", Value: "UTF8"})
			client.Send(&pgproto3.ParameterStatus{Name: "standard_conforming_strings", Value: "on"})
			client.Send(&pgproto3.BackendKeyData{ProcessID: 1 << 30, SecretKey: []byte(rand.Text()[:4])})
			client.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
			return client.Flush()
		case *pgproto3.CancelRequest:
			return errors.New("not passed on")
		default:
			if _, err := conn.Write([]byte("N")); err != nil {
				return err
			}
		}
	}
}

func (p *pooler) take(b *bench) (*pgconn.HijackedConn, error) {
	p.sessions <- struct{}{}
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := len(p.idle); n > 0 {
		session := p.idle[n-1]
		p.idle = p.idle[:n-1]
		return session, nil
	}
	conn, err := pgconn.Connect(b.t.Context(), p.server)
	if err != nil {
		<-p.sessions
		return nil, err
	}
	return conn.Hijack()
}

// answer passes on what the session says, and reports whether its transaction is over.
func answer(client *pgproto3.Backend, session *pgconn.HijackedConn) (done bool, err error) {
	if err := session.Frontend.Flush(); err != nil {
		return false, err
	}
	for {
		m, err := session.Frontend.Receive()
		if err != nil {
			return false, err
		}
		client.Send(m)
		if ready, over := m.(*pgproto3.ReadyForQuery); over {
			return ready.TxStatus == 'I', client.Flush()
		}
	}
}
