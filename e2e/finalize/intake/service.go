package intake

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/errgroup"

	"github.com/holdfast-dev/holdfast/hold/holdclient"
	"github.com/holdfast-dev/holdfast/hold/saga"
	"github.com/holdfast-dev/holdfast/outbox"
)

// Kind is the kind of operation that finalizes a draft.
const Kind = "draft.finalize"

// registryName is the one participant.
const registryName = "registry"

// Config are the settings of a [Service].
type Config struct {
	// Registry reaches the registry. It stays the caller's to close. Required.
	Registry *holdclient.Client
	// RegistryURL is its address, the one of the client. Required.
	RegistryURL string
	// Keys make the digests of forms. Required.
	Keys *saga.Keys
	// Settings are the times of operations. Default to those of package saga.
	Settings saga.Settings
	// Logger is where decisions and faults are told. Defaults to slog.Default.
	Logger *slog.Logger
}

// Service serves drafts and applications in one database. Safe for concurrent use.
type Service struct {
	db          *pgxpool.Pool
	cfg         Config
	store       *saga.Store
	coordinator *saga.Coordinator
	events      *outbox.Publisher
	reap        string // a statement
	routes      *http.ServeMux
}

//go:embed schema.sql
var schemaSQL string

// Install makes the tables of the intake, beside the components outbox and saga.
func Install(ctx context.Context, db *pgxpool.Pool) error {
	if _, err := db.Exec(ctx, schemaSQL); err != nil {
		return fmt.Errorf("install the intake: %w", err)
	}
	return nil
}

// New makes a service. It connects to nothing.
func New(db *pgxpool.Pool, cfg Config) (*Service, error) {
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	store, err := saga.New(saga.Config{Settings: cfg.Settings})
	if err != nil {
		return nil, fmt.Errorf("configure the intake: %w", err)
	}
	registry := holdclient.Participant{Client: cfg.Registry, Reason: "draft finalized or undone"}
	kinds := map[string]saga.Participants{Kind: {registryName: registry}}
	coordinator, err := saga.NewCoordinator(db, store, kinds, saga.Options{Name: "intake", Logger: cfg.Logger})
	if err != nil {
		return nil, fmt.Errorf("configure the intake: %w", err)
	}
	events, err := outbox.New(outbox.Config{Source: "/intake"})
	if err != nil {
		return nil, fmt.Errorf("configure the intake: %w", err)
	}
	s := &Service{db: db, cfg: cfg, store: store, coordinator: coordinator, events: events,
		reap:   strings.ReplaceAll(reapDraftsSQL, "{{.NotReapable}}", store.NotReapable("d.id")),
		routes: http.NewServeMux()}
	s.routes.HandleFunc("POST /v1/drafts", s.begin)
	s.routes.HandleFunc("POST /v1/drafts/{id}/finalize", s.finalize)
	return s, nil
}

// ServeHTTP implements http.Handler.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.routes.ServeHTTP(w, r) }

// Coordinator is what runs and reconciles the operations.
func (s *Service) Coordinator() *saga.Coordinator { return s.coordinator }

// Store is where the operations are.
func (s *Service) Store() *saga.Store { return s.store }

// Run reconciles operations and reaps drafts until ctx ends, and returns nil then. Every replica runs it.
func (s *Service) Run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return s.coordinator.Reconcile(ctx) })
	group.Go(func() error { return s.reapEvery(ctx, s.store.Settings().Period) })
	return group.Wait()
}

// draftLife is how long a draft stays that nobody finalizes.
const draftLife = "30 days"

// begin makes a draft, and so reserves the id of its application.
func (s *Service) begin(w http.ResponseWriter, r *http.Request) {
	id, err := uuid.NewV7()
	if err == nil {
		_, err = s.db.Exec(r.Context(), insertDraftSQL, id, draftLife)
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	body, err := json.Marshal(map[string]uuid.UUID{"draft": id})
	if err != nil {
		s.fail(w, r, err)
		return
	}
	write(w, http.StatusCreated, body)
}
