package daemon

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/kairosd/kairosd/internal/app"

	"github.com/kairosd/kairosd/internal/assemble"
	"github.com/kairosd/kairosd/internal/buildinfo"
	"github.com/kairosd/kairosd/internal/datadir"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/exit"

	"github.com/kairosd/kairosd/internal/auth"
	"github.com/kairosd/kairosd/internal/bulk"
	"github.com/kairosd/kairosd/internal/config"
	"github.com/kairosd/kairosd/internal/draft"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/hook"
	"github.com/kairosd/kairosd/internal/metric"
	"github.com/kairosd/kairosd/internal/notify"
	"github.com/kairosd/kairosd/internal/schedule"
	"github.com/kairosd/kairosd/internal/store"
	"github.com/kairosd/kairosd/internal/store/recovery"
	"github.com/kairosd/kairosd/internal/tool"
)

// settling is how long the work of a start continues after the daemon is ready.
const settling = 300 * time.Millisecond

// drain is how long a stopping daemon waits for active steps. The service unit in
// docs/guides/deploy.md allows more time, because connections close before that and the database
// after it.
const drain = 20 * time.Second

// Options configure the start of a daemon.
type Options struct {
	Dir        datadir.Dir
	ConfigFile string // empty: defaults
	// Listen is an address and port, or unix:/path. Empty means the address of the configuration.
	Listen string
	// Examples loads the example plans.
	Examples bool
	// Safe starts the daemon in safe mode: it executes nothing.
	Safe bool
	// CrashLoop is the number of early crashes in a row after which the daemon starts in safe mode.
	// 0 disables it.
	CrashLoop int
	// Verbose logs every step.
	Verbose  bool
	Env      func(string) string
	Out, Err io.Writer
	// Open opens the database. Nil means store.Open.
	Open assemble.Opening
	// Remote returns what executes the runs. Nil means that the daemon executes them.
	Remote func(cfg config.Config, log *slog.Logger) (Remote, error)

	remote Remote // that executes the runs
}

// Serve runs the daemon until ctx ends or storage fails.
func Serve(ctx context.Context, o Options) error {
	var err error
	if o.Examples && o.ConfigFile == "" {
		if o.ConfigFile, err = exampleConfig(o.Dir); err != nil {
			return err
		}
	}
	cfg, err := config.Load(o.ConfigFile)
	if err != nil {
		return err
	}
	level := slog.LevelInfo
	if o.Verbose {
		level = slog.LevelDebug
	}
	if o.Open == nil {
		o.Open = recovery.Open
	}
	if err := checkBackend(cfg, o.Remote != nil); err != nil {
		return err
	}
	sink := newLogSink(o.Err)
	defer sink.Close()
	lines := &logLines{}
	s := &server{Options: o, cfg: cfg, lines: lines,
		log: slog.New(slog.NewJSONHandler(io.MultiWriter(lines, sink), &slog.HandlerOptions{Level: level}))}
	s.listen = listenAt(o.Listen, cfg)
	return s.serve(ctx)
}

// server is a running daemon.
type server struct {
	Options
	cfg    config.Config // as read at the start
	listen listenAddress

	log     *slog.Logger
	lines   *logLines // the newest log lines, for the dashboard
	startup *startupServer
	hup     chan os.Signal

	store    *store.Store
	engine   *engine.Engine
	app      *app.App
	auth     *auth.Service
	bulk     *bulk.Service
	drafts   *draft.Service
	notifier *notify.Service // sends notifications
	guard    *tool.Guard
	system   *system
	metrics  *metric.Recorder
	masks    *assemble.Masks
	checker  *store.AuditChecker
	settings *settings

	// runtime is built from the active configuration. ended is closed when no step runs any more.
	// retired is closed when the previous toolbox has closed.
	runtime  atomic.Pointer[runtime]
	retired  <-chan struct{}
	retiring sync.WaitGroup
	ended    chan struct{}
	// startNotifying starts to send notifications, once a channel is configured.
	startNotifying func()
}

func (s *server) serve(ctx context.Context) error {
	if err := s.checkAddresses(s.cfg); err != nil {
		return err
	}
	mode, err := s.cfg.Server.Mode()
	if err != nil {
		return exit.With(exit.SysConfig, err)
	}
	ln, err := listenOn(ctx, s.listen.address, mode)
	if err != nil {
		return err
	}
	defer ln.Close()
	// A signal during the start does not end the daemon. It is handled after the start.
	s.hup = make(chan os.Signal, 1)
	signal.Notify(s.hup, syscall.SIGHUP)
	defer signal.Stop(s.hup)
	if s.startup, err = s.newStartupServer(ln); err != nil {
		return err
	}
	defer func() { // closed after the engine, which may still send answers
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		s.startup.close(ctx)
	}()
	if s.store, err = s.Open(ctx, s.Dir.Database(),
		recovery.Options{Options: store.Options{Logger: s.log, Stay: true}, Progress: s.startup.report,
			Recipients: append([]string{}, s.cfg.Backup.Recipients...)}); err != nil {
		if ctx.Err() != nil && errors.Is(err, context.Canceled) {
			return nil // stopped during the start; an upgrade has changed nothing
		}
		return err
	}
	starts := startsOf(string(s.Dir))
	died, err := starts.begin(time.Now())
	if err != nil {
		s.log.Error("count starts", "err", err)
	}
	var why domain.Message
	switch {
	case s.Safe:
		why = domain.Messagef("kairosd was started with --safe")
	case s.CrashLoop > 0 && died >= s.CrashLoop:
		why = domain.Messagef("kairosd crashed %d times within %s, each time soon after its start", died, crashWindow)
	}
	if s.Safe = !why.IsZero(); s.Safe {
		s.log.Error("safe mode: nothing is executed", "reason", why.String())
	}
	old := time.AfterFunc(earlyCrash, func() {
		if err := starts.survived(); err != nil {
			s.log.Error("count starts", "err", err)
		}
	})
	err = s.run(ctx, ln, why)
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		err = nil // stopped during the start
	}
	old.Stop()
	if failure := s.store.Failure(); failure != nil {
		if noteErr := noteFailure(string(s.Dir), failure); noteErr != nil {
			s.log.Error("write the failure file", "err", noteErr)
		}
	}
	if startsErr := starts.survived(); startsErr != nil { // it ended normally
		s.log.Error("count starts", "err", startsErr)
	}
	if closeErr := s.store.Close(); err == nil {
		err = closeErr
	}
	return err
}

// run starts the parts of the daemon, answers requests until ctx ends, and closes the parts in the
// opposite order.
func (s *server) run(ctx context.Context, ln net.Listener, safe domain.Message) error {
	var end closers
	defer end.close()
	s.guard = &tool.Guard{}
	s.guard.Listeners(ln.Addr())
	s.masks, s.ended = &assemble.Masks{}, make(chan struct{})
	failure, err := s.lastFailure(ctx)
	if err != nil {
		return err
	}
	if err := s.createEngine(ctx, &end); err != nil {
		return err
	}
	first := s.now()
	s.system = &system{store: s.store, engine: s.engine, metrics: s.metrics, now: s.now,
		Logger: s.log, started: time.Now().UTC(), safe: safe, lastFailure: failure, unclean: datadir.IsSocket(s.Dir.Socket()),
		configFile: s.ConfigFile, lines: s.lines, mask: s.masks.Mask}
	s.system.reconfigure(first.upkeep)
	if err := s.system.checkAccess(ctx); err != nil {
		return err
	}
	if err := s.system.checkClock(ctx); err != nil {
		return err
	}
	wake := make(chan struct{}, 1)
	if err := s.createServices(ctx, wake); err != nil {
		return err
	}
	demonstrations := s.operations()
	end.add(demonstrations.Close)
	handler, local, closeAPI, err := s.handlers(ctx, ln)
	if err != nil {
		return err
	}
	end.add(closeAPI)
	if err := s.startRuns(ctx, &end); err != nil {
		return err
	}
	s.startUpkeep(ctx, wake, &end)
	return s.answer(ctx, handler, local)
}

// lastFailure returns why storage failed before this start, or "", and records it in the audit log.
func (s *server) lastFailure(ctx context.Context) (string, error) {
	failure, err := popFailure(string(s.Dir))
	if err != nil {
		s.log.Error("read the failure file", "err", err)
	}
	if failure == "" {
		return "", nil
	}
	s.log.Error("storage failed before this start", "failure", failure)
	return failure, s.store.Audit(ctx, domain.AuditRecord{Action: "store.failed", Actor: domain.System.Name,
		Source: domain.System.Source, Result: "failed", Reason: failure})
}

// createEngine creates the engine and the first runtime from the configuration. It starts no runs.
func (s *server) createEngine(ctx context.Context, end *closers) error {
	s.guard.Only(s.guarded(s.cfg)...)
	s.startup.stage(domain.StartTools)
	first, err := s.plain(s.cfg, nil)
	if err != nil {
		return err
	}
	options := engine.Options{People: assemble.PeopleOf(s.store), Safe: s.Safe, StopGrace: drain}
	if options.Remote, err = s.executor(ctx); err != nil {
		return err
	}
	s.engine, first.asker, first.tools, first.registry, err = assemble.NewEngineWith(ctx, s.store, s.cfg, first.secrets, s.log,
		options, s.guard)
	if err != nil {
		return err
	}
	forget := first.tools.OnClose // circuit states are kept when the toolbox closes
	first.tools.OnClose = nil
	s.runtime.Store(first)
	end.add(func() { // the engine has stopped
		close(s.ended)
		s.retiring.Wait()
		s.now().tools.Close()
		forget()
	})
	s.engine.SetReplanner(planners{s.now})
	stopMetrics, err := s.measure(ctx)
	if err != nil {
		return err
	}
	end.add(stopMetrics)
	return nil
}

// createServices creates the services beside the engine, and starts none of them. Runs that need
// attention are sent to the notifier by wake.
func (s *server) createServices(ctx context.Context, wake chan struct{}) (err error) {
	first := s.now()
	access := auth.Config{Store: s.store, Audit: s.store, Log: s.log, SetupFile: s.Dir.SetupFile(),
		Provider: first.access.Provider, CreateUsers: first.access.CreateUsers, NoPassword: first.access.NoPassword,
		SecondFactorFor: first.access.SecondFactorFor}
	if s.auth, err = auth.New(access); err != nil {
		return err
	}
	if s.Examples {
		if err := s.loadExamples(ctx); err != nil {
			return err
		}
	}
	list := catalog{s.now}
	s.bulk = bulk.New(bulk.Config{Store: s.store, Engine: s.engine, Log: s.log, Providers: list.providerInfos, Tools: list.Tools,
		Host: list.Host})
	s.checker = store.NewAuditChecker(s.store, s.log)
	if s.notifier, err = notify.New(notify.Config{Store: s.store, Channels: first.reach.Channels, Dialer: first.reach.Dialer,
		URL: first.reach.URL, Wake: wake, Log: s.log}); err != nil {
		return err
	}
	if err := s.notifier.Begin(ctx); err != nil {
		return err
	}
	s.settings = &settings{now: s.now, file: s.ConfigFile, listen: s.listen, data: string(s.Dir), notify: s.notifier,
		system: s.system, store: s.store}
	return nil
}

// startRuns continues the unfinished runs, bulk operations, and drafts.
func (s *server) startRuns(ctx context.Context, end *closers) error {
	if err := s.system.resumeMaintenance(ctx); err != nil {
		return err
	}
	s.startup.stage(domain.StartRuns)
	if err := s.system.countUnfinished(ctx); err != nil {
		return err
	}
	if err := s.engine.Open(ctx); err != nil {
		return err
	}
	end.add(s.stopEngine)
	if s.remote != nil {
		if err := s.remote.Open(ctx, s.engine, s.store); err != nil {
			return err
		}
		end.add(s.remote.Close)
	}
	if err := s.system.noteStart(ctx, s.now().registry.Models()); err != nil {
		return err
	}
	if err := s.bulk.Open(ctx); err != nil {
		return err
	}
	end.add(s.bulk.Close)
	if err := s.drafts.Open(ctx); err != nil {
		return err
	}
	end.add(s.drafts.Close)
	return nil
}

// startUpkeep starts the work that repeats while the daemon runs: retention, checks, schedules,
// watched files, notifications, and metrics.
func (s *server) startUpkeep(ctx context.Context, wake chan struct{}, end *closers) {
	timer := schedule.New(schedule.Config{Store: s.store, Engine: s.engine.Timed(), Backfill: s.bulk, Now: s.engine.Timed().Now,
		Log: s.log})
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	s.system.schedule(ctx, &running)
	running.Go(func() { s.checker.Run(ctx) })
	running.Go(func() { timer.Run(ctx) })
	files := hook.New(hook.Config{Store: s.store, Engine: s.engine, Log: s.log, Mask: s.masks.Mask,
		Announce: s.engine.Announce}).Watch(hook.WatchConfig{
		Store: s.store, Executing: s.engine.Timed().Executing, Directories: s.watchedDirectories, Now: s.engine.Timed().Now})
	running.Go(func() { files.Run(ctx) })
	s.startNotifying = sync.OnceFunc(func() {
		running.Go(func() { s.notifier.Run(ctx) })
		running.Go(func() { s.wakeOnRuns(ctx, wake) })
	})
	if len(s.now().reach.Channels) > 0 {
		s.startNotifying()
	}
	running.Go(func() { s.metrics.Run(ctx) })
	end.add(func() { cancel(); running.Wait() })
}

// measure counts commits of the store and calls of the planner, and exports them as the
// configuration requires. stop exports the rest.
func (s *server) measure(ctx context.Context) (stop func(), err error) {
	s.metrics = metric.New(metric.Options{Version: buildinfo.Read().Version, Logger: s.log})
	first := s.now()
	s.metrics.Attach(
		metric.Source{
			Load:    func() metric.Load { return metric.Load(s.engine.Load()) },
			Slots:   s.engine.Slots,
			Counts:  s.store.RunCounts,
			Storage: s.store.Usage,
			Providers: catalog{
				s.now,
			}.providerInfos,
			Circuits:    first.tools.Circuits.Counts,
			Listeners:   s.engine.Listeners,
			Clock:       machineClock,
			Run:         s.store.Run,
			Planned:     s.store.PlannedTotals,
			PlannedRuns: s.store.PlannedRuns,
			Setting:     s.store.Setting,
			SetSetting:  s.store.SetSetting,
		},
	)
	s.metrics.Keep(s.Dir.HealthMetrics())
	end, err := s.metrics.Export(ctx, s.cfg.Telemetry)
	if err != nil {
		return nil, exit.With(exit.SysConfig, err)
	}
	s.store.OnBatch(s.metrics.Batch)
	s.store.OnCommit(func(events []domain.AuditEvent) {
		s.engine.HandleCommit(events)
		s.metrics.HandleCommit(events)
	})
	first.asker.OnPlanned(s.metrics.Planned)
	return func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err := end(ctx); err != nil {
			s.log.Warn("export the last traces and metrics", "err", err)
		}
	}, nil
}

func (s *server) stopEngine() {
	ctx, cancel := context.WithTimeout(context.Background(), drain+10*time.Second)
	defer cancel()
	if err := s.engine.Stop(ctx); err != nil {
		s.log.Error("stop", "err", err)
	}
}

// nodeName returns the machine's name for the footer of pages, or "".
func nodeName() string {
	name, err := os.Hostname()
	if err != nil {
		return ""
	}
	return name
}
