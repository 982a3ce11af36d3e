package command

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

// Connect returns a client of the API. With --server, it is that of the server. Otherwise it runs
// in this process on the database file. If another process has the file open, it uses the socket
// next to the file.
func (c *Program) Connect(ctx context.Context) (*client.Client, error) {
	if c.Server != "" {
		return c.Remote()
	}
	cfg, err := config.Load(c.Config)
	if err != nil {
		return nil, err
	}
	o := assemble.LocalOptions{Config: cfg, Path: c.Database(), Open: c.Opening}
	if c.Memory {
		o.Path = ""
	}
	l, err := assemble.OpenLocal(ctx, o)
	if domain.CodeOf(err) == domain.CodeLocked {
		if socket := datadir.SocketOf(c.Database()); datadir.IsSocket(socket) {
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

// ConnectQuietly connects for the completion of a word. It returns nil if there is no database.
func (c *Program) ConnectQuietly(ctx context.Context) (b *client.Client, closeAll func(), err error) {
	if c.Server == "" && !datadir.Exists(c.Database()) {
		return nil, nil, nil
	}
	quiet := *c
	quiet.Quiet = true
	b, err = quiet.Connect(ctx)
	return b, func() { c.Close(b) }, err
}

// Remote returns a client of the server in --server.
func (c *Program) Remote() (*client.Client, error) {
	return client.New(c.Server, cmp.Or(c.Token, c.Env("KAIROS_TOKEN")))
}

// mentionOthers prints unfinished runs that this command does not execute.
func (c *Program) mentionOthers(ctx context.Context, b *client.Client) {
	if c.Quiet || c.JSON || c.Memory {
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
		c.Notef("note: run %s of %s is unfinished; continue it: %s\n", r.ID, r.PlanKey, c.Command("resume %s", domain.ShortID(r.ID)))
	}
}

// With connects for a command, and closes the client after it.
func (c *Program) With(cmd *cobra.Command, f func(b *client.Client) error) error {
	if c.DB != "" && c.Server == "" && !c.Memory && !datadir.Exists(c.DB) && !slices.Contains([]string{"ask", "add"}, cmd.Name()) {
		return domain.Errorf(domain.CodeUnavailable, "database %s not found", c.DB).
			Suggest("check the path; kairosd has kairos.db in its data directory, and kairos run FILE creates a database")
	}
	b, err := c.Connect(cmd.Context())
	if err != nil {
		return err
	}
	defer c.Close(b)
	return f(b)
}

// Close closes a client, and prints an error.
func (c *Program) Close(b *client.Client) {
	if err := b.Close(); err != nil {
		c.Errorf("kairos: close the database: %s\n", err)
	}
}

// FindRun finds a run by its id or a part of it.
func FindRun(ctx context.Context, b *client.Client, name string) (domain.Run, error) {
	r, err := b.FindRun(ctx, name)
	return r, ListedBy(err, "list runs: kairos runs")
}

// FindPlan finds a plan by its key or id.
func FindPlan(ctx context.Context, b *client.Client, name string) (domain.Plan, error) {
	p, err := b.Plan(ctx, name)
	return p, ListedBy(err, "list plans: kairos plans")
}

// ListedBy adds a suggestion to an error about an object that does not exist.
func ListedBy(err error, suggestion string) error {
	if e, ok := errors.AsType[*domain.Error](err); ok && e.Code == domain.CodeNotFound && e.Suggestion == "" {
		return exit.Advise(err, suggestion)
	}
	return err
}
