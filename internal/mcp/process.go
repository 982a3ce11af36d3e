package mcp

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

// closeStep is how long a process has to exit after each step of closing it: end of input, then a
// signal.
const closeStep = 2 * time.Second

// process is a running server: its own process group, with standard error always drained.
type process struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout *os.File
	stderr ring
	// ended is closed after the process has exited. err is then its result.
	ended chan struct{}
	err   error
	once  sync.Once
}

func startProcess(s Server) (*process, error) {
	if info, err := os.Stat(s.Command[0]); err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() || info.Mode()&0o111 == 0 {
		return nil, fmt.Errorf("%s is not an executable file", s.Command[0])
	}
	p := &process{ended: make(chan struct{})}
	p.cmd = exec.Command(s.Command[0], s.Command[1:]...)
	p.cmd.Dir, p.cmd.Env = s.Dir, s.environment()
	if p.cmd.Dir == "" {
		p.cmd.Dir = "/"
	}
	p.cmd.SysProcAttr = processAttributes()
	p.cmd.Stderr = &p.stderr
	p.cmd.WaitDelay = closeStep
	stdin, err := p.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	// StdoutPipe cannot be used, because Wait closes it and discards unread data.
	stdout, theirs, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, stdin.Close())
	}
	p.stdin, p.stdout, p.cmd.Stdout = stdin, stdout, theirs
	started := make(chan error)
	go func() {
		// The parent-death signal is tied to the thread that starts the process.
		runtime.LockOSThread()
		err := p.cmd.Start()
		started <- err
		if err != nil {
			return
		}
		p.err = p.cmd.Wait()
		// End the remaining processes of the group too.
		_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL) // usually, the group is empty
		close(p.ended)
	}()
	err = <-started
	if closing := theirs.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return nil, errors.Join(err, stdin.Close(), stdout.Close())
	}
	return p, nil
}

// kill ends the group immediately.
func (p *process) kill() {
	_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL) // it may be gone already
}

// close ends the process by closing its input, then by signals to its group. It returns when the
// process is gone.
func (p *process) close() {
	p.once.Do(func() {
		_ = p.stdin.Close() // it may be closed already
		for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
			select {
			case <-p.ended:
			case <-time.After(closeStep):
				_ = syscall.Kill(-p.cmd.Process.Pid, signal) // it may have ended in the meantime
			}
		}
		<-p.ended
		_ = p.stdout.Close() // unblocks its reader
	})
}

// how describes how the process ended, with the end of its standard error. It is empty while the
// process runs.
func (p *process) how() string {
	select {
	case <-p.ended:
	default:
		return ""
	}
	text := "it ended"
	if p.err != nil {
		text = "it ended with " + p.err.Error()
	}
	if tail := p.stderr.tail(1024); tail != "" {
		text += ": " + tail
	}
	return text
}

// ring keeps the last 64 KiB of the written data.
type ring struct {
	mu  sync.Mutex
	buf []byte
}

const ringSize = 64 << 10

func (r *ring) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := len(p)
	if n > ringSize {
		p = p[n-ringSize:]
	}
	r.buf = append(r.buf, p...)
	if over := len(r.buf) - ringSize; over > 0 {
		r.buf = r.buf[:copy(r.buf, r.buf[over:])]
	}
	return n, nil
}

func (r *ring) tail(n int) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.TrimSpace(strings.ToValidUTF8(string(r.buf[max(0, len(r.buf)-n):]), "�"))
}
