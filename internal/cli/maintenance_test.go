package cli_test

import (
	"strings"
	"testing"

	"github.com/kairosd/kairosd/internal/domain"
)

// Maintenance survives restarts and appears in the facts of the System page. After the command that
// ends it, waiting runs continue.
func TestMaintenanceCommand(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	d := serve(t, data)
	say := func(want string, wantCode int, args ...string) {
		t.Helper()
		out, errs, code := runKairosd(append([]string{"maintenance", "--data", data}, args...)...)
		if code != wantCode || !strings.Contains(out+errs, want) {
			t.Errorf("maintenance %v: %d %s%s", args, code, out, errs)
		}
	}
	say("no maintenance", 0)
	say("the ERP is down", 0, "on", "--reason", "the ERP is down")
	say("maintenance since", 0, "on") // a repetition changes nothing
	say("invalid argument", 2, "perhaps")
	run := d.start(t, "id: later\nnodes: {a: {type: set, input: 1}}")
	i, err := d.Server(t.Context())
	if err != nil || i.Maintenance == nil || i.Maintenance.Reason != "the ERP is down" {
		t.Fatalf("%+v, %v", i.Maintenance, err)
	}
	d.end(t)
	say("the ERP is down", 0) // reading needs no daemon
	d = serve(t, data)
	if r, err := d.FindRun(t.Context(), run.ID); err != nil || r.Status != domain.RunQueued {
		t.Errorf("after a restart the run is %s, %v", r.Status, err)
	}
	say("no maintenance", 0, "off")
	if r, err := d.Wait(t.Context(), run.ID); err != nil || r.Status != domain.RunCompleted {
		t.Errorf("the run is %s, %v", r.Status, err)
	}
	d.end(t)
	say("maintenance since", 0, "on")
	say("no maintenance", 0, "off")
	say("no maintenance", 0, "off") // a repetition changes nothing
	out, errs, code := runKairosd("audit", "export", "--data", data)
	if code != 0 || strings.Count(out, "maintenance.begin") != 2 || strings.Count(out, "maintenance.end") != 2 {
		t.Errorf("the audit log: %d %s %s", code, out, errs)
	}
}
