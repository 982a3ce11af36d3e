package cli_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/internal/domain"
)

// The audit log records actions on the server as a whole, and requests to the planner, with their actor.
func TestSystemActionsAreRecorded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	data, conf := filepath.Join(dir, "data"), filepath.Join(dir, "kairos.yaml")
	if err := os.WriteFile(conf, []byte("skills: [{id: collect, keywords: {en: [collect]}, tool: set, defaults: {sum: 42}}]\n"+
		"retention: {completed: 1h}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	d := serve(t, data, "--config", conf)
	if _, err := d.CreateUser(t.Context(), ada, "marta", "four unrelated words", domain.RoleAdmin); err != nil {
		t.Fatal(err)
	}
	for action, act := range map[string]func() error{
		"store.backup":    func() error { _, err := d.BackUp(t.Context()); return err },
		"store.retention": func() error { _, err := d.Retain(t.Context(), "", false); return err },
		"user.login-link": func() error { _, err := d.LoginLink(t.Context(), ada, "marta"); return err },
		"plan.version": func() error {
			_, err := d.Ask(t.Context(), domain.AskRequest{Query: "collect the figures", PlanOnly: true})
			return err
		},
		"run.created": func() error {
			_, err := d.Ask(t.Context(), domain.AskRequest{Query: "collect the figures and then collect the rest"})
			return err
		},
	} {
		if err := act(); err != nil {
			t.Errorf("%s: %v", action, err)
		}
		export, stderr, code := runKairosd("audit", "export", "--data", data, "--people")
		found := false
		for line := range strings.Lines(export) {
			var e struct{ Action, Actor, Result string }
			if err := json.Unmarshal([]byte(line), &e); err != nil {
				t.Fatal(err)
			}
			found = found || e.Action == action && strings.HasPrefix(e.Actor, "cli:") && e.Result != "denied"
		}
		if code != 0 || !found {
			t.Errorf("%s is not in the audit log (exit %d %s):\n%s", action, code, stderr, export)
		}
	}
}
