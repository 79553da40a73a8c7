package fault

import (
	"bufio"
	"fmt"
	"net"
	"net/url"
	"sync"
	"sync/atomic"
)

// PostgresProxy stands between Postgres clients and one server. Connections must not be
// encrypted: sslmode=disable. It is safe for concurrent use.
type PostgresProxy struct {
	*relayer
	rules     rules[*PostgresMessage, PostgresAction]
	swallowed atomic.Bool // notifications
}

// NewPostgresProxy starts a proxy to the server that a URL names. The server need not run
// yet.
func NewPostgresProxy(server string) (*PostgresProxy, error) {
	u, err := url.Parse(server)
	if err != nil {
		return nil, err
	}
	p := &PostgresProxy{}
	if p.relayer, err = listen(u.Host, p.carry); err != nil {
		return nil, err
	}
	return p, nil
}

// URL returns a URL of the server with the address of the proxy in it. Query values, such
// as application_name, are added.
func (p *PostgresProxy) URL(server string, values ...string) (string, error) {
	u, err := url.Parse(server)
	if err != nil {
		return "", err
	}
	if len(values)%2 != 0 {
		return "", fmt.Errorf("url of a proxy: %d values are no pairs", len(values))
	}
	u.Host = p.address()
	query := u.Query()
	for i := 0; i < len(values); i += 2 {
		query.Set(values[i], values[i+1])
	}
	u.RawQuery = query.Encode()
	return u.String(), nil
}

// Add makes a rule take effect.
func (p *PostgresProxy) Add(rule PostgresRule) *Handle { return p.rules.add(rule) }

// SwallowNotifications says whether what a client listens to is kept from it, as a pooler in
// transaction mode keeps it: LISTEN succeeds, and nothing arrives.
func (p *PostgresProxy) SwallowNotifications(swallow bool) { p.swallowed.Store(swallow) }

// pgConn is one connection through the proxy.
type pgConn struct {
	*pair
	proxy    *PostgresProxy
	toClient sink
	toServer sink
	name     string // application_name

	// Of the client's direction only.
	statements map[string]string // prepared, by name
	portals    map[string]string
	unit       []byte // what waits for its Sync
	sql        []string

	mu sync.Mutex // guards the fields below
	// sent and done count what wants an answer, and what has had one: statements, and first
	// of all the start-up. cutAt is the one after which the connection ends and whose
	// answer nobody sees; 0 for none.
	sent, done, cutAt int
}

func (p *PostgresProxy) carry(pr *pair) {
	c := &pgConn{
		pair: pr, proxy: p, statements: map[string]string{}, portals: map[string]string{},
		toClient: sink{w: bufio.NewWriterSize(pr.client, bufferSize)},
		toServer: sink{w: bufio.NewWriterSize(pr.server, bufferSize)},
	}
	var other sync.WaitGroup
	defer other.Wait()
	defer c.end()
	r := bufio.NewReaderSize(pr.client, bufferSize)
	started, err := c.start(r)
	if err != nil || !started {
		return
	}
	other.Go(func() { c.copyAnswers(pr.server) })
	c.copyStatements(r)
}

// start handles the beginning of a connection. It returns false when there is nothing more to
// come from the client.
func (c *pgConn) start(r *bufio.Reader) (bool, error) {
	for {
		f, err := readPGFrame(r, false)
		if err != nil {
			return false, err
		}
		switch f.code() {
		case codeSSL, codeGSS:
			if err := c.toClient.write(true, []byte("N")); err != nil {
				return false, err
			}
			continue
		case codeCancel:
			if err := c.toServer.write(true, f.append(nil)); err != nil {
				return false, err
			}
			discard(c.server) // the server answers by closing
			return false, nil
		}
		c.name = f.startupName()
		if action, ok := c.proxy.rules.match(&PostgresMessage{Point: OnConnect, Client: c.name}); ok && !c.beforeConnect(action) {
			return false, nil
		}
		c.mu.Lock()
		c.sent++
		c.mu.Unlock()
		return c.pass(len(f.body)), c.toServer.write(true, f.append(nil))
	}
}

// beforeConnect applies a rule to a new connection. It returns false when it comes to nothing.
func (c *pgConn) beforeConnect(a PostgresAction) bool {
	switch a.kind {
	case pgStall:
		return c.wait(a.stall)
	case pgFail, pgFatal:
		_ = c.toClient.write(true, pgError("FATAL", a.sqlstate, "refused by a fault rule").append(nil))
		return false
	default:
		c.cut()
		return false
	}
}

// copyStatements carries what the client sends, one unit after the other.
func (c *pgConn) copyStatements(r *bufio.Reader) {
	for {
		f, err := readPGFrame(r, true)
		if err != nil {
			return
		}
		c.unit = f.append(c.unit)
		c.learn(f)
		switch f.kind {
		case 'Q', 'S', 'F': // a simple query, Sync, a function call
			if !c.forwardUnit() {
				return
			}
		case 'H', 'X', 'd', 'c', 'f', 'p': // Flush, Terminate, COPY, password
			if !c.forward(c.unit) {
				return
			}
			c.unit = c.unit[:0]
		}
	}
}

// learn follows which SQL a message is about.
func (c *pgConn) learn(f *pgFrame) {
	switch f.kind {
	case 'Q':
		c.sql = append(c.sql, f.strings(1)[0])
	case 'P':
		names := f.strings(2)
		c.statements[names[0]] = names[1]
	case 'B':
		names := f.strings(2)
		c.portals[names[0]] = c.statements[names[1]]
	case 'E':
		c.sql = append(c.sql, c.portals[f.strings(1)[0]])
	}
}

// forwardUnit judges a unit and sends what is to be sent. It returns false when the
// connection is to end.
func (c *pgConn) forwardUnit() bool {
	m := &PostgresMessage{Point: OnStatement, Client: c.name, SQL: c.sql}
	data := c.unit
	c.unit, c.sql = nil, nil
	action, ok := c.proxy.rules.match(m)
	c.mu.Lock()
	c.sent++
	if ok && action.kind == pgCutAfter {
		c.cutAt = c.sent
	}
	c.mu.Unlock()
	if !ok {
		return c.forward(data)
	}
	switch action.kind {
	case pgCutBefore:
		c.cut()
		return false
	case pgFatal:
		_ = c.toClient.write(true, pgError("FATAL", action.sqlstate, "ended by a fault rule").append(nil))
		return false
	case pgFail:
		data = raise(action.sqlstate, "refused by a fault rule").append(nil)
	case pgStall:
		if !c.wait(action.stall) {
			return false
		}
	}
	return c.forward(data)
}

func (c *pgConn) forward(data []byte) bool {
	if !c.pass(len(data)) {
		return c.poisoned.Load() // the client may go on talking to nobody
	}
	return c.toServer.write(true, data) == nil
}

// copyAnswers carries what the server sends.
func (c *pgConn) copyAnswers(from net.Conn) {
	defer c.end()
	r := bufio.NewReaderSize(from, bufferSize)
	for {
		f, err := readPGFrame(r, true)
		if err != nil {
			_ = c.toClient.write(true) // what came before the end
			return
		}
		c.mu.Lock()
		hidden := c.cutAt != 0 && c.done == c.cutAt-1
		if f.kind == 'Z' {
			c.done++
		}
		c.mu.Unlock()
		switch {
		case hidden && f.kind == 'Z':
			c.cut()
			return
		case hidden, f.kind == 'A' && c.proxy.swallowed.Load():
			continue
		}
		data := f.append(nil)
		if !c.pass(len(data)) {
			data = nil
		}
		if c.toClient.write(r.Buffered() == 0, data) != nil {
			return
		}
	}
}
