package fault

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

const (
	loopback    = "127.0.0.1"
	dialTimeout = 10 * time.Second
)

// relayer accepts connections and gives each one its counterpart at the target. What
// flows between them is up to the protocol.
type relayer struct {
	listener net.Listener
	target   string // host and port
	carry    func(*pair)
	links    links

	mu     sync.Mutex // guards the fields below
	pairs  map[*pair]struct{}
	closed bool
	all    sync.WaitGroup // the accepting goroutine and one for each pair
}

// pair is a connection of a client and what stands for it at the server.
type pair struct {
	owner          *relayer
	number         int64
	client, server net.Conn // server is nil while the link is a black hole

	done     chan struct{} // closed by cut and by end
	once     sync.Once
	poisoned atomic.Bool // bytes of it were discarded
}

var pairNumber atomic.Int64

// listen starts to accept. carry runs both directions of a pair and returns when both
// have ended.
func listen(target string, carry func(*pair)) (*relayer, error) {
	l, err := listenLoopback()
	if err != nil {
		return nil, fmt.Errorf("listen for a proxy: %w", err)
	}
	r := &relayer{listener: l, target: target, carry: carry, pairs: map[*pair]struct{}{}}
	r.all.Go(r.accept)
	return r, nil
}

func (r *relayer) accept() {
	for {
		client, err := r.listener.Accept()
		if err != nil {
			return // closed
		}
		if rule, _ := r.links.find(Refuse); rule != nil {
			rule.handle.count()
			reset(client)
			continue
		}
		p := &pair{owner: r, number: pairNumber.Add(1), client: client, done: make(chan struct{})}
		if !r.keep(p) {
			reset(client)
			return
		}
		r.all.Go(func() {
			defer r.drop(p)
			if r.connect(p) {
				r.carry(p)
			}
		})
	}
}

// connect gives a pair its server. A black hole has none.
func (r *relayer) connect(p *pair) bool {
	if p.lost() {
		discard(p.client)
		return false
	}
	server, err := net.DialTimeout("tcp", r.target, dialTimeout)
	if err != nil {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	p.server = server
	select {
	case <-p.done: // it was cut meanwhile
		_ = server.Close()
		return false
	default:
		return true
	}
}

func (r *relayer) keep(p *pair) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return false
	}
	r.pairs[p] = struct{}{}
	return true
}

func (r *relayer) drop(p *pair) {
	p.end()
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.pairs, p)
}

// snapshot returns the pairs there are.
func (r *relayer) snapshot() []*pair {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := make([]*pair, 0, len(r.pairs))
	for p := range r.pairs {
		list = append(list, p)
	}
	return list
}

// CutAll cuts every connection and returns how many there were. New ones are welcome.
func (r *relayer) CutAll() int {
	list := r.snapshot()
	for _, p := range list {
		p.cut()
	}
	return len(list)
}

// Connections returns how many clients are connected.
func (r *relayer) Connections() int { return len(r.snapshot()) }

// AddLink makes a fault of all connections. The fault begins before it returns.
func (r *relayer) AddLink(rule LinkRule) *Handle {
	return r.links.add(rule, func() {
		if rule.Fault != BlackHole {
			return
		}
		for _, p := range r.snapshot() {
			if p.poisoned.Load() {
				p.cut()
			}
		}
	})
}

// Close cuts every connection, stops listening, and returns when nothing runs any more.
func (r *relayer) Close() error {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	err := r.listener.Close()
	r.CutAll()
	r.all.Wait()
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

func (r *relayer) address() string { return r.listener.Addr().String() }

// cut ends both connections at once. What they had not delivered is lost.
func (p *pair) cut() { p.close(reset) }

// end closes both connections in order.
func (p *pair) end() { p.close(func(c net.Conn) { _ = c.Close() }) }

func (p *pair) close(one func(net.Conn)) {
	p.once.Do(func() {
		p.owner.mu.Lock()
		defer p.owner.mu.Unlock()
		close(p.done)
		one(p.client)
		if p.server != nil {
			one(p.server)
		}
	})
}

// pass waits until the link lets a message of that size through. It returns false when the
// message is lost: the pair was cut, or the link discards it.
func (p *pair) pass(size int) bool {
	if p.lost() {
		return false
	}
	for counted := false; ; counted = true {
		rule, changed := p.owner.links.find(Stall)
		if rule == nil {
			break
		}
		if !counted {
			rule.handle.count()
		}
		select {
		case <-changed:
		case <-p.done:
			return false
		}
	}
	if rule, _ := p.owner.links.find(Slow); rule != nil && rule.BytesPerSecond > 0 {
		rule.handle.count()
		return p.wait(time.Duration(float64(size) / float64(rule.BytesPerSecond) * float64(time.Second)))
	}
	return true
}

// lost says whether the link is a black hole, or was one for bytes of this pair.
func (p *pair) lost() bool {
	rule, _ := p.owner.links.find(BlackHole)
	if rule == nil {
		return p.poisoned.Load()
	}
	rule.handle.count()
	p.poisoned.Store(true)
	if still, _ := p.owner.links.find(BlackHole); still == nil {
		p.cut() // the rule went before it could know of this pair
	}
	return true
}

// wait returns false when the pair was cut first.
func (p *pair) wait(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-p.done:
		return false
	}
}

// reset closes a connection so that the other side sees a reset, not an orderly end.
func reset(c net.Conn) {
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = c.Close()
}

// discard reads until the connection ends.
func discard(c net.Conn) {
	var buffer [4096]byte
	for {
		if _, err := c.Read(buffer[:]); err != nil {
			return
		}
	}
}

func joinPort(port int) string { return net.JoinHostPort(loopback, strconv.Itoa(port)) }
