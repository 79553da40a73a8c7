package relay_test

import (
	"net"
	"net/url"
	"sync"
	"testing"
)

// link is the wire between a relay and a server: a test can hold up what passes, in one
// direction or both, or cut it.
type link struct {
	listener net.Listener
	url      string

	mu       sync.Mutex
	target   string
	conns    map[net.Conn]bool // false: it was lost, and carries nothing any more
	requests gate              // client to server
	replies  gate              // server to client
	all      sync.WaitGroup
}

// gate is open, or a channel that is closed when it opens. link.mu guards it.
type gate struct{ shut chan struct{} }

// newLink listens for the clients of a server. It is closed when the test ends.
func newLink(t *testing.T, server string) *link {
	t.Helper()
	u, err := url.Parse(server)
	if err != nil {
		t.Fatalf("link: %v", err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("link: %v", err)
	}
	l := &link{listener: listener, target: u.Host, conns: map[net.Conn]bool{}}
	u.Host = listener.Addr().String()
	l.url = u.String()
	l.all.Go(l.accept)
	t.Cleanup(l.close)
	return l
}

func (l *link) accept() {
	for {
		client, err := l.listener.Accept()
		if err != nil {
			return
		}
		l.mu.Lock()
		target := l.target
		l.mu.Unlock()
		server, err := net.Dial("tcp", target)
		if err != nil {
			_ = client.Close()
			continue
		}
		l.mu.Lock()
		l.conns[client], l.conns[server] = true, true
		l.mu.Unlock()
		l.all.Go(func() { l.pump(server, client, &l.requests) })
		l.all.Go(func() { l.pump(client, server, &l.replies) })
	}
}

// pump carries bytes until either end is closed.
func (l *link) pump(to, from net.Conn, g *gate) {
	defer func() {
		l.mu.Lock()
		delete(l.conns, to)
		delete(l.conns, from)
		l.mu.Unlock()
		_ = to.Close()
		_ = from.Close()
	}()
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			if !l.pass(g, from) {
				continue
			}
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return // io.EOF, or the test cut it
		}
	}
}

// pass waits at the gate and reports whether the bytes may go on.
func (l *link) pass(g *gate, from net.Conn) bool {
	for {
		l.mu.Lock()
		shut, alive := g.shut, l.conns[from]
		l.mu.Unlock()
		if shut == nil {
			return alive
		}
		<-shut
	}
}

// hold keeps everything back, as a frozen process would.
func (l *link) hold() { l.shut(&l.requests); l.shut(&l.replies) }

// holdReplies keeps back what the server says; what the client says still arrives.
func (l *link) holdReplies() { l.shut(&l.replies) }

// resume lets everything pass again, also what was kept back.
func (l *link) resume() { l.open(&l.requests); l.open(&l.replies) }

// lose makes every connection a dead one: it stays open, and nothing comes through, as after
// the power failure of a host. New ones can be made.
func (l *link) lose() {
	l.mu.Lock()
	for c := range l.conns {
		l.conns[c] = false
	}
	l.mu.Unlock()
}

// cut closes every connection. What was kept back is lost. New ones can be made.
func (l *link) cut() {
	l.mu.Lock()
	for c := range l.conns {
		_ = c.Close()
	}
	l.mu.Unlock()
}

// turn leads new connections to another server and cuts the others.
func (l *link) turn(t *testing.T, server string) {
	t.Helper()
	u, err := url.Parse(server)
	if err != nil {
		t.Fatalf("link: %v", err)
	}
	l.mu.Lock()
	l.target = u.Host
	l.mu.Unlock()
	l.cut()
}

func (l *link) shut(g *gate) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if g.shut == nil {
		g.shut = make(chan struct{})
	}
}

func (l *link) open(g *gate) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if g.shut != nil {
		close(g.shut)
		g.shut = nil
	}
}

func (l *link) close() {
	_ = l.listener.Close()
	l.cut()
	l.resume()
	l.all.Wait()
}
