// Package servertest runs the commands against a Temporal server. `make temporal-test` builds the programs and sets the
// environment; without it, the tests are skipped.
package servertest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// programs are the directory with the programs that `make temporal-test` builds.
const programs = "KAIROS_TEMPORAL_BIN"

// server is a Temporal server with workers.
type server struct {
	t       *testing.T
	bin     string
	dir     string
	db      string
	address string
	process *exec.Cmd
	flags   []string // of the program
	tls     string   // settings of its clients
	more    string   // settings of all programs
	engine  string   // further settings of the section engine
}

// start starts a program that prints a line when it is ready, and returns the line. Its standard error goes to the test.
func start(t *testing.T, name string, args ...string) (*exec.Cmd, string) {
	t.Helper()
	cmd := exec.Command(name, args...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()
		if t.Failed() {
			for line := range strings.Lines(errs.String()) { // without stack traces
				t.Logf("%s: %.500s", filepath.Base(name), strings.TrimSpace(line))
			}
		}
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("%s: %v", filepath.Base(name), err)
	}
	return cmd, strings.TrimSpace(line)
}

func startServer(t *testing.T) *server {
	t.Helper()
	s := newServer(t)
	s.up()
	return s
}

// newServer returns a server that is not started.
func newServer(t *testing.T) *server {
	t.Helper()
	bin := os.Getenv(programs)
	if bin == "" {
		t.Skip("make temporal-test runs this test")
	}
	s := &server{t: t, bin: bin, dir: t.TempDir()}
	s.db = filepath.Join(s.dir, "temporal.db")
	s.address, s.tls = "127.0.0.1:0", "{}"
	return s
}

// up starts the server on its file.
func (s *server) up() {
	s.t.Helper()
	s.process, s.address = start(s.t, filepath.Join(s.bin, "temporal-devserver"),
		append([]string{"-listen", s.address, "-db", s.db}, s.flags...)...)
}

// down stops the server.
func (s *server) down() {
	s.t.Helper()
	if err := s.process.Process.Signal(os.Interrupt); err != nil {
		s.t.Fatal(err)
	}
	_ = s.process.Wait() // the signal is the reason
}

// worker starts a worker.
func (s *server) worker(config string) *exec.Cmd {
	s.t.Helper()
	w, _ := start(s.t, filepath.Join(s.bin, "kairos-temporal"), "worker", "--address", s.address, "--config", config)
	return w
}

// view is a run as the commands print it.
type view struct {
	ID, Status, WaitReason, Headline string
	Output                           json.RawMessage
	Approvals                        []struct{ ID, Digest string }
	Journal                          []struct{ Kind, Node, Status string }
}

// do runs a command and returns the run that it prints.
func (s *server) do(args ...string) (v view, err error) {
	s.t.Helper()
	cmd := exec.Command(filepath.Join(s.bin, "kairos-temporal"), append(args, "--address", s.address, "--config", s.config())...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err = cmd.Run(); err != nil {
		err = fmt.Errorf("%w: %s", err, errs.String())
	}
	if out.Len() > 0 {
		if decode := json.Unmarshal(out.Bytes(), &v); decode != nil {
			return v, errors.Join(err, decode)
		}
	}
	return v, err
}

func (s *server) must(args ...string) view {
	s.t.Helper()
	v, err := s.do(args...)
	if err != nil {
		s.t.Fatal(err)
	}
	return v
}

// until shows a run until it fits.
func (s *server) until(run string, fits func(view) bool) view {
	s.t.Helper()
	var last view
	var err error
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if last, err = s.do("show", run); err == nil && fits(last) {
			return last
		}
	}
	s.t.Fatalf("the run is %+v (%v)", last, err)
	return last
}

func (s *server) file(name, text string) string {
	s.t.Helper()
	path := filepath.Join(s.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
	return path
}

// bank is a ledger of payments outside of Temporal. While it is slow, a payment is booked at once and answered never.
type bank struct {
	*httptest.Server
	payments atomic.Int64
	slow     atomic.Bool
	booked   chan struct{}
}

func openBank(t *testing.T) *bank {
	b := &bank{booked: make(chan struct{}, 100)}
	b.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b.payments.Add(1)
		b.booked <- struct{}{}
		if b.slow.Load() {
			<-r.Context().Done()
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"paid": true}`)) // the ledger has the payment
	}))
	t.Cleanup(b.CloseClientConnections)
	return b
}

// secret is the payload key.
const secret = "a secret of thirty-two characters"

func (s *server) config() string { return s.configWith(secret) }

// configWith writes a configuration whose first payload key encrypts, and all of whose keys decrypt.
func (s *server) configWith(keys ...string) string {
	var files []string
	for _, key := range keys {
		files = append(files, s.file(strings.ReplaceAll(key, " ", "-"), key))
	}
	return s.file("kairos.yaml", "engine: {backend: temporal, "+s.engine+"temporal: {lost_after: 3s, payload_key_file: "+files[0]+
		", decrypt_key_files: ["+strings.Join(files[1:], ", ")+"], tls: "+s.tls+"}}\n"+
		"tools: {http: {allow_private: [127.0.0.0/8]}}\n"+s.more)
}

func (s *server) payment(b *bank) string {
	return s.file("payment.yaml", `
id: payment
nodes:
  ask: {type: approval, input: {message: "Pay ${input.amount}?"}}
  pay: {type: tool, tool: http, input: {method: POST, url: "`+b.URL+`/payments", body: {amount: "${input.amount}"}}}
  end: {type: set, input: {paid: "${input.amount}"}}
edges: [{from: ask, to: pay}, {from: pay, to: end}]
start: ask
`)
}

// A worker is killed in the middle of a payment. The step goes in doubt, although another worker is there, and is not
// repeated. After a person has resolved it, the run completes. The ledger has one payment.
func TestAKilledWorkerLeavesAPaymentInDoubt(t *testing.T) {
	s, b := startServer(t), openBank(t)
	b.slow.Store(true)
	config := s.config()
	first := s.worker(config)
	run := s.must("run", s.payment(b), "--input", `{"amount": 5}`, "--detach", "--lost-after", "3s").ID
	waiting := s.until(run, func(v view) bool { return len(v.Approvals) == 1 })
	s.must("approve", run, waiting.Approvals[0].ID, "--digest", waiting.Approvals[0].Digest)
	<-b.booked
	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	s.worker(config)
	s.until(run, func(v view) bool { return v.WaitReason == "in_doubt" })
	s.must("resolve", run, "pay", "happened", "--output", `{"paid": true}`)
	end := s.until(run, func(v view) bool { return v.Status == "completed" })
	if string(bytes.Join(bytes.Fields(end.Output), nil)) != `{"paid":5}` || b.payments.Load() != 1 {
		t.Errorf("output %s, %d payments", end.Output, b.payments.Load())
	}
}

// The server and the worker are restarted while a run waits for a person. The run continues.
func TestARestartOfTheServer(t *testing.T) {
	s, b := startServer(t), openBank(t)
	config := s.config()
	first := s.worker(config)
	run := s.must("run", s.payment(b), "--input", `{"amount": 5}`, "--detach").ID
	waiting := s.until(run, func(v view) bool { return len(v.Approvals) == 1 })
	s.down()
	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	s.up()
	s.worker(config)
	s.must("approve", run, waiting.Approvals[0].ID, "--digest", waiting.Approvals[0].Digest)
	end := s.until(run, func(v view) bool { return v.Status == "completed" })
	if b.payments.Load() != 1 {
		t.Errorf("%d payments for %s", b.payments.Load(), end.Output)
	}
}
