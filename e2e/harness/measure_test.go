package harness_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/e2e/harness"
	"github.com/jackc/pgx/v5"
)

func TestMeasure(t *testing.T) {
	ctx := context.Background()
	t0 := time.Now()
	p, err := harness.StartPostgres(ctx, harness.PostgresOptions{Log: os.Stderr})
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println("start", time.Since(t0))
	t0 = time.Now()
	p.Stop(ctx, "fast")
	fmt.Println("stop", time.Since(t0))
	t0 = time.Now()
	if err := p.Start(ctx); err != nil {
		t.Fatal(err)
	}
	fmt.Println("restart", time.Since(t0))
	p.CreateDatabase(ctx, "tmpl", "")
	c, _ := pgx.Connect(ctx, p.URL("tmpl"))
	for i := range 60 {
		if _, err := c.Exec(ctx, fmt.Sprintf("create table t%d(id int primary key, x text); create index on t%d(x)", i, i)); err != nil {
			t.Fatal(err)
		}
	}
	c.Close(ctx)
	a, _ := pgx.Connect(ctx, p.URL("postgres"))
	for _, load := range []bool{false, true} {
		if load {
			l, _ := pgx.Connect(ctx, p.URL("postgres"))
			go func() {
				l.Exec(ctx, "create table load(x text)")
				for {
					if _, err := l.Exec(ctx, "insert into load select repeat('x', 500) from generate_series(1,10000)"); err != nil {
						return
					}
				}
			}()
		}
		for _, s := range []string{"file_copy", "wal_log", "file_copy", "wal_log"} {
			var c, d time.Duration
			for i := range 10 {
				t0 = time.Now()
				if _, err := a.Exec(ctx, fmt.Sprintf("create database x%d template tmpl strategy %s", i, s)); err != nil {
					t.Fatal(err)
				}
				c += time.Since(t0)
				t0 = time.Now()
				a.Exec(ctx, fmt.Sprintf("drop database x%d with (force)", i))
				d += time.Since(t0)
			}
			fmt.Println("load", load, s, "create", c/10, "drop", d/10)
		}
	}
	a.Close(ctx)
	t0 = time.Now()
	fmt.Println(p.Close())
	fmt.Println("close", time.Since(t0))
}
