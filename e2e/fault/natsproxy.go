package fault

import (
	"bufio"
	"bytes"
	"encoding/json"
	"net"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// NATSProxy stands between NATS clients and one server. It is safe for concurrent use.
type NATSProxy struct {
	*relayer
	rules    rules[*NATSMessage, NATSAction]
	observer atomic.Pointer[func(NATSEvent)]
}

// NewNATSProxy starts a proxy to the server with a URL such as nats://127.0.0.1:4222. The
// server need not run yet.
func NewNATSProxy(server string) (*NATSProxy, error) {
	u, err := url.Parse(server)
	if err != nil {
		return nil, err
	}
	p := &NATSProxy{}
	if p.relayer, err = listen(u.Host, p.carry); err != nil {
		return nil, err
	}
	return p, nil
}

// URL returns the address for clients.
func (p *NATSProxy) URL() string { return "nats://" + p.address() }

// Add makes a rule take effect.
func (p *NATSProxy) Add(rule NATSRule) *Handle { return p.rules.add(rule) }

// Observe has f called with every publication that the server is given and every answer to
// one, before it is delivered. f must be quick. There is one observer.
func (p *NATSProxy) Observe(f func(NATSEvent)) { p.observer.Store(&f) }

func (p *NATSProxy) tell(e NATSEvent) {
	if f := p.observer.Load(); f != nil {
		e.At = time.Now()
		(*f)(e)
	}
}

// natsConn is one connection through the proxy.
type natsConn struct {
	*pair
	proxy    *NATSProxy
	toClient sink
	toServer sink

	mu      sync.Mutex // guards the fields below
	name    string
	subs    map[string]string       // sid to subject
	waiting map[string]*NATSMessage // by reply subject, until the last answer
}

// sink is one direction's end. Frames are written whole, from any goroutine.
type sink struct {
	mu sync.Mutex
	w  *bufio.Writer
}

func (s *sink) write(flush bool, data ...[]byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range data {
		if _, err := s.w.Write(d); err != nil {
			return err
		}
	}
	if flush {
		return s.w.Flush()
	}
	return nil
}

const bufferSize = 64 << 10

func (p *NATSProxy) carry(pr *pair) {
	c := &natsConn{
		pair: pr, proxy: p, subs: map[string]string{}, waiting: map[string]*NATSMessage{},
		toClient: sink{w: bufio.NewWriterSize(pr.client, bufferSize)},
		toServer: sink{w: bufio.NewWriterSize(pr.server, bufferSize)},
	}
	var other sync.WaitGroup
	other.Go(func() { c.copy(pr.server, &c.toClient, c.fromServer) })
	c.copy(pr.client, &c.toServer, c.fromClient)
	other.Wait()
}

// copy reads frames until the connection ends, and ends the other one with it. Each frame
// is judged, and what is left of it goes on.
func (c *natsConn) copy(from net.Conn, to *sink, judge func(*frame) [][]byte) {
	defer c.end()
	r := bufio.NewReaderSize(from, bufferSize)
	for {
		f, err := readFrame(r)
		if err != nil {
			_ = to.write(true) // what came before the end
			return
		}
		data := judge(f)
		size := 0
		for _, d := range data {
			size += len(d)
		}
		if size > 0 && !c.pass(size) {
			data = nil
		}
		if to.write(r.Buffered() == 0, data...) != nil {
			return
		}
	}
}

// fromClient returns what the server gets.
func (c *natsConn) fromClient(f *frame) [][]byte {
	switch f.op {
	case "CONNECT":
		c.introduce(f)
	case "SUB":
		c.mu.Lock()
		c.subs[f.sid] = f.subject
		c.mu.Unlock()
	case "UNSUB":
		if bytes.Count(bytes.TrimSpace(f.line), []byte(" ")) == 1 { // now, and not after some messages
			c.mu.Lock()
			delete(c.subs, f.sid)
			c.mu.Unlock()
		}
	case "PUB", "HPUB":
		if f.reply != "" && !withoutMessage(f.reply) {
			return c.publication(f)
		}
	}
	return [][]byte{f.bytes()}
}

func (c *natsConn) introduce(f *frame) {
	var hello struct{ Name string }
	if json.Unmarshal(bytes.TrimSpace(f.line[len("CONNECT"):]), &hello) == nil {
		c.mu.Lock()
		c.name = hello.Name
		c.mu.Unlock()
	}
}

func (c *natsConn) publication(f *frame) [][]byte {
	m := &NATSMessage{Point: OnPublication, Subject: f.subject, ID: f.headerValue("Nats-Msg-Id"), Payload: f.body[f.header:]}
	if strings.HasPrefix(f.subject, "$") {
		m.Point = OnRequest
	}
	c.mu.Lock()
	m.Client = c.name
	c.mu.Unlock()
	if action, ok := c.proxy.rules.match(m); ok {
		switch action.kind {
		case natsSwallow:
			return nil
		case natsAnswer:
			c.answer(f.reply, action.reply)
			c.forged(m, message(f.reply, "", action.reply))
			return nil
		case natsCut:
			_ = c.toServer.write(true) // the publications before this one are the server's
			c.cut()
			return nil
		case natsDelay:
			if !c.wait(action.delay) {
				return nil
			}
		case natsDuplicate:
			for range action.times {
				c.expect(f.reply, m)
			}
			c.expect(f.reply, m)
			return repeat(f.bytes(), action.times)
		}
	}
	c.expect(f.reply, m)
	return [][]byte{f.bytes()}
}

// expect remembers what an answer will be about, and tells of a publication.
func (c *natsConn) expect(reply string, m *NATSMessage) {
	about := *m
	about.Payload = nil
	c.mu.Lock()
	c.waiting[reply] = &about
	c.mu.Unlock()
	if m.Point == OnPublication {
		c.proxy.tell(NATSEvent{Client: m.Client, ID: m.ID})
	}
}

// forged tells of an answer that a rule made.
func (c *natsConn) forged(m *NATSMessage, answer *frame) {
	if m.Point != OnPublication && m.Point != OnAck {
		return
	}
	e := NATSEvent{Client: m.Client, ID: m.ID, Ack: true, Delivered: true, Forged: true}
	parseAck(answer, &e)
	c.proxy.tell(e)
}

// answer gives the client a message as if the server had sent it.
func (c *natsConn) answer(subject string, r Reply) {
	c.mu.Lock()
	sid := ""
	for id, pattern := range c.subs {
		if subjectMatches(pattern, subject) {
			sid = id
		}
	}
	c.mu.Unlock()
	if sid != "" {
		_ = c.toClient.write(true, message(subject, sid, r).bytes()) // a failure ends the connection elsewhere
	}
}

// fromServer returns what the client gets.
func (c *natsConn) fromServer(f *frame) [][]byte {
	switch f.op {
	case "INFO":
		return [][]byte{hideServers(f).bytes()}
	case "MSG", "HMSG":
		if about, expected := c.expected(f.subject); expected {
			return c.response(f, *about)
		}
	}
	return [][]byte{f.bytes()}
}

func (c *natsConn) response(f *frame, m NATSMessage) [][]byte {
	event := NATSEvent{Client: m.Client, ID: m.ID, Ack: true, Delivered: true}
	tell := false
	var others []*NATSMessage
	if m.Point == OnPublication {
		m.Point = OnAck
		parseAck(f, &event)
		if tell = aboutMessage(f); tell {
			others = c.others(f.subject)
		}
	} else {
		m.Point = OnResponse
	}
	m.Payload = f.body[f.header:]
	data := [][]byte{f.bytes()}
	if action, ok := c.proxy.rules.match(&m); ok {
		event.Delivered = false
		switch action.kind {
		case natsSwallow:
			data = nil
		case natsAnswer:
			answer := message(f.subject, f.sid, action.reply)
			c.forged(&m, answer)
			data = [][]byte{answer.bytes()}
		case natsCut:
			_ = c.toClient.write(true) // the answers before this one are the client's
			c.cut()
			data = nil
		case natsDelay:
			time.AfterFunc(action.delay, func() {
				event.Delivered = c.toClient.write(true, data[0]) == nil // the connection may have ended since
				if tell {
					c.tellAll(event, others)
				}
			})
			return nil
		case natsDuplicate:
			event.Delivered = true
			data = repeat(data[0], action.times)
		}
	}
	if tell {
		c.tellAll(event, others)
	}
	return data
}

func repeat(data []byte, more int) [][]byte {
	list := [][]byte{data}
	for range more {
		list = append(list, data)
	}
	return list
}

// hideServers takes the addresses of other servers out of an INFO.
func hideServers(f *frame) *frame {
	var info map[string]json.RawMessage
	if json.Unmarshal(bytes.TrimSpace(f.line[len("INFO"):]), &info) != nil {
		return f
	}
	delete(info, "connect_urls")
	delete(info, "ws_connect_urls")
	text, err := json.Marshal(info)
	if err != nil {
		return f
	}
	return &frame{op: f.op, line: append([]byte("INFO "), text...)}
}

// subjectMatches reports whether a subscription gets a subject.
func subjectMatches(pattern, subject string) bool {
	for {
		p, restP, moreP := strings.Cut(pattern, ".")
		s, restS, moreS := strings.Cut(subject, ".")
		switch {
		case p == ">":
			return true
		case p != "*" && p != s:
			return false
		case !moreP && !moreS:
			return true
		case moreP != moreS:
			return false
		}
		pattern, subject = restP, restS
	}
}
