package probe

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// Server serves a handler on one address.
type Server struct {
	http     *http.Server
	listener net.Listener
}

// Listen takes the address, so that a port in use is known before anything is started. Call
// Serve or Shutdown next.
func Listen(ctx context.Context, addr string, handler http.Handler, log *slog.Logger) (*Server, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("listen for http on %s: %w", addr, err)
	}
	return &Server{
		listener: listener,
		http: &http.Server{
			Handler:           handler,
			ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
			ReadHeaderTimeout: 5 * time.Second,
			ReadTimeout:       10 * time.Second,
			WriteTimeout:      30 * time.Second,
			IdleTimeout:       time.Minute,
			MaxHeaderBytes:    16 << 10,
		},
	}, nil
}

// Addr returns the address, with the port that was taken for port 0.
func (s *Server) Addr() net.Addr { return s.listener.Addr() }

// Serve answers requests until Shutdown, and returns nil then.
func (s *Server) Serve() error {
	if err := s.http.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve http: %w", err)
	}
	return nil
}

// Shutdown lets requests finish until ctx ends, then cuts them.
func (s *Server) Shutdown(ctx context.Context) error {
	if err := s.http.Shutdown(ctx); err != nil {
		return fmt.Errorf("stop http: %w", errors.Join(err, s.http.Close()))
	}
	return nil
}
