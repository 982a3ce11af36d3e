package demo

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/client"
	"github.com/kairosd/kairosd/internal/datadir"
	"github.com/kairosd/kairosd/internal/domain"
)

// within is set in the environment of the kairosd that a demonstration kills.
const within = "KAIROSD_DEMO"

// prefix begins the name of every directory of a demonstration.
const prefix = "kairosd-demo-"

// grace is the time after which a stopping process is killed.
const grace = 20 * time.Second

// files contains the paths in the directory of a demonstration.
type files string

// Data returns the data directory of its kairosd.
func (f files) Data() datadir.Dir { return datadir.Dir(filepath.Join(string(f), "data")) }

// Config returns the path of the configuration file of its kairosd.
func (f files) Config() string { return filepath.Join(string(f), "kairos.yaml") }

// newFiles creates a directory. It also removes directories that remained after a crash of this
// program and its child.
func newFiles(limit time.Duration) (files, error) {
	left, err := filepath.Glob(filepath.Join(os.TempDir(), prefix+"*"))
	if err != nil {
		return "", fmt.Errorf("look for files of earlier demonstrations: %w", err)
	}
	for _, dir := range left {
		if info, err := os.Stat(dir); err == nil && info.IsDir() && time.Since(info.ModTime()) > 2*limit {
			_ = os.RemoveAll(dir) // it may belong to another user
		}
	}
	dir, err := os.MkdirTemp("", prefix)
	if err != nil {
		return "", domain.Errorf(domain.CodeUnavailable, "cannot create a temporary directory: %w", err)
	}
	f := files(dir)
	if err = os.Mkdir(string(f.Data()), 0o700); err == nil {
		err = os.WriteFile(f.Config(), []byte("tools: {http: {allow_private: [127.0.0.1]}}\n"), 0o600)
	}
	if err != nil {
		_ = os.RemoveAll(dir) // the first error is the one to report
		return "", domain.Errorf(domain.CodeUnavailable, "cannot write to a temporary directory: %w", err)
	}
	return f, nil
}

// process is a running kairosd.
type process struct {
	cmd    *exec.Cmd
	stdin  io.Closer // the process stops when this is closed, so it does not survive its parent
	exited chan struct{}
	log    lastLines
	api    *client.Client
}

// start starts a kairosd, and returns when it is ready.
func (c Config) start(ctx context.Context, f files) (*process, error) {
	command := c.Command
	if command == nil {
		self, err := os.Executable()
		if err != nil {
			return nil, domain.Errorf(domain.CodeUnavailable, "cannot find the program kairosd: %w", err)
		}
		command = []string{self, "demo", "serve"}
	}
	p := &process{cmd: exec.Command(command[0], append(command[1:len(command):len(command)], string(f))...),
		exited: make(chan struct{})}
	p.cmd.Env, p.cmd.Stderr = environment(), &p.log
	stdin, err := p.cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start the kairosd of the demonstration: %w", err)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start the kairosd of the demonstration: %w", err)
	}
	if err := p.cmd.Start(); err != nil {
		return nil, domain.Errorf(domain.CodeUnavailable, "cannot start a second kairosd: %w", err)
	}
	p.stdin = stdin
	ready := make(chan struct{})
	go p.follow(out, ready)
	select {
	case <-ready:
		p.api = client.Unix(f.Data().Socket())
		return p, nil
	case <-p.exited:
		return nil, p.died()
	case <-ctx.Done():
		p.kill()
		return nil, context.Cause(ctx)
	}
}

// environment returns the environment of the kairosd: that of this process, without the variables
// for a service manager's socket and failpoints.
func environment() []string {
	env := []string{within + "=1"}
	for _, name := range []string{"PATH", "HOME", "TMPDIR", "TMP", "TEMP", "SYSTEMROOT", "GOCOVERDIR"} {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return env
}

// follow reads the output of a process until it ends.
func (p *process) follow(out io.Reader, ready chan<- struct{}) {
	lines := bufio.NewReader(out)
	if line, err := lines.ReadString('\n'); err == nil && strings.HasPrefix(line, "kairosd is ready") {
		close(ready)
	}
	_, _ = io.Copy(io.Discard, lines) // it ends with the process
	_ = p.cmd.Wait()                  // how it ended does not matter
	close(p.exited)
}

// while returns a context that ends with the process.
func (p *process) while(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, end := context.WithCancelCause(ctx)
	go func() {
		select {
		case <-p.exited:
			end(p.died())
		case <-ctx.Done():
		}
	}()
	return ctx, func() { end(context.Canceled) }
}

func (p *process) died() error {
	return domain.Errorf(domain.CodeUnavailable, "the kairosd of the demonstration ended unexpectedly: %s", p.log.String())
}

// kill ends the process as a power failure would, and waits until it is gone.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // SIGKILL; the process may have ended
	<-p.exited
	p.close()
}

// end requests the process to stop, and kills it if it does not.
func (p *process) end() {
	_ = p.stdin.Close() // the process may have ended
	select {
	case <-p.exited:
	case <-time.After(grace):
		p.kill()
		return
	}
	p.close()
}

func (p *process) close() {
	_ = p.stdin.Close() // it may be closed already
	if p.api != nil {
		_ = p.api.Close() // its connections ended with the process
	}
}

// lastLines keeps the last lines of a log.
type lastLines struct{ text []byte }

func (l *lastLines) Write(b []byte) (int, error) {
	l.text = append(l.text, b...)
	l.text = l.text[max(0, len(l.text)-1000):]
	return len(b), nil
}

// String returns the lines. Call it after the process has ended.
func (l *lastLines) String() string { return strings.TrimSpace(string(l.text)) }

// Serve is the main function of the killed kairosd. It calls serve until stdin ends, which also
// happens when the parent ends. Then it removes the directory of the demonstration, in case the
// parent cannot.
func Serve(ctx context.Context, dir string, stdin io.Reader,
	serve func(ctx context.Context, data datadir.Dir, config string) error) error {
	f := files(dir)
	if !strings.HasPrefix(filepath.Base(dir), prefix) || !datadir.Exists(f.Config()) {
		return domain.Errorf(domain.CodeInvalid, "%s is not the directory of a demonstration", dir)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		_, _ = io.Copy(io.Discard, stdin) // an error also means that stdin has ended
		cancel()
	}()
	err := serve(ctx, f.Data(), f.Config())
	if removeErr := os.RemoveAll(dir); err == nil {
		err = removeErr
	}
	return err
}

// Lines yields the lines of a reader, until the reader or the context ends.
func Lines(ctx context.Context, r io.Reader) <-chan string {
	lines := make(chan string)
	go func() {
		defer close(lines)
		for scan := bufio.NewScanner(r); scan.Scan(); {
			select {
			case lines <- strings.TrimSpace(scan.Text()):
			case <-ctx.Done():
				return
			}
		}
	}()
	return lines
}
