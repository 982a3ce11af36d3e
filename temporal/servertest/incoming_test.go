package servertest

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/apitypes"
	"github.com/kairosd/kairosd/internal/client"
	"github.com/kairosd/kairosd/internal/datadir"
	"github.com/kairosd/kairosd/internal/domain"
)

// A signal is matched with a wait while no worker executes the run, and kairosd is killed. After its next start, the signal
// ends that wait and no other.
func TestAMatchedSignalSurvivesTheDeathOfKairosd(t *testing.T) {
	s := startServer(t)
	k := s.kairosd()
	worker := s.worker(s.config())
	v := k.save("id: many\nnodes: {a: {wait: {event: paid, timeout: 2d}}, b: {type: set, input: \"${output.a.data}\", needs: [a]}}\n")
	older := k.begin(v)
	k.until(older.ID, domain.RunWaiting, domain.WaitSignal)
	other := k.begin(v)
	k.until(other.ID, domain.RunWaiting, domain.WaitSignal)
	if err := worker.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	sent := make(chan error, 1)
	go func() {
		_, err := k.SendSignal(t.Context(), apitypes.SignalCreate{Name: "paid", Data: domain.RawJSON("5")})
		sent <- err
	}()
	for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		if list, _, err := k.Signals(t.Context(), domain.SignalFilter{}); err == nil && len(list) == 1 {
			break
		} else if time.Now().After(end) {
			t.Fatalf("%d signals, %v", len(list), err)
		}
	}
	k.kill()
	<-sent
	k.up()
	s.worker(s.config())
	if end := k.until(older.ID, domain.RunCompleted, ""); string(end.Output) != "5" {
		t.Errorf("output %s", end.Output)
	}
	k.until(other.ID, domain.RunWaiting, domain.WaitSignal)
	list, _, err := k.Signals(t.Context(), domain.SignalFilter{})
	if err != nil || len(list) != 1 || len(list[0].Matches) != 1 || list[0].Matches[0].Run != older.ID {
		t.Errorf("%+v %v", list, err)
	}
}

// A child run gives its callback address to another system, which uses it.
func TestACallbackEndsTheWaitOfAChildRun(t *testing.T) {
	s := startServer(t)
	var address string
	called := make(chan int, 2)
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body) // a failure is noticed by its address
		address = strings.Trim(string(body), `"`)
		for range 2 {
			answer, err := http.Post(address, "application/json", strings.NewReader(`{"rendered": true}`))
			if err != nil {
				t.Errorf("callback to %q: %v", address, err)
				continue
			}
			_ = answer.Body.Close() // only the status counts
			called <- answer.StatusCode
		}
		_, _ = w.Write([]byte("{}")) // the run does not read it
	}))
	t.Cleanup(other.Close)
	raw, err := os.ReadFile(s.config())
	if err != nil {
		t.Fatal(err)
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := free.Addr().String()
	_ = free.Close() // kairosd listens there
	config := s.file("hooks.yaml", string(raw)+"hooks: {listen: \""+port+"\", url: \"http://"+port+"\"}\n")
	k := &kairosd{s: s, dir: datadir.Dir(filepath.Join(s.dir, "data"))}
	k.Client = client.Unix(k.dir.Socket())
	k.process, _ = start(t, filepath.Join(s.bin, "kairos-temporal"), "serve", "--address", s.address, "--data", string(k.dir),
		"--config", config, "--listen", "127.0.0.1:0")
	s.worker(config)
	k.save(`
id: render
nodes:
  order: {type: http, input: {method: POST, url: "` + other.URL + `", body: "${run.callback}"}}
  done: {wait: {event: callback, timeout: 1h}, needs: [order]}
  out: {type: set, input: "${output.done.data}", needs: [done]}
`)
	run := k.begin(k.save("id: parent\nnodes: {sub: {type: plan, plan: render}}\n"))
	if end := k.until(run.ID, domain.RunCompleted, ""); string(end.Output) != `{"rendered":true}` {
		t.Errorf("output %s", end.Output)
	}
	if first, second := <-called, <-called; first/100 != 2 || second != http.StatusNotFound {
		t.Errorf("the statuses are %d and %d", first, second)
	}
	if raw := s.stored(); bytes.Contains(raw, []byte(address)) {
		t.Error("the server has the address without encryption")
	}
}
