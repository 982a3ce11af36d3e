package handler

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/kairosd/kairosd/internal/a2aclient"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/planner/walk"
)

// A run is cancelled after the other server has started the task. The task is cancelled, too, also if kairosd no longer
// records its start, or no longer begins to wait for it.
func TestATaskIsCancelledBetweenSubsteps(t *testing.T) {
	t.Parallel()
	for name, refused := range map[string]int{"its start is not recorded": remoteSend, "the wait does not begin": remoteTask} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cancelled := make(chan string, 1)
			var s *httptest.Server
			s = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodGet {
					fmt.Fprintf(w, `{"name": "x", "version": "1", "description": "", "capabilities": {}, "skills": [], "defaultInputModes": [],
						"defaultOutputModes": [], "supportedInterfaces": [{"url": %q, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}]}`,
						s.URL+"/a2a")
					return
				}
				var call struct {
					ID     any
					Method string
					Params struct{ ID string }
				}
				if err := json.NewDecoder(r.Body).Decode(&call); err != nil {
					t.Error(err)
				}
				task := `{"id": "t-1", "contextId": "c-1", "status": {"state": "TASK_STATE_WORKING"}}`
				if call.Method == "SendMessage" {
					task = `{"task": ` + task + `}`
				} else {
					cancelled <- call.Method + " " + call.Params.ID
				}
				fmt.Fprintf(w, `{"jsonrpc": "2.0", "id": %q, "result": %s}`, call.ID, task)
			}))
			defer s.Close()
			c, err := a2aclient.New(a2aclient.Config{URL: s.URL})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancelCause(t.Context())
			call := &engine.Call{Input: "Hello"}
			call.Substep = func(n int, _, _ string, _ walk.Effect, fn func() (any, domain.Usage, error)) (any, error) {
				if n != refused {
					out, _, err := fn()
					return out, err
				}
				if n == remoteSend {
					if _, _, err := fn(); err != nil {
						t.Error(err)
					}
				}
				cancel(engine.ErrCancelled)
				return nil, engine.ErrCancelled
			}
			if _, err := (remoteCall{&Remote{Client: c}, "partner", call}).run(ctx); err == nil {
				t.Error("a cancelled call completed")
			}
			select {
			case got := <-cancelled:
				if got != "CancelTask t-1" {
					t.Errorf("the other server got %s", got)
				}
			default:
				t.Error("the task was not cancelled")
			}
		})
	}
}
