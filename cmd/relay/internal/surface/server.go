package surface

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// Config is what a server needs. All fields but TLS are needed.
type Config struct {
	Addr    string
	Handler http.Handler
	TLS     *tls.Config   // nil for plain text
	Call    time.Duration // how long a call may take
	Stop    time.Duration // how long calls may take to end when it stops
	Log     *slog.Logger
}

// Server serves one handler until Stop.
type Server struct {
	cfg      Config
	http     *http.Server
	listener net.Listener
	served   chan struct{} // closed when no connection is taken any more
	failed   atomic.Pointer[error]
	stop     func() // Stop, once
}

// maxConnections is how many are open at once; others wait to be taken.
const maxConnections = 256

// Start takes the address and serves.
func Start(ctx context.Context, cfg Config) (*Server, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", cfg.Addr)
	if err != nil {
		return nil, fmt.Errorf("listen for the control surface on %s: %w", cfg.Addr, err)
	}
	s := &Server{cfg: cfg, listener: listener, served: make(chan struct{}), http: &http.Server{
		Handler:           cfg.Handler,
		ErrorLog:          slog.NewLogLogger(cfg.Log.Handler(), slog.LevelDebug),
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      cfg.Call + 10*time.Second,
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    32 << 10,
	}}
	s.stop = sync.OnceFunc(s.end)
	var bounded net.Listener = &boundedListener{Listener: listener, places: make(chan struct{}, maxConnections), closed: make(chan struct{})}
	if cfg.TLS != nil {
		bounded = tls.NewListener(bounded, cfg.TLS)
	}
	go s.serve(bounded)
	return s, nil
}

func (s *Server) serve(listener net.Listener) {
	defer close(s.served)
	err := s.http.Serve(listener)
	if errors.Is(err, http.ErrServerClosed) {
		return
	}
	s.failed.Store(&err)
	s.cfg.Log.Error("control surface failed", "error", err)
}

// Addr returns the address, with the port that was taken for port 0.
func (s *Server) Addr() net.Addr { return s.listener.Addr() }

// Failed returns why it serves no more, and nil while it does or was stopped.
func (s *Server) Failed() error {
	if err := s.failed.Load(); err != nil {
		return *err
	}
	return nil
}

// Stop returns when it has stopped. It may be called again, and from several goroutines.
func (s *Server) Stop() { s.stop() }

func (s *Server) end() {
	ctx, cancel := context.WithTimeout(context.Background(), s.cfg.Stop)
	defer cancel()
	if err := s.http.Shutdown(ctx); err != nil {
		s.cfg.Log.Warn("calls of the control surface are cut", "after", s.cfg.Stop.String())
		_ = s.http.Close() // the connections go with the process
	}
	<-s.served
}

// boundedListener takes no more connections than it has places.
type boundedListener struct {
	net.Listener
	places chan struct{} // has one element for each open connection
	once   sync.Once
	closed chan struct{} // by Close
}

// Accept implements net.Listener.
func (l *boundedListener) Accept() (net.Conn, error) {
	select {
	case l.places <- struct{}{}:
	case <-l.closed:
		return nil, net.ErrClosed
	}
	conn, err := l.Listener.Accept()
	if err != nil {
		<-l.places
		return nil, err
	}
	return &boundedConn{Conn: conn, release: sync.OnceFunc(func() { <-l.places })}, nil
}

// Close implements net.Listener.
func (l *boundedListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

type boundedConn struct {
	net.Conn
	release func()
}

// Close implements net.Conn.
func (c *boundedConn) Close() error {
	defer c.release()
	return c.Conn.Close()
}
