package cli

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/kairosd/kairosd/internal/assemble"
	"github.com/kairosd/kairosd/internal/buildinfo"
	"github.com/kairosd/kairosd/internal/datadir"
	"github.com/kairosd/kairosd/internal/domain"

	"github.com/spf13/cobra"

	"github.com/kairosd/kairosd/internal/bulk"
	"github.com/kairosd/kairosd/internal/config"
	"github.com/kairosd/kairosd/internal/draft"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/handler"
	"github.com/kairosd/kairosd/internal/rundiff"
	"github.com/kairosd/kairosd/internal/store"
	"github.com/kairosd/kairosd/internal/store/recovery"
	"github.com/kairosd/kairosd/internal/toolbox"
	"github.com/kairosd/kairosd/planner"
)

// local is a database in this process: it executes only the runs that this
// command starts or continues (ruling 27).
type local struct {
	*engine.Engine
	stored
	offered
	bulk   *bulk.Service
	drafts *draft.Service
	full   error // why the database is open for reading only
}

// What the engine does, it does with checks of its own: its methods come before
// those of the store that have the same name.
type (
	stored  struct{ *store.Store }
	offered struct{ *toolbox.Box }
)

// Draft says how far a draft is. One that an earlier process left is taken up by
// whoever looks at it: nobody else has this database.
func (l *local) Draft(ctx context.Context, id string) (domain.Draft, error) {
	d, err := l.drafts.Draft(ctx, id)
	if err == nil && d.State == domain.DraftPlanning {
		l.drafts.TakeUp(d)
	}
	return d, err
}

func (l *local) StartDraft(ctx context.Context, actor domain.Actor, r domain.DraftRequest) (domain.Draft, error) {
	return l.drafts.Start(ctx, actor, r)
}

func (l *local) RefineDraft(ctx context.Context, actor domain.Actor, id string, r domain.DraftRequest) (domain.Draft, error) {
	return l.drafts.Refine(ctx, actor, id, r)
}

func (l *local) AcceptDraft(ctx context.Context, actor domain.Actor, id string, a domain.DraftAcceptance) (domain.Draft, error) {
	return l.drafts.Accept(ctx, actor, id, a)
}

func (l *local) AcceptPlan(ctx context.Context, actor domain.Actor, plan string, a domain.DraftAcceptance) (domain.Plan, error) {
	if a.Alternative == "" {
		return l.Engine.AcceptPlan(ctx, actor, plan, a.Reason)
	}
	p, err := l.Plan(ctx, plan)
	if err != nil {
		return p, err
	}
	if _, err := l.drafts.AcceptAlternative(ctx, actor, p.LatestHash, a); err != nil {
		return p, err
	}
	return l.Plan(ctx, plan)
}

func (l *local) DiscardDraft(ctx context.Context, actor domain.Actor, id, reason string) (domain.Draft, error) {
	return l.drafts.Discard(ctx, actor, id, reason)
}

func (l *local) RunDraft(ctx context.Context, actor domain.Actor, id string, r domain.DraftStart) (domain.Run, error) {
	return l.drafts.Run(ctx, actor, id, r)
}

func (l *local) Standing(ctx context.Context, run domain.Run) (domain.Standing, error) {
	return domain.StandingOf(ctx, l, run, time.Now())
}

func (l *local) TakeNote(ctx context.Context, actor domain.Actor, run domain.Run, note string, resumeAt time.Time) (domain.Run, error) {
	if err := domain.TakeNote(ctx, l.Store, l.bulk, actor, run, note, resumeAt); err != nil {
		return run, err
	}
	return l.FindRun(ctx, run.ID)
}

func (l *local) CompareRuns(ctx context.Context, a, b string) (rundiff.Comparison, error) {
	return rundiff.Read(ctx, l, a, b, time.Now())
}

func (l *local) AuditEvents(ctx context.Context, f domain.AuditFilter) (domain.List[domain.AuditEvent], error) {
	if f.Run != "" {
		run, err := l.FindRun(ctx, f.Run)
		if err != nil {
			return domain.List[domain.AuditEvent]{}, err
		}
		f.Run = run.ID
	}
	return l.Store.AuditEvents(ctx, f)
}

func (l *local) MemorySessions(ctx context.Context, owner string, p domain.Page) (domain.List[domain.MemorySession], error) {
	return l.Store.MemorySessions(ctx, cmp.Or(owner, assemble.LocalActor().Name), p)
}

func (l *local) Memories(ctx context.Context, owner, session string, p domain.Page) (domain.List[domain.Memory], error) {
	return l.Store.Memories(ctx, cmp.Or(owner, assemble.LocalActor().Name), session, p)
}

func (l *local) Forget(ctx context.Context, owner, session, reason string, actor domain.Actor) (int64, error) {
	return l.Store.Forget(ctx, cmp.Or(owner, actor.Name), session, reason, actor)
}

// Views of somebody at the machine are their own, and everybody's.
func (l *local) Views(ctx context.Context) ([]domain.SavedView, error) {
	return l.SavedViews(ctx, assemble.LocalActor().Name)
}

func (l *local) KeepView(ctx context.Context, actor domain.Actor, v domain.SavedView, everybody bool) error {
	owner := actor.Name
	if everybody {
		owner = ""
	}
	return l.SaveView(ctx, owner, v.Name, v.Query, domain.AuditRecord{Action: "view.save", Actor: actor.Name, Surface: actor.Surface, Object: "view:" + v.Name, Result: "ok", Reason: v.Query})
}

func (l *local) PreviewBulk(ctx context.Context, actor domain.Actor, r domain.BulkRequest) (domain.BulkPreview, error) {
	return l.bulk.Preview(ctx, actor, r)
}

func (l *local) StartBulk(ctx context.Context, actor domain.Actor, r domain.BulkRequest) (domain.Bulk, error) {
	return l.bulk.Start(ctx, actor, r)
}

func (l *local) StopBulk(ctx context.Context, actor domain.Actor, id, reason string) (domain.Bulk, error) {
	return l.bulk.Stop(ctx, actor, id, reason)
}

func (l *local) BulkAct(ctx context.Context, id string) (domain.Bulk, error) {
	return l.bulk.Bulk(ctx, id)
}

func (l *local) BulkItems(ctx context.Context, id string, after int64, limit int) ([]domain.BulkItem, error) {
	return l.bulk.Items(ctx, id, after, limit)
}

// Close puts runs down, so that they can be continued, and closes the file.
func (l *local) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	l.bulk.Close()
	l.drafts.Close()
	err := l.Stop(ctx)
	l.Box.Close()
	return errors.Join(err, l.Store.Close())
}

// open gives the backend that the flags ask for: a daemon with --server, else
// the database file, else, when another process holds that, the socket beside it.
func (c *App) open(ctx context.Context) (backend, error) {
	if c.server != "" {
		return c.remote()
	}
	cfg, err := config.Load(c.config)
	if err != nil {
		return nil, err
	}
	b, err := openLocal(ctx, c.database(), c.memory, cfg)
	if domain.CodeOf(err) == domain.CodeLocked {
		if remote, socketErr := c.socket(); socketErr == nil {
			return remote, nil
		}
	}
	if err != nil {
		return nil, err
	}
	if b.full != nil {
		c.errorf("note: the database is open for reading only: %s\n", b.full)
	}
	c.mentionOthers(ctx, b)
	return b, nil
}

func openLocal(ctx context.Context, path string, memory bool, cfg config.Config) (*local, error) {
	log := slog.New(slog.DiscardHandler)
	var s *store.Store
	var err, full error
	if memory {
		s, err = store.OpenMemory(ctx, store.Options{Logger: log})
	} else {
		s, err = recovery.Open(ctx, path, recovery.Options{Options: store.Options{Logger: log}, Recipients: cfg.Backup.Recipients})
		if full = err; domain.CodeOf(err) == domain.CodeNoSpace { // what there is can still be read
			s, err = store.Open(ctx, path, store.Options{Logger: log, ReadOnly: true})
		}
	}
	if err != nil {
		return nil, err
	}
	e, asker, tools, err := assemble.NewEngine(ctx, s, cfg, log, engine.Options{OwnRunsOnly: true, People: assemble.PeopleOf(s)}, nil)
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if err := e.Open(ctx); err != nil {
		tools.Close()
		return nil, errors.Join(err, s.Close())
	}
	return &local{e, stored{s}, offered{tools}, bulk.New(bulk.Config{Store: s, Engine: e, Log: log, Providers: tools.Models.ProviderInfos, Tools: tools.Tools, Host: tools.Host}), draft.New(draft.Config{Store: s, Planner: asker, Engine: e, Log: log}), full}, nil
}

// mentionOthers names unfinished runs that this command leaves alone.
func (c *App) mentionOthers(ctx context.Context, l *local) {
	if c.quiet || c.Json || c.memory {
		return
	}
	list, err := l.Runs(ctx, domain.RunFilter{Statuses: []domain.RunStatus{domain.RunQueued, domain.RunRunning}, Page: domain.Page{Limit: 5}})
	if err != nil {
		return // the command itself will meet the error
	}
	for _, r := range list.Items {
		c.notef("note: run %s of %s is unfinished; continue it with: kairos resume %s\n", r.ID, r.PlanKey, domain.ShortID(r.ID))
	}
}

// with opens the backend for a command and closes it after.
func (c *App) with(cmd *cobra.Command, f func(b backend) error) error {
	if c.db != "" && c.server == "" && !c.memory && !datadir.Exists(c.db) && !slices.Contains([]string{"ask", "add", "try"}, cmd.Name()) {
		return domain.Errorf(domain.CodeUnavailable, "there is no database at %s", c.db).Suggest("kairos run makes one; that of a daemon is kairos.db in its data directory")
	}
	b, err := c.open(cmd.Context())
	if err != nil {
		return err
	}
	defer c.close(b)
	return f(b)
}

func (c *App) close(b backend) {
	if err := b.Close(); err != nil {
		c.errorf("kairos: close: %s\n", err)
	}
}

// catalog is what plans are validated against: the tools and agents of the
// configuration.
func (c *App) catalog(ctx context.Context) (*planner.Catalog, error) {
	_, _, registry, err := c.offers(ctx)
	if err != nil {
		return nil, err
	}
	return registry.Catalog(), nil
}

// offers is what the configuration offers to plans, for those who call nothing of
// it: the toolbox is closed, and what its servers offer stays known.
func (c *App) offers(ctx context.Context) (config.Config, *toolbox.Box, *handler.Registry, error) {
	cfg, err := config.Load(c.config)
	if err != nil {
		return cfg, nil, nil, err
	}
	tools, err := toolbox.New(ctx, toolbox.Options{Tools: cfg.Tools, Servers: cfg.MCP.Servers, Version: buildinfo.Read().Version})
	if err != nil {
		return cfg, nil, nil, err
	}
	tools.Close()
	registry, err := assemble.NewRegistry(cfg, tools)
	return cfg, tools, registry, err
}
