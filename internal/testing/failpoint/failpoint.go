// Package failpoint marks the moments at which the loss of the process would
// matter most: before and after every step towards durability. Tests end the
// process there and look at what is left. Unarmed, a point costs one atomic load.
package failpoint

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
)

// Env is the environment variable that arms points: parts separated by ";",
//
//	kill=NAME:K   the process kills itself when NAME is hit the K-th time
//	trace=PATH    the name of every point that is hit is appended to a file
//	from=PATH     nothing of this before there is that file: what a process does
//	              until then passes no point
const Env = "KAIROS_FAILPOINT"

var armed atomic.Pointer[plan]

// plan contains the actions at the points.
type plan struct {
	mu    sync.Mutex
	name  string
	left  int
	trace *os.File
	from  string // empty: active from the beginning
}

// Hit is a point. It does nothing unless the process was armed.
func Hit(name string) {
	if p := armed.Load(); p != nil {
		p.hit(name)
	}
}

func (p *plan) hit(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.from != "" {
		if _, err := os.Stat(p.from); err != nil {
			return
		}
		p.from = ""
	}
	if p.trace != nil {
		// A single write is in the file completely or not at all, and survives a kill.
		if _, err := p.trace.WriteString(name + "\n"); err != nil {
			fmt.Fprintln(os.Stderr, "failpoint trace:", err)
		}
	}
	if name != p.name {
		return
	}
	if p.left--; p.left == 0 {
		if err := syscall.Kill(os.Getpid(), syscall.SIGKILL); err != nil {
			panic(err)
		}
		select {} // nothing after the point happens, even if the signal is delayed
	}
}

// ArmFromEnv arms the failpoints in the environment variable, if it is not empty.
func ArmFromEnv() error {
	if err := arm(os.Getenv(Env)); err != nil {
		return fmt.Errorf("%s: %w", Env, err)
	}
	return nil
}

func arm(text string) error {
	if text == "" {
		return nil
	}
	p := &plan{}
	for part := range strings.SplitSeq(text, ";") {
		verb, arg, _ := strings.Cut(part, "=")
		switch verb {
		case "kill":
			name, count, _ := strings.Cut(arg, ":")
			k, err := strconv.Atoi(count)
			if err != nil || k < 1 || name == "" {
				return fmt.Errorf("kill=%s: want NAME:K with K of at least 1", arg)
			}
			p.name, p.left = name, k
		case "trace":
			f, err := os.OpenFile(arg, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
			if err != nil {
				return errors.Join(fmt.Errorf("trace=%s", arg), err)
			}
			p.trace = f
		case "from":
			p.from = arg
		default:
			return fmt.Errorf("%q is none of kill=NAME:K, trace=PATH, from=PATH", part)
		}
	}
	armed.Store(p)
	return nil
}
