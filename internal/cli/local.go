package cli

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/kairosd/kairosd/internal/bulk"
	"github.com/kairosd/kairosd/internal/config"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/kairos"
	"github.com/kairosd/kairosd/internal/store"
	"github.com/kairosd/kairosd/internal/supervisor"
	"github.com/kairosd/kairosd/internal/toolbox"
	"github.com/kairosd/kairosd/planner"
)

// local is a database in this process: it executes only the runs that this
// command starts or continues (ruling 27).
type local struct {
	*engine.Engine
	store *store.Store
	asker *supervisor.Service
	tools *toolbox.Box
	bulk  *bulk.Service
}

func (l *local) Ask(ctx context.Context, actor kairos.Actor, r kairos.AskRequest) (kairos.Asked, error) {
	return l.asker.Ask(ctx, actor, r)
}

func (l *local) AuditEvents(ctx context.Context, f kairos.AuditFilter) (kairos.List[kairos.AuditEvent], error) {
	if f.Run != "" {
		run, err := l.store.FindRun(ctx, f.Run)
		if err != nil {
			return kairos.List[kairos.AuditEvent]{}, err
		}
		f.Run = run.ID
	}
	return l.store.AuditEvents(ctx, f)
}
func (l *local) Notes(ctx context.Context, run string) ([]kairos.Note, error) {
	return l.store.Notes(ctx, run)
}
func (l *local) AddNote(ctx context.Context, actor kairos.Actor, run, text string) (kairos.Note, error) {
	return l.store.AddNote(ctx, actor, run, text)
}
func (l *local) Conversation(ctx context.Context, run string) (kairos.Conversation, error) {
	return l.store.Conversation(ctx, run)
}
func (l *local) Agents(ctx context.Context) ([]kairos.AgentInfo, error) { return l.tools.Agents(ctx) }
func (l *local) Providers(ctx context.Context) ([]kairos.ProviderInfo, error) {
	return l.tools.Providers(ctx)
}
func (l *local) Tools(ctx context.Context) ([]kairos.ToolInfo, error) { return l.tools.Tools(ctx) }

func (l *local) AcceptTool(ctx context.Context, actor kairos.Actor, name, digest, reason string) error {
	return l.tools.AcceptTool(ctx, actor, name, digest, reason)
}
func (l *local) MemorySessions(ctx context.Context, owner string, p kairos.Page) (kairos.List[kairos.MemorySession], error) {
	return l.store.MemorySessions(ctx, cmp.Or(owner, localActor().Name), p)
}
func (l *local) Memories(ctx context.Context, owner, session string, p kairos.Page) (kairos.List[kairos.Memory], error) {
	return l.store.Memories(ctx, cmp.Or(owner, localActor().Name), session, p)
}
func (l *local) Forget(ctx context.Context, owner, session, reason string, actor kairos.Actor) (int64, error) {
	return l.store.Forget(ctx, cmp.Or(owner, actor.Name), session, reason, actor)
}
func (l *local) ToolServers(ctx context.Context) ([]kairos.ToolServer, error) {
	return l.tools.ToolServers(ctx)
}
func (l *local) RetryToolServer(ctx context.Context, actor kairos.Actor, name, reason string) error {
	return l.tools.RetryToolServer(ctx, actor, name, reason)
}

func (l *local) StopTool(ctx context.Context, actor kairos.Actor, name string, on bool, reason string) error {
	return l.tools.StopTool(ctx, actor, name, on, reason)
}

func (l *local) StopProvider(ctx context.Context, actor kairos.Actor, name string, on bool, reason string) error {
	return l.tools.StopProvider(ctx, actor, name, on, reason)
}

func (l *local) Plans(ctx context.Context, f kairos.PlanFilter) (kairos.List[kairos.Plan], error) {
	return l.store.Plans(ctx, f)
}
func (l *local) Plan(ctx context.Context, id string) (kairos.Plan, error) {
	return l.store.Plan(ctx, id)
}
func (l *local) Versions(ctx context.Context, id string) ([]kairos.Version, error) {
	return l.store.Versions(ctx, id)
}
func (l *local) VersionByNumber(ctx context.Context, id string, n int) (kairos.Version, error) {
	return l.store.VersionByNumber(ctx, id, n)
}
func (l *local) Runs(ctx context.Context, f kairos.RunFilter) (kairos.List[kairos.Run], error) {
	return l.store.Runs(ctx, f)
}
func (l *local) FindRun(ctx context.Context, id string) (kairos.Run, error) {
	return l.store.FindRun(ctx, id)
}
func (l *local) JournalPage(ctx context.Context, run string, after int64, limit int) ([]kairos.Entry, error) {
	return l.store.JournalPage(ctx, run, after, limit)
}
func (l *local) Approvals(ctx context.Context, f kairos.ApprovalFilter) (kairos.List[kairos.Approval], error) {
	return l.store.Approvals(ctx, f)
}
func (l *local) AssignApproval(ctx context.Context, actor kairos.Actor, id, before, assignee, reason string) (kairos.Approval, error) {
	return l.store.AssignApproval(ctx, actor, id, before, assignee, reason)
}
func (l *local) Approval(ctx context.Context, id string) (kairos.Approval, error) {
	return l.store.Approval(ctx, id)
}

// Close puts runs down, so that they can be continued, and closes the file.
func (l *local) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	l.bulk.Close()
	err := l.Stop(ctx)
	l.tools.Close()
	return errors.Join(err, l.store.Close())
}

// open gives the backend that the flags ask for: a daemon with --server, else
// the database file, else, when another process holds that, the socket beside it.
func (c *app) open(ctx context.Context) (backend, error) {
	if c.server != "" {
		return c.remote()
	}
	cfg, err := config.Load(c.config)
	if err != nil {
		return nil, err
	}
	b, err := openLocal(ctx, c.database(), c.memory, cfg)
	if kairos.CodeOf(err) == kairos.CodeLocked {
		if remote, socketErr := c.socket(); socketErr == nil {
			return remote, nil
		}
	}
	if err != nil {
		return nil, err
	}
	c.mentionOthers(ctx, b)
	return b, nil
}

func openLocal(ctx context.Context, path string, memory bool, cfg config.Config) (*local, error) {
	log := slog.New(slog.DiscardHandler)
	var s *store.Store
	var err error
	if memory {
		s, err = store.OpenMemory(ctx, store.Options{Logger: log})
	} else {
		s, err = store.Open(ctx, path, store.Options{Logger: log})
	}
	if err != nil {
		return nil, err
	}
	e, asker, tools, err := newEngine(ctx, s, cfg, log, engine.Options{MaxRunning: cfg.Engine.MaxRunning, MaxNodes: cfg.Engine.MaxNodes, OwnRunsOnly: true,
		SeparateApprovals: cfg.Approvals.Separate, ConsentTimeout: cfg.Approvals.Timeout}, nil)
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if err := e.Open(ctx); err != nil {
		tools.Close()
		return nil, errors.Join(err, s.Close())
	}
	return &local{e, s, asker, tools, bulk.New(bulk.Config{Store: s, Engine: e, Log: log})}, nil
}

// mentionOthers names unfinished runs that this command leaves alone.
func (c *app) mentionOthers(ctx context.Context, l *local) {
	if c.json || c.memory {
		return
	}
	list, err := l.Runs(ctx, kairos.RunFilter{Statuses: []kairos.RunStatus{kairos.RunQueued, kairos.RunRunning}, Page: kairos.Page{Limit: 5}})
	if err != nil {
		return // the command itself will meet the error
	}
	for _, r := range list.Items {
		c.errorf("note: run %s of %s is unfinished; continue it with: kairos resume %s\n", r.ID, r.PlanKey, kairos.ShortID(r.ID))
	}
}

// with opens the backend for a command and closes it after.
func (c *app) with(cmd *cobra.Command, f func(b backend) error) error {
	b, err := c.open(cmd.Context())
	if err != nil {
		return err
	}
	defer c.close(b)
	return f(b)
}

func (c *app) close(b backend) {
	if err := b.Close(); err != nil {
		c.errorf("kairos: close: %s\n", err)
	}
}

// catalog is what plans are validated against: the tools and agents of the
// configuration.
func (c *app) catalog(ctx context.Context) (*planner.Catalog, error) {
	cfg, err := config.Load(c.config)
	if err != nil {
		return nil, err
	}
	tools, err := toolbox.New(ctx, toolbox.Options{Tools: cfg.Tools, Servers: cfg.MCP.Servers, Version: thisBuild().Version})
	if err != nil {
		return nil, err
	}
	tools.Close() // nothing is called; what its servers offer stays known
	r, err := newRegistry(cfg, tools)
	if err != nil {
		return nil, err
	}
	return r.Catalog(), nil
}

// socketPath is where the holder of a database listens (ruling 27).
func socketPath(database string) string {
	return filepath.Join(filepath.Dir(database), "kairosd.sock")
}

func socketThere(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode()&os.ModeSocket != 0
}
