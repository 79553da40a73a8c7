package registry

import (
	"context"
	_ "embed"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-dev/holdfast/hold/holdhttp"
	"github.com/holdfast-dev/holdfast/hold/keeper"
	"github.com/holdfast-dev/holdfast/hold/wire"
	"github.com/holdfast-dev/holdfast/outbox"
)

// Caller is the name of the coordinator: the one service that may write here and decide about holds.
const Caller = "intake"

// Config are the settings of a [Service].
type Config struct {
	// Token is the SHA-256 of the coordinator's token (holdhttp.HashToken). Required.
	Token string
	// Every is the pause between two passes of the keeper. Defaults to that of package keeper.
	Every time.Duration
	// Logger is where faults are told. Defaults to slog.Default.
	Logger *slog.Logger
}

// Service serves the registry in one database. Safe for concurrent use.
type Service struct {
	db     *pgxpool.Pool
	tokens *holdhttp.Tokens
	events *outbox.Publisher
	keeper *keeper.Keeper
	logger *slog.Logger
	routes *http.ServeMux
}

//go:embed schema.sql
var schemaSQL string

// Install makes the tables of the registry, beside the components outbox and hold.
func Install(ctx context.Context, db *pgxpool.Pool) error {
	if _, err := db.Exec(ctx, schemaSQL); err != nil {
		return fmt.Errorf("install the registry: %w", err)
	}
	return nil
}

// New makes a service. It connects to nothing.
func New(db *pgxpool.Pool, cfg Config) (*Service, error) {
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	tokens, err := holdhttp.NewTokens(holdhttp.Token{SHA256: cfg.Token, Caller: holdhttp.Caller{Name: Caller, Roles: []string{"service"}}})
	if err != nil {
		return nil, fmt.Errorf("configure the registry: %w", err)
	}
	events, err := outbox.New(outbox.Config{Source: "/registry"})
	if err != nil {
		return nil, fmt.Errorf("configure the registry: %w", err)
	}
	holds, err := keeper.New(db, keeper.Config{Every: cfg.Every, Compensator: eraser{}, Logger: cfg.Logger})
	if err != nil {
		return nil, fmt.Errorf("configure the registry: %w", err)
	}
	s := &Service{db: db, keeper: holds, tokens: tokens, events: events, logger: cfg.Logger, routes: http.NewServeMux()}
	surface, err := holdhttp.New(db, holdhttp.Config{
		Authenticators: []holdhttp.Authenticator{tokens}, Callers: []string{Caller},
		Compensator: eraser{}, Rate: 1000, Burst: 1000, Logger: cfg.Logger,
	})
	if err != nil {
		return nil, fmt.Errorf("configure the registry: %w", err)
	}
	s.routes.Handle(wire.Prefix+"/", surface)
	for _, k := range kinds {
		s.routes.Handle("POST "+k.path, holdhttp.WithStep(s.known(func(w http.ResponseWriter, r *http.Request) { s.record(w, r, k) })))
	}
	s.routes.Handle("POST /v1/entities/{id}/corrections", s.known(s.correct))
	s.routes.Handle("GET /v1/entities/{id}", s.known(s.show))
	return s, nil
}

// ServeHTTP implements http.Handler.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.routes.ServeHTTP(w, r) }

// Run looks after the holds until ctx ends, and returns nil then: it goes on with compensation that was left
// half-way, and prunes. Every replica runs it.
func (s *Service) Run(ctx context.Context) error { return s.keeper.Run(ctx) }

// known lets callers pass that have a token.
func (s *Service) known(next http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := s.tokens.Authenticate(r); err != nil {
			http.Error(w, "who is calling?", http.StatusUnauthorized)
			return
		}
		next(w, r)
	})
}
