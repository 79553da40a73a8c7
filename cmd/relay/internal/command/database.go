package command

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/cmd/relay/internal/settings"
	"github.com/holdfast-dev/holdfast/outbox"
	"github.com/holdfast-dev/holdfast/schema/canonical"
)

// databaseFlags gives a command the flags of the database, and returns how to open what it works on once they
// are parsed: open gets a pool on a database whose component is as this build expects. The caller closes the pool.
func databaseFlags[T any](c *cobra.Command, p Process, component canonical.Component,
	open func(context.Context, *pgxpool.Pool, *settings.Loaded) (*T, error), sections ...settings.Section,
) func(ctx context.Context, needs ...settings.Need) (*T, error) {
	load := settingFlags(c, p, append(sections, settings.Database)...)
	timeout := c.Flags().Duration("timeout", 10*time.Second, "How long connecting and checking the schema may take")
	inGroup(c, connectionFlags, "timeout")
	return func(ctx context.Context, needs ...settings.Need) (*T, error) {
		pool, loaded, err := openLoaded(ctx, load, needs...)
		if err != nil {
			return nil, err
		}
		ctx, cancel := context.WithTimeout(ctx, *timeout)
		defer cancel()
		if _, err := outbox.Verify(ctx, pool, loaded.Schema, component); err != nil {
			pool.Close()
			return nil, fmt.Errorf("check the database: %w", err)
		}
		opened, err := open(ctx, pool, loaded)
		if err != nil {
			pool.Close()
		}
		return opened, err
	}
}

// openLoaded loads the settings and makes a pool on their database. It connects to nothing yet. The caller closes the pool.
func openLoaded(ctx context.Context, load func(...settings.Need) (*settings.Loaded, error), needs ...settings.Need) (*pgxpool.Pool, *settings.Loaded, error) {
	loaded, err := load(append(needs, settings.NeedDatabase)...)
	if err != nil {
		return nil, nil, err
	}
	pool, err := openPool(ctx, &loaded.Settings, 1)
	return pool, loaded, err
}

// databaseName says which database it is, so that nobody takes it for another one.
func databaseName(cfg *pgxpool.Config) string {
	c := cfg.ConnConfig
	return fmt.Sprintf("%s at %s", c.Database, net.JoinHostPort(c.Host, strconv.Itoa(int(c.Port))))
}
