package demo_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/cli"
	"github.com/kairosd/kairosd/internal/cli/kairosd"
	"github.com/kairosd/kairosd/internal/demo"
)

// The test binary also acts as kairosd: demonstrations start it with "demo serve".
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "demo" {
		os.Exit(cli.Main(kairosd.Run))
	}
	os.Exit(m.Run())
}

// scene is a runner whose phases a test can wait for.
type scene struct {
	*testing.T
	*demo.Runner
	phases chan demo.Phase
}

func newScene(t *testing.T, limit time.Duration) *scene {
	t.Helper()
	temporary(t)
	s := &scene{T: t, phases: make(chan demo.Phase, 100)}
	var last demo.Phase
	s.Runner = demo.New(demo.Config{Limit: limit, Changed: func(now demo.State) {
		if now.Phase != last {
			last = now.Phase
			s.phases <- last
		}
	}})
	t.Cleanup(s.Close)
	return s
}

// temporary returns a temporary directory with a name that is short enough for sockets.
func temporary(t *testing.T) {
	t.Helper()
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	t.Setenv("TMPDIR", dir)
}

// until waits for a phase.
func (s *scene) until(want demo.Phase) demo.State {
	s.Helper()
	for {
		select {
		case p := <-s.phases:
			switch p {
			case want:
				return s.State()
			case demo.Failed, demo.Completed:
				now := s.State()
				s.Fatalf("the demonstration is %s, want %s: %s", p, want, now.Error)
			}
		case <-s.Context().Done():
			s.Fatalf("never %s", want)
		}
	}
}

// clean checks that a demonstration left no file behind.
func (s *scene) clean() {
	s.Helper()
	s.Wait()
	left, err := filepath.Glob(filepath.Join(os.TempDir(), "*"))
	if err != nil || len(left) > 0 {
		s.Errorf("left behind: %v (%v)", left, err)
	}
}

// Whatever a person answers, the run completes and the ledger contains one payment, because a
// repeated call has the same idempotency key.
func TestEachDecisionEndsWithOnePayment(t *testing.T) {
	for answer, calls := range map[demo.Answer]int{demo.Happened: 1, demo.Again: 2} {
		t.Run(string(answer), func(t *testing.T) {
			s := newScene(t, 0)
			if err := s.Begin("marta", false); err != nil {
				t.Fatal(err)
			}
			doubt := s.until(demo.InDoubt)
			if len(doubt.Payments) != 1 || doubt.Payments[0].Calls != 1 || doubt.Payments[0].Key == "" {
				t.Errorf("in doubt with the payments %+v", doubt.Payments)
			}
			if err := s.Begin("otto", true); err == nil || !strings.Contains(err.Error(), "marta") {
				t.Errorf("a second demonstration: %v", err)
			}
			if err := s.Answer(answer); err != nil {
				t.Fatal(err)
			}
			if err := s.Answer(answer); err == nil {
				t.Error("a second answer was accepted")
			}
			done := s.until(demo.Completed)
			if len(done.Payments) != 1 || done.Payments[0].Calls != calls || string(done.Output) != `{"order":17,"receipt":"r-1"}` {
				t.Errorf("payments %+v, output %s; want one payment, called %d times", done.Payments, done.Output, calls)
			}
			s.clean()
		})
	}
}

// An idempotent payment is repeated without a question.
func TestAnIdempotentPaymentIsRepeated(t *testing.T) {
	s := newScene(t, 0)
	if err := s.Begin("marta", true); err != nil {
		t.Fatal(err)
	}
	done := s.until(demo.Completed)
	if len(done.Payments) != 1 || done.Payments[0].Calls != 2 || done.Answer != "" {
		t.Errorf("payments %+v, answer %q", done.Payments, done.Answer)
	}
	s.clean()
	if err := s.Begin("marta", false); err != nil {
		t.Errorf("another one, after the first: %v", err)
	}
}

// A demonstration ends and leaves nothing behind when it is stopped, when the server stops, and
// when no answer arrives in time.
func TestADemonstrationIsStopped(t *testing.T) {
	for name, end := range map[string]func(*scene) error{
		"by a person":     func(s *scene) error { return s.Answer(demo.Stop) },
		"with the server": func(s *scene) error { s.Close(); return nil },
	} {
		for _, when := range []demo.Phase{demo.Paying, demo.Killed, demo.InDoubt} {
			t.Run(name+" while "+string(when), func(t *testing.T) {
				s := newScene(t, 0)
				if err := s.Begin("marta", false); err != nil {
					t.Fatal(err)
				}
				s.until(when)
				if err := end(s); err != nil {
					t.Fatal(err)
				}
				s.clean()
				if now := s.State(); now.Phase != demo.Failed || !strings.Contains(now.Error.String(), "stopped") || now.Active() {
					t.Errorf("it is %s: %s", now.Phase, now.Error)
				}
			})
		}
	}
	t.Run("after its limit", func(t *testing.T) {
		s := newScene(t, time.Millisecond)
		if err := s.Begin("marta", false); err != nil {
			t.Fatal(err)
		}
		s.clean()
		if now := s.State(); !strings.Contains(now.Error.String(), "not finished within 1ms") {
			t.Errorf("it is %s: %s", now.Phase, now.Error)
		}
	})
}

// The child process stops and removes its files when its parent ends, because its stdin then ends.
func TestTheChildEndsWithItsParent(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "kairosd-demo-1")
	if err := os.MkdirAll(filepath.Join(dir, "data"), 0o700); err != nil {
		t.Fatal(err)
	}
	run := func() (string, int) {
		var errs bytes.Buffer
		s := cli.Streams{In: strings.NewReader(""), Out: &bytes.Buffer{}, Err: &errs, Env: func(string) string { return "" }}
		code := kairosd.Run(t.Context(), s, []string{"demo", "serve", dir})
		return errs.String(), code
	}
	if out, code := run(); code == 0 || !strings.Contains(out, "not the directory of a demonstration") {
		t.Errorf("another directory: exit %d: %s", code, out)
	}
	if err := os.WriteFile(filepath.Join(dir, "kairos.yaml"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, code := run(); code != 0 {
		t.Errorf("exit %d: %s", code, out)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the directory is still there: %v", err)
	}
}

// The command shows each phase, requests an answer, and ends with one payment.
func TestTheCommand(t *testing.T) {
	for name, c := range map[string]struct {
		in   string
		args []string
		code int
		want []string
	}{
		"asks": {in: "x\n2\n", want: []string{"SIGKILL", "in doubt", "1 payment", "called 2 times",
			`{"order":17,"receipt":"r-1"}`}},
		"by a flag":    {args: []string{"--answer", "happened"}, want: []string{"1 payment", "called once", "takes the result"}},
		"idempotent":   {args: []string{"--idempotent"}, want: []string{"1 payment", "called 2 times"}},
		"no answer":    {code: 2, want: []string{"in doubt"}},
		"wrong answer": {args: []string{"--answer", "maybe"}, code: 2},
	} {
		t.Run(name, func(t *testing.T) {
			temporary(t)
			var out, errs bytes.Buffer
			s := cli.Streams{In: strings.NewReader(c.in), Out: &out, Err: &errs, Env: func(string) string { return "" }}
			if code := kairosd.Run(context.Background(), s, append([]string{"demo"}, c.args...)); code != c.code {
				t.Fatalf("exit %d\n%s%s", code, out.String(), errs.String())
			}
			for _, want := range c.want {
				if !strings.Contains(out.String(), want) {
					t.Errorf("it does not print %q:\n%s", want, out.String())
				}
			}
		})
	}
}
