package engine_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/engine/enginetest"
	"github.com/kairosd/kairosd/internal/store"
	"github.com/kairosd/kairosd/internal/store/storetest"
	"github.com/kairosd/kairosd/planner/walk"
)

// billing has an unsafe step, then an idempotent one, then an approval.
const billing = `{nodes: {fetch: {type: fetch, input: 1}, pay: {type: pay}, ship: {type: ship}, gate: {type: approval, input: {message: "go on?"}}, end: {type: ship, input: 2}},
  edges: [{from: fetch, to: pay}, {from: pay, to: ship}, {from: ship, to: gate}, {from: gate, to: end}]}`

func billingRegistry() *enginetest.Registry {
	answer := func(text string) engine.HandlerFunc {
		return func(context.Context, *engine.Call) (engine.Result, error) { return engine.Result{Output: text}, nil }
	}
	return enginetest.NewRegistry().Handle("fetch", walk.EffectRead, answer("the order")).
		Handle("pay", walk.EffectUnsafe, answer("paid: receipt 4711")).Handle("ship", walk.EffectIdempotent, answer("parcel 42"))
}

// rowOf returns the row with which a node ended.
func rowOf(t *testing.T, s *store.Store, run, node string) int64 {
	t.Helper()
	rows, err := s.Journal(t.Context(), run, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		if r.Node == node && r.Final {
			return r.Seq
		}
	}
	t.Fatalf("%s has no row", node)
	return 0
}

// waitingRun returns a database with one run that waits for an approval.
func waitingRun(t *testing.T, src string) (path string, run domain.Run, rows []domain.Entry) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "kairos.db")
	s, err := store.Open(t.Context(), path, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	e := enginetest.OpenOn(t, s, billingRegistry(), engine.Options{})
	run = e.Until(e.Run(src, "").ID, domain.RunWaiting, domain.WaitApproval)
	if rows, err = s.Journal(t.Context(), run.ID, 0); err != nil {
		t.Fatal(err)
	}
	e.Close()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return path, run, rows
}

// A bit in the stored output of a completed step is flipped. The next access quarantines the run and
// reports the damage. The run can be neither resumed nor changed. A fork from the last good
// checkpoint repeats exactly what its preview shows.
func TestADamagedRunContinuesAsAFork(t *testing.T) {
	t.Parallel()
	path, run, before := waitingRun(t, billing)
	storetest.Turn(t, path, "paid: receipt 4711")
	reg := billingRegistry()
	s := storetest.OpenAt(t, path)
	e := enginetest.OpenOn(t, s, reg, engine.Options{})
	open, err := s.Approvals(t.Context(), domain.ApprovalFilter{Run: run.ID, Status: "pending"})
	if err != nil || len(open.Items) != 1 {
		t.Fatalf("open questions %v, %v", open.Items, err)
	}

	_, err = e.Decide(t.Context(), enginetest.Operator, domain.DecideRequest{Approval: open.Items[0].ID, Approve: true})
	if domain.CodeOf(err) != domain.CodeConflict || !strings.Contains(err.Error(), "is damaged") {
		t.Errorf("the answer to the question: %v", err)
	}
	parked := e.Until(run.ID, domain.RunWaiting, domain.WaitQuarantined)
	if !parked.Attention || !strings.Contains(parked.Headline, "(after fetch)") || !parked.DueAt.IsZero() {
		t.Errorf("put aside: attention %v, %q, due %v", parked.Attention, parked.Headline, parked.DueAt)
	}
	d, err := e.Detail(t.Context(), run.ID)
	if err != nil || d.Damage == nil {
		t.Fatalf("detail: %+v, %v", d.Damage, err)
	}
	var pay int64
	for _, r := range before {
		if r.Node == "pay" && r.Final {
			pay = r.Seq
		}
	}
	dm := d.Damage
	if dm.Row != pay || dm.Good != pay-1 || dm.Bad != 1 || dm.Checkpoint.Node != "fetch" || int64(len(d.Journal)) != dm.Good ||
		dm.Rows[0].Problem != domain.RowChecksum ||
		dm.Intact != len(before)-int(pay) {
		t.Errorf("damage %+v, %d rows shown; pay ended in row %d", dm, len(d.Journal), pay)
	}
	known := map[string]domain.NodeStatus{}
	for _, st := range dm.Steps {
		known[st.Node] = st.Status
	}
	if want := (map[string]domain.NodeStatus{"pay": "", "ship": domain.NodeCompleted, "gate": domain.NodeWaiting}); fmt.Sprint(
		known,
	) != fmt.Sprint(
		want,
	) {
		t.Errorf("behind the damage: %v, want %v", known, want)
	}

	for action, code := range map[domain.Action]domain.Code{domain.ActionResume: domain.CodeNotResumable,
		domain.ActionRelease: domain.CodeConflict, domain.ActionPause: domain.CodeConflict, domain.ActionDelete: domain.CodeConflict} {
		if _, err := e.Do(run.ID, action); domain.CodeOf(err) != code {
			t.Errorf("%s: %v, want %s", action, err, code)
		}
		p, err := e.Preview(t.Context(), enginetest.Operator, domain.ActionRequest{Run: run.ID, Action: action})
		if err != nil || p.Allowed || p.Refusal.IsZero() || p.Damage == nil {
			t.Errorf("preview of %s: %+v, %v", action, p, err)
		}
		if action == domain.ActionResume && !strings.Contains(p.Suggestion.String(), fmt.Sprintf("--at %d", dm.Checkpoint.Seq)) {
			t.Errorf("resume suggests %q", p.Suggestion)
		}
	}
	fork := domain.ActionRequest{Run: run.ID, Action: domain.ActionFork, At: pay}
	if _, err := e.Act(t.Context(), enginetest.Operator, fork); domain.CodeOf(err) != domain.CodeConflict {
		t.Errorf("a fork that keeps the damaged row: %v", err)
	}
	if reg.Count("pay")+reg.Count("ship") != 0 {
		t.Error("a damaged run has gone on")
	}

	fork.At = dm.Checkpoint.Seq
	p, err := e.Preview(t.Context(), enginetest.Operator, fork)
	if err != nil || !p.Allowed || names(p.Keep) != "fetch" || names(p.Again) != "gate pay ship" || names(p.New) != "end" {
		t.Fatalf("preview of the fork: keeps %v, again %v; %+v, %v", names(p.Keep), names(p.Again), p, err)
	}
	for _, node := range []string{"pay", "ship"} {
		if !slices.ContainsFunc(p.Again, func(s domain.PreviewStep) bool { return s.Node == node && !s.Reason.IsZero() }) {
			t.Errorf("%s does not run again, with the reason: %+v", node, p.Again)
		}
	}
	doubt := map[string]bool{}
	for _, r := range p.Repeats {
		doubt[r.Node] = r.Doubtful
	}
	if fmt.Sprint(doubt) != "map[pay:true ship:false]" {
		t.Errorf("a second time: %+v", p.Repeats)
	}
	fork.Instead = map[string]domain.Override{"pay": {Recorded: true}}
	if _, err := e.Act(t.Context(), enginetest.Operator, fork); domain.CodeOf(err) != domain.CodeInvalid {
		t.Errorf("a damaged result stands in: %v", err)
	}
	fork.Instead = map[string]domain.Override{"pay": {Output: domain.RawJSON(`"found in the ledger"`)}, "ship": {Recorded: true}}
	if p, err = e.Preview(t.Context(), enginetest.Operator, fork); err != nil {
		t.Fatal(err)
	}
	fork.Digest, fork.Reason = p.Digest, "checked the ledger"
	next, err := e.Act(t.Context(), enginetest.Operator, fork)
	if err != nil {
		t.Fatal(err)
	}
	e.Until(next.ID, domain.RunWaiting, domain.WaitApproval)
	if reg.Count("fetch")+reg.Count("pay")+reg.Count("ship") != 0 {
		t.Errorf("it was done again: fetch %d, pay %d, ship %d", reg.Count("fetch"), reg.Count("pay"), reg.Count("ship"))
	}
	if row := rowOf(t, s, next.ID, "ship"); row == 0 {
		t.Error("ship has no result")
	}
	events, err := s.AuditEvents(t.Context(), domain.AuditFilter{Run: run.ID, Page: domain.Page{Limit: 50}})
	if err != nil {
		t.Fatal(err)
	}
	details := map[string]string{}
	for _, ev := range events.Items {
		details[ev.Action] += ev.Reason + " " + string(ev.Detail)
	}
	if !strings.Contains(details["run.damaged"], fmt.Sprintf("journal row %d", pay)) ||
		!strings.Contains(details["run.fork"], "checked the ledger") ||
		!strings.Contains(details["run.fork"], fmt.Sprintf(`"damagedRow":%d`, pay)) {
		t.Errorf("the audit log says %v", details)
	}

	// The damaged rows are unchanged, and the run can be cancelled.
	rows, bad, err := s.Intact(t.Context(), run.ID, int64(len(before)))
	if err != nil || len(rows) != len(before)-1 || len(bad) != 1 || bad[0].Seq != pay {
		t.Errorf("the damaged run now: %d rows, %+v, %v", len(rows), bad, err)
	}
	if r, err := e.Do(run.ID, domain.ActionCancel); err != nil || r.Status != domain.RunCancelled {
		t.Errorf("cancel: %s, %v", r.Status, err)
	}
	if open, err = s.Approvals(t.Context(), domain.ApprovalFilter{Run: run.ID, Status: "pending"}); err != nil || len(open.Items) != 0 {
		t.Errorf("questions of a cancelled run: %v, %v", open.Items, err)
	}
	if _, err := e.Do(run.ID, domain.ActionResume); domain.CodeOf(err) != domain.CodeNotResumable {
		t.Errorf("resume of the cancelled run: %v", err)
	}
	if r, err := e.Do(run.ID, domain.ActionDelete); err != nil || r.DeletedAt.IsZero() {
		t.Errorf("delete: %v", err)
	}
}

// A run that was active when the daemon ended, and has a damaged journal at the next start, is
// quarantined, also at later starts. Other runs continue.
func TestAnActiveRunWithADamagedJournalIsQuarantined(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]string{
		"a changed value":  `UPDATE step_results SET output = '"forged"' WHERE node = 'fetch' AND final = 1`,
		"a changed number": `UPDATE step_results SET attempt = 7 WHERE node = 'fetch' AND final = 1`,
		"a lost row":       `DELETE FROM step_results WHERE node = 'fetch' AND final = 1`,
		"a lost end":       `DELETE FROM step_results WHERE id = (SELECT max(id) FROM step_results)`,
		"a lost payload":   `PRAGMA foreign_keys = 0; DELETE FROM payloads`,
		"a changed hash":   `UPDATE step_results SET hash = x'00' WHERE node = 'fetch' AND final = 1`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "kairos.db")
			s, err := store.Open(t.Context(), path, store.Options{})
			if err != nil {
				t.Fatal(err)
			}
			cut := enginetest.NewCut(s, 1000)
			began := make(chan struct{}, 1)
			reg := enginetest.NewRegistry().Handle("fetch", walk.EffectRead, func(context.Context, *engine.Call) (engine.Result, error) {
				return engine.Result{Output: strings.Repeat("large ", 2000)}, nil
			}).Handle("hang", walk.EffectIdempotent, func(ctx context.Context, _ *engine.Call) (engine.Result, error) {
				began <- struct{}{}
				<-ctx.Done()
				return engine.Result{}, ctx.Err()
			})
			e := enginetest.OpenWith(t, s, cut, reg, engine.Options{})
			run := e.Run(`{nodes: {fetch: {type: fetch}, hang: {type: hang}}, edges: [{from: fetch, to: hang}]}`, "")
			<-began
			cut.Kill()
			e.Close()
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			storetest.Alter(t, path, damage)

			s = storetest.OpenAt(t, path)
			again := billingRegistry()
			again.Add("hang", walk.EffectIdempotent, engine.HandlerFunc(echo))
			e = enginetest.OpenOn(t, s, again, engine.Options{})
			r := e.Until(run.ID, domain.RunWaiting, domain.WaitQuarantined)
			if again.Count("hang")+again.Count("fetch") != 0 || !r.Attention {
				t.Errorf("it has gone on, or nobody is told: %+v", r)
			}
			d, err := e.Detail(t.Context(), run.ID)
			if err != nil || d.Damage == nil || d.Damage.Row == 0 || len(d.Waits) != 1 || d.Waits[0].Message != r.Headline {
				t.Fatalf("detail %+v, %v", d.Damage, err)
			}
			if other := e.Run(`{nodes: {a: {type: fetch}}}`, ""); e.Until(other.ID, domain.RunCompleted, "").ID != other.ID {
				t.Error("others do not run")
			}
			if events, err := s.EventsAfter(t.Context(), 0, "", 100); err != nil || len(events) < 5 {
				t.Errorf("the events of all runs: %d, %v", len(events), err)
			}
			e.Close()
			e = enginetest.OpenOn(t, s, again, engine.Options{})
			if r, err := s.Run(t.Context(), run.ID); err != nil || r.WaitReason != domain.WaitQuarantined || r.LastSeq != d.Run.LastSeq {
				t.Errorf("after another start: %s %s at %d, %v", r.Status, r.WaitReason, r.LastSeq, err)
			}
			p, err := e.Preview(
				t.Context(),
				enginetest.Operator,
				domain.ActionRequest{Run: run.ID, Action: domain.ActionFork, At: d.Damage.Checkpoint.Seq},
			)
			if err != nil || !p.Allowed {
				t.Fatalf("preview of a fork: %+v, %v", p, err)
			}
			next, err := e.Act(
				t.Context(),
				enginetest.Operator,
				domain.ActionRequest{Run: run.ID, Action: domain.ActionFork, At: d.Damage.Checkpoint.Seq, Digest: p.Digest},
			)
			if err != nil {
				t.Fatal(err)
			}
			e.Until(next.ID, domain.RunCompleted, "")
		})
	}
}

// Whichever row is damaged, the fork from the last good checkpoint keeps nothing after it, and
// calls exactly what its preview shows.
func TestEveryDamagedRow(t *testing.T) {
	t.Parallel()
	src := `{nodes: {each: {type: fetch, foreach: "${input}"}, pay: {type: pay, needs: [each]}, ship: {type: ship, needs: [each]}, set: {type: set, input: "${output.pay}", needs: [pay, ship]},
	  gate: {type: approval, input: {message: "go on?"}, needs: [set]}}}`
	path := filepath.Join(t.TempDir(), "kairos.db")
	s, err := store.Open(t.Context(), path, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	e := enginetest.OpenOn(t, s, billingRegistry(), engine.Options{})
	run := e.Until(e.Run(src, `[1, 2, 3]`).ID, domain.RunWaiting, domain.WaitApproval)
	e.Close()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for _, suffix := range []string{"", ".key", ".anchor"} {
		b, err := os.ReadFile(path + suffix)
		if err != nil {
			t.Fatal(err)
		}
		files[suffix] = b
	}
	for row := int64(1); row <= run.LastSeq; row++ {
		for how, damage := range map[string]string{"changed": "UPDATE step_results SET at = at + 1 WHERE seq = %d",
			"lost": "DELETE FROM step_results WHERE seq = %d"} {
			t.Run(fmt.Sprintf("%s/%d", how, row), func(t *testing.T) {
				t.Parallel()
				path := filepath.Join(t.TempDir(), "kairos.db")
				for suffix, b := range files {
					if err := os.WriteFile(path+suffix, b, 0o600); err != nil {
						t.Fatal(err)
					}
				}
				storetest.Alter(t, path, fmt.Sprintf(damage, row))
				reg := billingRegistry()
				e := enginetest.OpenOn(t, storetest.OpenAt(t, path), reg, engine.Options{})
				d, err := e.Detail(t.Context(), run.ID)
				if err != nil || d.Damage == nil || d.Damage.Row != row || d.Damage.Good != row-1 || d.Damage.Checkpoint.Seq >= row {
					t.Fatalf("damage %+v, %v", d.Damage, err)
				}
				e.Until(run.ID, domain.RunWaiting, domain.WaitQuarantined) // loading the run was enough
				req := domain.ActionRequest{Run: run.ID, Action: domain.ActionFork, At: d.Damage.Checkpoint.Seq}
				p, err := e.Preview(t.Context(), enginetest.Operator, req)
				if err != nil || !p.Allowed {
					t.Fatalf("preview %+v, %v", p, err)
				}
				req.Digest = p.Digest
				next, err := e.Act(t.Context(), enginetest.Operator, req)
				if err != nil {
					t.Fatal(err)
				}
				e.Until(next.ID, domain.RunWaiting, domain.WaitApproval)
				ahead := map[string]bool{}
				for _, st := range slices.Concat(p.Again, p.New) {
					ahead[st.Node] = true
				}
				for _, call := range reg.Calls() {
					if !ahead[call.Node] {
						t.Errorf("%s was called; the preview keeps it", call.Node)
					}
				}
				for _, node := range []string{"pay", "ship"} {
					if ahead[node] != (reg.Count(node) == 1) {
						t.Errorf("%s was called %d times; ahead: %v", node, reg.Count(node), ahead)
					}
					// A step that may have had its effect is never run again silently: an intact
					// row, or the damaged row itself, began it.
					if ahead[node] && row > 1 &&
						!slices.ContainsFunc(p.Repeats, func(r domain.PreviewRepeat) bool { return r.Node == node }) {
						t.Errorf("%s runs again, and the preview does not ask: %+v", node, p.Repeats)
					}
				}
			})
		}
	}
}
