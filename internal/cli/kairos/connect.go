package kairos

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/kairosd/kairosd/internal/assemble"
	"github.com/kairosd/kairosd/internal/client"
	"github.com/kairosd/kairosd/internal/config"
	"github.com/kairosd/kairosd/internal/datadir"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/exit"
)

// connect returns a client of the API. With --server, it is that of the server. Otherwise it runs
// in this process on the database file. If another process has the file open, it uses the socket
// next to the file.
func (c *program) connect(ctx context.Context) (*client.Client, error) {
	if c.server != "" {
		return c.remote()
	}
	cfg, err := config.Load(c.config)
	if err != nil {
		return nil, err
	}
	o := assemble.LocalOptions{Config: cfg, Path: c.database(), Open: c.opening}
	if c.memory {
		o.Path = ""
	}
	l, err := assemble.OpenLocal(ctx, o)
	if domain.CodeOf(err) == domain.CodeLocked {
		if socket := datadir.SocketOf(c.database()); datadir.IsSocket(socket) {
			return client.Unix(socket), nil
		}
	}
	if err != nil {
		return nil, err
	}
	b := client.InProcess(l.Handler, l.Close)
	if l.ReadOnly != nil {
		c.Errorf("note: the database is open for reading only: %s\n", l.ReadOnly)
	}
	c.mentionOthers(ctx, b)
	return b, nil
}

// connectQuietly connects for the completion of a word. It returns nil if there is no database.
func (c *program) connectQuietly(ctx context.Context) (b *client.Client, closeAll func(), err error) {
	if c.server == "" && !datadir.Exists(c.database()) {
		return nil, nil, nil
	}
	quiet := *c
	quiet.quiet = true
	b, err = quiet.connect(ctx)
	return b, func() { c.close(b) }, err
}

// remote returns a client of the server in --server.
func (c *program) remote() (*client.Client, error) {
	return client.New(c.server, cmp.Or(c.token, c.Env("KAIROS_TOKEN")))
}

// mentionOthers prints unfinished runs that this command does not execute.
func (c *program) mentionOthers(ctx context.Context, b *client.Client) {
	if c.quiet || c.json || c.memory {
		return
	}
	list, err := b.Runs(
		ctx,
		domain.RunFilter{Statuses: []domain.RunStatus{domain.RunQueued, domain.RunRunning}, Page: domain.Page{Limit: 5}},
	)
	if err != nil {
		return // the command will get the same error
	}
	for _, r := range list.Items {
		if r.StartAt.After(time.Now()) {
			continue // it is scheduled
		}
		c.notef("note: run %s of %s is unfinished; continue it: %s\n", r.ID, r.PlanKey, c.command("resume %s", domain.ShortID(r.ID)))
	}
}

// with connects for a command, and closes the client after it.
func (c *program) with(cmd *cobra.Command, f func(b *client.Client) error) error {
	if c.db != "" && c.server == "" && !c.memory && !datadir.Exists(c.db) && !slices.Contains([]string{"ask", "add"}, cmd.Name()) {
		return domain.Errorf(domain.CodeUnavailable, "database %s not found", c.db).
			Suggest("check the path; kairosd has kairos.db in its data directory, and kairos run FILE creates a database")
	}
	b, err := c.connect(cmd.Context())
	if err != nil {
		return err
	}
	defer c.close(b)
	return f(b)
}

func (c *program) close(b *client.Client) {
	if err := b.Close(); err != nil {
		c.Errorf("kairos: close the database: %s\n", err)
	}
}

// findRun finds a run by its id or a part of it.
func findRun(ctx context.Context, b *client.Client, name string) (domain.Run, error) {
	r, err := b.FindRun(ctx, name)
	return r, listedBy(err, "list runs: kairos runs")
}

// findPlan finds a plan by its key or id.
func findPlan(ctx context.Context, b *client.Client, name string) (domain.Plan, error) {
	p, err := b.Plan(ctx, name)
	return p, listedBy(err, "list plans: kairos plans")
}

// listedBy adds a suggestion to an error about an object that does not exist.
func listedBy(err error, suggestion string) error {
	if e, ok := errors.AsType[*domain.Error](err); ok && e.Code == domain.CodeNotFound && e.Suggestion == "" {
		return exit.Advise(err, suggestion)
	}
	return err
}
