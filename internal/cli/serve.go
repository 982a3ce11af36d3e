package cli

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/kairosd/kairosd/examples"
	"github.com/kairosd/kairosd/internal/auth"
	"github.com/kairosd/kairosd/internal/bulk"
	"github.com/kairosd/kairosd/internal/config"
	"github.com/kairosd/kairosd/internal/draft"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/kairos"
	"github.com/kairosd/kairosd/internal/metric"
	"github.com/kairosd/kairosd/internal/notify"
	"github.com/kairosd/kairosd/internal/store"
	"github.com/kairosd/kairosd/internal/tool"
	"github.com/kairosd/kairosd/planner"
)

// settling is how long a start goes on after the daemon is ready.
const settling = 300 * time.Millisecond

// drain is how long a stopping daemon lets running nodes finish (O13).
const drain = 20 * time.Second

func (d *daemon) serveCommand() *cobra.Command {
	var listen string
	var withExamples, verbose, safe bool
	var crashLoop int
	cmd := &cobra.Command{
		Use: "serve", Short: "Run the daemon", Args: cobra.NoArgs,
		Long: `Opens the database in --data, continues every unfinished run, and serves the
dashboard and the API. It prints one line with its URL when it is ready, and on
the first start a link for setting up the first user.

It listens on loopback unless the configuration has server.tls_cert and
server.tls_key, or server.trusted_proxies; or, with unix:/path, on a Unix socket
whose mode (server.socket_mode) says who may use it. Local commands reach it through a
socket in the data directory. SIGTERM lets running nodes finish for 20 seconds;
what is cut off then is continued at the next start. A second signal ends it at once.

SIGHUP takes up a changed configuration while runs go on, all of it or, where
anything in it is wrong, nothing; a node that runs keeps what it began with, the
next one has the new. The certificate and the files of secrets are read again
too. server.listen, server.hosts, server.trusted_proxies, whether there is TLS, and telemetry
take effect at the next start, which the log and the page System say by name.

With --safe it executes nothing: everything can be looked at, and runs can be
cancelled. It starts so by itself after three starts within five minutes that
each died within 30 seconds.`,
		Example: "  kairosd serve\n  kairosd serve --data /var/lib/kairos --listen 127.0.0.1:9000 --config kairos.yaml",
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := config.Load(d.config)
			if err != nil {
				return err
			}
			level := slog.LevelInfo
			if verbose {
				level = slog.LevelDebug
			}
			sink := newLogSink(d.Err)
			defer sink.Close()
			lines := &logLines{}
			s := &server{daemon: d, cfg: cfg, examples: withExamples, safe: safe, crashLoop: crashLoop, lines: lines, open: d.opening(),
				log: slog.New(slog.NewJSONHandler(io.MultiWriter(lines, sink), &slog.HandlerOptions{Level: level}))}
			s.listen, s.listenFrom = listenAt(listen, cfg)
			return s.serve(cmd.Context())
		},
	}
	cmd.Flags().StringVar(&listen, "listen", "", "address and port, or unix:/path/of/a/socket (default: server.listen, else "+defaultListen+")")
	cmd.Flags().BoolVar(&withExamples, "examples", false, "load the example plans")
	cmd.Flags().BoolVar(&safe, "safe", false, "execute nothing")
	cmd.Flags().IntVar(&crashLoop, "crash-loop", defaultCrashLoop, "execute nothing after this many early deaths in a row; 0: never mind them")
	cmd.Flags().BoolVarP(&verbose, "verbose", "v", false, "log every step")
	return cmd
}

// server is a running daemon.
type server struct {
	*daemon
	cfg config.Config // as it was read at the start
	// listen is an address or a Unix socket, and listenFrom who says so.
	listen, listenFrom string

	examples bool
	safe     bool
	// crashLoop is how many young deaths lead to safe mode; 0: none do.
	crashLoop int
	log       *slog.Logger
	lines     *logLines // the newest of the log, for the dashboard
	open      opening
	front     *front
	hup       chan os.Signal

	store    *store.Store
	engine   *engine.Engine
	auth     *auth.Service
	bulk     *bulk.Service
	drafts   *draft.Service
	notifier *notify.Service // tells people outside what happened
	guard    *tool.Guard
	system   *system
	metrics  *metric.Recorder
	masks    *masks
	checker  *store.AuditChecker

	// world is what the configuration in force makes of all that; ended is closed
	// when nobody works any more, and retired when the toolbox before has closed.
	world    atomic.Pointer[world]
	retired  <-chan struct{}
	retiring sync.WaitGroup
	ended    chan struct{}
	// tell begins to tell people outside, once there is somebody to tell.
	tell func()
}

func (s *server) serve(ctx context.Context) error {
	if err := checkAddress(s.listen, s.cfg); err != nil {
		return err
	}
	mode, err := s.cfg.Server.Mode()
	if err != nil {
		return &exit{sysConfig, err}
	}
	ln, err := listenOn(ctx, s.listen, mode)
	if err != nil {
		return err
	}
	defer ln.Close()
	// One that comes while the daemon starts does not end it: it is answered then.
	s.hup = make(chan os.Signal, 1)
	signal.Notify(s.hup, syscall.SIGHUP)
	defer signal.Stop(s.hup)
	if s.front, err = s.newFront(ln); err != nil {
		return err
	}
	defer func() { // after the engine, which may still answer
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		s.front.close(ctx)
	}()
	if s.store, err = s.open(ctx, s.database(), store.Options{Logger: s.log, Stay: true, Progress: s.front.tell, Recipients: append([]string{}, s.cfg.Backup.Recipients...)}); err != nil {
		if ctx.Err() != nil && errors.Is(err, context.Canceled) {
			return nil // told to end; what was upgraded is as it was
		}
		return err
	}
	starts := startsOf(s.data)
	died, err := starts.begin(time.Now())
	if err != nil {
		s.log.Error("count starts", "err", err)
	}
	why := ""
	switch {
	case s.safe:
		why = "kairosd was started with --safe"
	case s.crashLoop > 0 && died >= s.crashLoop:
		why = fmt.Sprintf("kairosd died %d times within %s, each time soon after its start", died, crashWindow)
	}
	if s.safe = why != ""; s.safe {
		s.log.Error("safe mode: nothing is executed", "reason", why)
	}
	old := time.AfterFunc(youngDeath, func() {
		if err := starts.survived(); err != nil {
			s.log.Error("count starts", "err", err)
		}
	})
	err = s.run(ctx, ln, why)
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		err = nil // told to end while it was still starting
	}
	old.Stop()
	if failure := s.store.Failure(); failure != nil {
		if noteErr := noteFailure(s.data, failure); noteErr != nil {
			s.log.Error("leave word of the failure", "err", noteErr)
		}
	}
	if startsErr := starts.survived(); startsErr != nil { // it ended by itself
		s.log.Error("count starts", "err", startsErr)
	}
	if closeErr := s.store.Close(); err == nil {
		err = closeErr
	}
	return err
}

func (s *server) run(ctx context.Context, ln net.Listener, safe string) error {
	s.guard = &tool.Guard{}
	s.guard.Listeners(ln.Addr())
	s.masks, s.ended = &masks{}, make(chan struct{})
	failure, err := takeFailure(s.data)
	if err != nil {
		s.log.Error("read why kairosd stopped", "err", err)
	}
	if failure != "" {
		s.log.Error("storage failed before this start", "failure", failure)
		if err := s.store.Audit(ctx, kairos.AuditRecord{Action: "store.failed", Actor: kairos.System.Name, Surface: kairos.System.Surface, Result: "failed", Reason: failure}); err != nil {
			return err
		}
	}
	s.guard.Only(s.guarded(s.cfg)...)
	s.front.stage(kairos.StartTools)
	first, err := s.plain(s.cfg, nil)
	if err != nil {
		return err
	}
	s.engine, first.asker, first.tools, first.registry, err = newEngineWith(ctx, s.store, s.cfg, first.secrets, s.log, engine.Options{People: peopleOf(s.store), Safe: s.safe}, s.guard)
	if err != nil {
		return err
	}
	forget := first.tools.OnClose // what is known of calls outlives the toolbox
	first.tools.OnClose = nil
	s.world.Store(first)
	defer func() { // after the engine has stopped
		close(s.ended)
		s.retiring.Wait()
		s.now().tools.Close()
		forget()
	}()
	s.engine.SetReplanner(planners{s.now})
	stopMetrics, err := s.measure(ctx)
	if err != nil {
		return err
	}
	defer stopMetrics()
	s.system = &system{store: s.store, engine: s.engine, metrics: s.metrics, now: s.now,
		log: s.log, started: time.Now().UTC(), safe: safe, lastFailure: failure, unclean: socketThere(socketPath(s.database())),
		configFile: s.config, lines: s.lines, mask: s.masks.Mask}
	s.system.reconfigure(first.upkeep)
	if err := s.system.checkClock(ctx); err != nil {
		return err
	}
	access := auth.Config{Store: s.store, Audit: s.store, Log: s.log, SetupFile: filepath.Join(s.data, "setup.token"), Key: secondFactorKey(s.store.InstanceKey()),
		Provider: first.access.Provider, CreateUsers: first.access.CreateUsers, NoPassword: first.access.NoPassword, SecondFactorFor: first.access.SecondFactorFor}
	if s.auth, err = auth.New(access); err != nil {
		return err
	}
	if s.examples {
		if err := s.loadExamples(ctx); err != nil {
			return err
		}
	}
	s.bulk = bulk.New(bulk.Config{Store: s.store, Engine: s.engine, Log: s.log, Providers: crew{s.now}.providerInfos, Tools: crew{s.now}.Tools, Host: crew{s.now}.Host})
	s.drafts = draft.New(draft.Config{Store: s.store, Planner: planners{s.now}, Engine: s.engine, Log: s.log})
	wake := make(chan struct{}, 1)
	if s.notifier, err = notify.New(notify.Config{Store: s.store, Channels: first.reach.Channels, Dialer: first.reach.Dialer, URL: first.reach.URL, Wake: wake, Log: s.log}); err != nil {
		return err
	}
	s.checker = store.NewAuditChecker(s.store, s.log)
	handler, local, closeAPI, err := s.handlers(ln)
	if err != nil {
		return err
	}
	defer closeAPI()
	if err := s.system.resumeMaintenance(ctx); err != nil {
		return err
	}
	s.front.stage(kairos.StartRuns)
	if err := s.system.countUnfinished(ctx); err != nil {
		return err
	}
	if err := s.engine.Open(ctx); err != nil {
		return err
	}
	defer s.stopEngine()
	if err := s.system.noteStart(ctx, first.tools.Models); err != nil {
		return err
	}
	if err := s.bulk.Open(ctx); err != nil {
		return err
	}
	defer s.bulk.Close()
	if err := s.drafts.Open(ctx); err != nil {
		return err
	}
	defer s.drafts.Close()
	upkeep, endUpkeep := context.WithCancel(ctx)
	var looking sync.WaitGroup
	looking.Go(func() { s.system.run(upkeep) })
	looking.Go(func() { s.checker.Run(upkeep) })
	looking.Go(func() { boundMemory(upkeep) })
	s.tell = sync.OnceFunc(func() {
		looking.Go(func() { s.notifier.Run(upkeep) })
		looking.Go(func() { s.wakeOnRuns(upkeep, wake) })
	})
	if len(first.reach.Channels) > 0 {
		s.tell()
	}
	looking.Go(func() { s.metrics.Run(upkeep) })
	defer func() { endUpkeep(); looking.Wait() }()
	return s.answer(ctx, handler, local)
}

// measure counts what the store commits and what the planner makes, and sends it
// where the configuration says. What it returns sends the rest.
func (s *server) measure(ctx context.Context) (stop func(), err error) {
	s.metrics = metric.New(metric.Options{Version: thisBuild().Version, Logger: s.log})
	first := s.now()
	s.metrics.Attach(metric.Source{Load: func() metric.Load { return metric.Load(s.engine.Load()) }, Slots: s.engine.Slots, Counts: s.store.RunCounts, Storage: s.store.Usage,
		Providers: crew{s.now}.providerInfos, Circuits: first.tools.Circuits.Counts, Listeners: s.engine.Listeners, Clock: machineClock, Run: s.store.Run})
	s.metrics.Keep(filepath.Join(s.data, "vitals.json"))
	end, err := s.metrics.Export(ctx, s.cfg.Telemetry)
	if err != nil {
		return nil, &exit{sysConfig, err}
	}
	s.store.OnBatch(s.metrics.Batch)
	s.store.OnCommit(func(events []kairos.AuditEvent) {
		s.engine.HandleCommit(events)
		s.metrics.HandleCommit(events)
	})
	first.asker.OnPlanned(s.metrics.Planned)
	return func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err := end(ctx); err != nil {
			s.log.Warn("send the last traces and metrics", "err", err)
		}
	}, nil
}

// secondFactorKey is derived from the key beside the database: a stolen database
// holds no second factor that opens anything.
func secondFactorKey(instance []byte) []byte {
	mac := hmac.New(sha256.New, instance)
	mac.Write([]byte("second factors"))
	return mac.Sum(nil)
}

// guarded is what every tool is kept away from (ruling 39): the data directory, by
// inode, and the files of the configuration. A root of the file tools that lies in it, as in the documentation's
// example, stays usable: then what kairosd keeps there is guarded file by file.
func (s *server) guarded(cfg config.Config) []string {
	socket, _ := config.SocketOf(s.listen)
	own := append(ownFiles(s.store), socket, s.config, filepath.Join(s.data, "setup.token"), filepath.Join(s.data, "vitals.json"), socketPath(s.database()), startsOf(s.data).path, failureFile(s.data), s.backups(cfg),
		cfg.Server.TLSKey)
	if o := cfg.Login.OIDC; o != nil {
		own = append(own, o.ClientSecretFile)
	}
	own = append(own, cfg.Notifications.Files()...)
	for _, secret := range cfg.Secrets {
		own = append(own, secret.File)
	}
	whole := true
	for _, root := range cfg.Tools.Files.Roots {
		if inside(root, s.data) {
			whole = false
			s.log.Warn("a root of the file tools lies in the data directory; keep them apart", "root", root, "data", s.data)
		}
	}
	if whole {
		own = append(own, s.data)
	}
	return slices.DeleteFunc(own, func(p string) bool { return p == "" })
}

// inside reports whether a path is a directory or lies in it, links followed.
func inside(path, dir string) bool {
	target, err := os.Stat(dir)
	if err != nil {
		return false
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	path, err = filepath.Abs(path)
	if err != nil {
		return false
	}
	for {
		if info, err := os.Stat(path); err == nil && os.SameFile(info, target) {
			return true
		}
		if path == filepath.Dir(path) {
			return false
		}
		path = filepath.Dir(path)
	}
}

// loadExamples stores the plans that come with the binary.
func (s *server) loadExamples(ctx context.Context) error {
	files, err := examples.Plans()
	if err != nil {
		return fmt.Errorf("read examples: %w", err)
	}
	for _, f := range files {
		_, _, _, problems, err := s.engine.SavePlan(ctx, kairos.System, f.Source, planner.FormatOf(f.Name, f.Source), "example", "comes with kairosd")
		if err != nil {
			return fmt.Errorf("example %s: %w (%v)", f.Name, err, problems)
		}
	}
	return nil
}

func (s *server) stopEngine() {
	ctx, cancel := context.WithTimeout(context.Background(), drain+10*time.Second)
	defer cancel()
	if err := s.engine.Stop(ctx); err != nil {
		s.log.Error("stop", "err", err)
	}
}

// answer lets the pages take over from the front, and serves until the context
// ends or storage fails.
func (s *server) answer(ctx context.Context, handler, local http.Handler) error {
	socketServer := &http.Server{Handler: local, ReadHeaderTimeout: 5 * time.Second, ErrorLog: s.front.server.ErrorLog}
	path := socketPath(s.database())
	// Only the holder of the lock is here, so a socket that is left is stale.
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return kairos.Errorf(kairos.CodeUnavailable, "cannot replace the socket: %w", err)
	}
	socket, err := listenUnix(path)
	if err != nil {
		return err
	}
	defer s.hangups(ctx)()
	failed := make(chan error, 1)
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := socketServer.Serve(socket); !errors.Is(err, http.ErrServerClosed) {
			failed <- &exit{sysUnavail, err}
		}
	})
	s.front.become(handler)
	go s.auth.Run(ctx)
	if err := s.announce(ctx); err != nil && ctx.Err() == nil {
		return err
	}
	m := newManager(s.Env, os.Getpid(), s.log)
	m.tell("READY=1", "STATUS=ready at "+s.front.url)
	watched, unwatch := context.WithCancel(ctx)
	defer unwatch()
	wg.Go(func() {
		m.watch(watched, func(ctx context.Context) error {
			err := s.store.SetSetting(ctx, "heartbeat", time.Now().UTC().Format(time.RFC3339Nano))
			if kairos.CodeOf(err) == kairos.CodeNoSpace {
				return nil // it lives, and a start would change nothing
			}
			return err
		})
	})
	go func() {
		select { // what the start set going looks around first
		case <-time.After(settling):
		case <-ctx.Done():
			return
		}
		if err := giveBack(); err != nil {
			s.log.Warn("give back memory", "err", err)
		}
	}()
	var cause error
	select {
	case <-ctx.Done():
		s.log.Info("stopping", "grace", drain.String())
	case cause = <-failed:
	case cause = <-s.front.failed:
	case <-s.store.Failed():
		cause = s.store.Failure()
		if code := kairos.CodeOf(cause); code != kairos.CodeCorrupt && code != kairos.CodeLocked {
			cause = &exit{sysIO, cause}
		}
	}
	unwatch()
	m.tell("STOPPING=1")
	stopCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	s.front.close(stopCtx)
	if err := socketServer.Shutdown(stopCtx); err != nil {
		_ = socketServer.Close() // streams that did not end by themselves
	}
	wg.Wait()
	return cause
}

// announce prints the ready line, and how to set up a new installation.
func (s *server) announce(ctx context.Context) error {
	needsSetup, err := s.auth.NeedsSetup(ctx)
	if err != nil {
		return err
	}
	var secret string
	if needsSetup {
		if secret, err = s.auth.BeginSetup(ctx); err != nil {
			return err
		}
	}
	// From here on nothing is asked of the database that can end the daemon: what
	// becomes of it is for those to say who watch it.
	s.store.Started()
	s.printf("kairosd is ready at %s\n", s.front.url)
	for _, n := range s.system.Notices(ctx) {
		s.log.Warn("notice", "text", n.Text)
		s.printf("%s\n", n.Text)
	}
	if needsSetup {
		s.printf("Set up the first user (once, within an hour): %s/setup?token=%s\n", s.front.links, secret)
	}
	return nil
}

// listenUnix opens a socket that only its owner can use.
func listenUnix(path string) (net.Listener, error) {
	ln, err := net.Listen("unix", path)
	if err != nil {
		return nil, kairos.Errorf(kairos.CodeUnavailable, "cannot open the local socket: %w", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(kairos.Errorf(kairos.CodeUnavailable, "cannot protect the local socket: %w", err), ln.Close())
	}
	return ln, nil
}

// nodeName is the machine's name for the foot of pages; a machine without one has
// none.
func nodeName() string {
	name, err := os.Hostname()
	if err != nil {
		return ""
	}
	return name
}
