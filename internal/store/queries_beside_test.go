package store

import (
	"context"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
)

func everyDraftQuery(t *testing.T, s *Store, must func(string, error)) {
	t.Helper()
	ctx := context.Background()
	d := domain.Draft{
		ID:           domain.NewID(),
		DraftRequest: domain.DraftRequest{Query: "collect", Constraints: domain.Constraints{MaxSteps: 3, Only: []string{"set"}}},
		Actor:        "marta",
		Role:         domain.RoleOperator,
		Source:       "ui",
		Revision:     1,
		State:        domain.DraftPlanning,
		Progress:     []domain.DraftNote{},
		CreatedAt:    time.Now().UTC().Truncate(time.Microsecond),
	}
	must("create draft", do(s, func(tx *Tx) error { return tx.Drafts().Create(d) }))
	list, err := s.DraftsUnderWay(ctx)
	if must("drafts under way", err); len(list) != 1 || !reflect.DeepEqual(list[0], d) {
		t.Errorf("under way: %+v", list)
	}
	if begun, err := s.BeginDraft(ctx, d.ID); err != nil || !begun {
		t.Errorf("begin: %v %v", begun, err)
	}
	notes := []domain.DraftNote{
		{
			At:       d.CreatedAt,
			Phase:    domain.PhaseDrafting,
			Attempt:  2,
			Problems: []domain.Message{domain.Messagef("no"), domain.Messagef("%s has %d steps", "p", 3)},
		},
	}
	must("tell", s.SetDraftProgress(ctx, d.ID, notes))
	d.State, d.DraftOutcome = domain.DraftReady, domain.DraftOutcome{
		Plan: domain.PlanRef{Key: "p", Version: 1},
		Hash: "h-of-draft",
		By:   "rules",
	}
	if moved, err := s.EndDraft(ctx, d); err != nil || !moved {
		t.Errorf("end: %v %v", moved, err)
	}
	if moved, err := s.EndDraft(ctx, d); err != nil || moved {
		t.Errorf("an end after the end: %v %v", moved, err)
	}
	if begun, err := s.BeginDraft(ctx, d.ID); err != nil || begun {
		t.Errorf("begin what is over: %v %v", begun, err)
	}
	got, err := s.DraftOfVersion(ctx, "h-of-draft")
	if must("draft of version", err); got.ID != d.ID || got.Begun != 1 || got.EndedAt.IsZero() || !reflect.DeepEqual(got.Progress, notes) ||
		got.Constraints.Only[0] != "set" {
		t.Errorf("%+v", got)
	}
	next := d
	next.ID, next.Parent, next.Revision = domain.NewID(), d.ID, 2
	must("refine", do(s, func(tx *Tx) error { return tx.Drafts().Create(next) }))
	from, err := s.DraftsFrom(ctx, d.ID)
	if must("drafts from", err); len(from) != 1 || from[0].ID != next.ID {
		t.Errorf("%+v", from)
	}
	for _, state := range []domain.DraftState{domain.DraftAccepted, domain.DraftDiscarded} { // the first decision remains
		chosen := d.DraftOutcome
		chosen.Hash, chosen.Alternative = "h-of-alternative", string(state)
		var moved bool
		err := do(s, func(tx *Tx) (err error) {
			_, moved, err = tx.Drafts().Decide(d.ID, state, &chosen, "")
			return err
		})
		if err != nil || moved != (state == domain.DraftAccepted) {
			t.Errorf("decide: %v %v", moved, err)
		}
	}
	if got, err = s.DraftOfVersion(ctx, "h-of-alternative"); err != nil || got.ID != d.ID || got.Alternative != "accepted" {
		t.Errorf("what was chosen: %+v %v", got, err)
	}
	if totals, err := s.PlannedTotals(ctx, 0); err != nil || totals.Plans != 0 { // the plan of these tests is not a step plan
		t.Errorf("%+v %v", totals, err)
	}
	if runs, err := s.PlannedRuns(ctx); err != nil || runs.Ended != 0 {
		t.Errorf("%+v %v", runs, err)
	}
	open, err := s.Drafts(ctx, false, 5)
	if must("open drafts", err); len(open) != 1 || open[0].ID != next.ID {
		t.Errorf("open: %+v", open)
	}
	all, err := s.Drafts(ctx, true, 5)
	if must("drafts", err); len(all) != 2 || all[0].ID != next.ID {
		t.Errorf("all: %+v", all)
	}
	if _, err := s.Draft(ctx, "none"); domain.CodeOf(err) != domain.CodeNotFound {
		t.Errorf("no draft: %v", err)
	}
}

func everyBulkQuery(t *testing.T, s *Store, run string, must func(string, error)) {
	t.Helper()
	ctx := context.Background()
	b := domain.Bulk{
		ID:        domain.NewID(),
		Action:    domain.ActionResume,
		Query:     "status:failed",
		Actor:     "marta",
		Role:      domain.RoleOperator,
		Source:    "ui",
		Canary:    true,
		Rate:      60,
		State:     domain.BulkCanary,
		Total:     2,
		CreatedAt: time.Now().UTC().Truncate(time.Microsecond),
	}
	must("create bulk", do(s, func(tx *Tx) error {
		return tx.CreateBulk(b, []domain.BulkItem{{Position: 1, Run: run, Rev: 3, Node: "n", Code: "x"}, {Position: 2, Run: "gone"}})
	}))
	open, err := s.BulksUnderWay(ctx)
	if must("bulks under way", err); len(open) != 1 || !reflect.DeepEqual(open[0], b) {
		t.Errorf("under way: %+v", open)
	}
	item := domain.BulkItem{Position: 1, State: "acted", At: time.Now()}
	must("settle", s.SettleBulkItem(ctx, b.ID, item))
	must("settle again", s.SettleBulkItem(ctx, b.ID, item)) // a repeated settlement counts once
	must("settle", s.SettleBulkItem(ctx, b.ID, domain.BulkItem{Position: 2, State: "refused", Detail: "not there"}))
	if moved, err := s.MoveBulk(ctx, b.ID, domain.BulkDone, "", domain.System); err != nil || !moved {
		t.Errorf("end: %v %v", moved, err)
	}
	if moved, err := s.MoveBulk(ctx, b.ID, domain.BulkStopped, "late", domain.System); err != nil || moved {
		t.Errorf("an end after the end: %v %v", moved, err)
	}
	got, err := s.Bulk(ctx, b.ID)
	if must("bulk", err); got.Acted != 1 || got.Refused != 1 || got.State != domain.BulkDone || got.EndedAt.IsZero() {
		t.Errorf("%+v", got)
	}
	items, err := s.BulkItems(ctx, domain.BulkItemFilter{Bulk: b.ID, Limit: 10})
	if must("items", err); len(items) != 2 || items[0].State != "acted" || items[0].Node != "n" || items[1].Detail != "not there" {
		t.Errorf("%+v", items)
	}
	for state, want := range map[string]int{"acted": 1, "refused": 1, "pending": 0} {
		items, err := s.BulkItems(ctx, domain.BulkItemFilter{Bulk: b.ID, State: state, Limit: 10})
		if must("items", err); len(items) != want {
			t.Errorf("%s: %+v", state, items)
		}
	}
	list, err := s.Bulks(ctx, 5)
	if must("bulks", err); len(list) != 1 {
		t.Errorf("%+v", list)
	}
	in, err := s.Runs(ctx, domain.RunFilter{Bulk: b.ID})
	if must("runs of a bulk", err); len(in.Items) != 1 || in.Items[0].ID != run {
		t.Errorf("runs of a bulk: %+v", in.Items)
	}
	groups, err := s.FailureGroups(ctx, 10)
	if must("groups", err); len(groups) != 1 || groups[0].Runs != 1 || groups[0].Newest != run || groups[0].Code != "x" ||
		groups[0].Plan.Key != "p" {
		t.Errorf("%+v", groups)
	}
	view := func(f func(tx *Tx) error) error {
		_, _, err := s.Do(Operation{Name: "save-view"}, func(tx *Tx) (string, error) { return "mine", f(tx) })
		return err
	}
	must("save view", view(func(tx *Tx) error {
		return tx.SaveView(domain.SavedView{Owner: "marta", Name: "mine", Query: "by:marta"})
	}))
	views, err := s.SavedViews(ctx, "marta")
	if must("views", err); len(views) != 1 || views[0].Query != "by:marta" {
		t.Errorf("%+v", views)
	}
	must("delete view", view(func(tx *Tx) error {
		if was, err := tx.DeleteView("marta", "mine"); err != nil || was.Query != "by:marta" {
			t.Errorf("deleted %+v, %v", was, err)
		}
		_, err := tx.DeleteView("marta", "mine")
		if domain.CodeOf(err) == domain.CodeNotFound {
			err = nil
		}
		return err
	}))
}

func everyDeliveryQuery(t *testing.T, s *Store, must func(string, error)) {
	t.Helper()
	ctx, now := context.Background(), time.Now()
	_, err := s.Happenings(ctx, 0, 10)
	must("what happened", err)
	d := domain.Delivery{
		ID:        domain.NewID(),
		Channel:   "ops",
		Kind:      "failed",
		Seq:       1,
		GroupKey:  "x",
		Body:      domain.RawJSON("{}"),
		DueAt:     now,
		CreatedAt: now,
	}
	again := d
	again.ID, again.Seq = domain.NewID(), 2
	must("tell", s.AddDeliveries(ctx, 2, []domain.Delivery{d, again}, time.Minute))
	if at, err := s.Notified(ctx); err != nil || at != 2 {
		t.Errorf("told: %d, %v", at, err)
	}
	due, next, err := s.DueDeliveries(ctx, now, 10)
	if must("due", err); len(due) != 1 || due[0].More != 1 || next.IsZero() {
		t.Fatalf("due: %+v %v", due, next)
	}
	repeated, err := s.Repeated(ctx, now, 10)
	if must("repeated", err); len(repeated) != 1 {
		t.Errorf("repeated: %+v", repeated)
	}
	more := again
	more.Seq = 0
	must("tell more", s.AddSummary(ctx, due[0], more))
	due[0].Status, due[0].EndedAt = domain.DeliverySent, now
	must("settle", s.SettleDelivery(ctx, due[0]))
	list, err := s.Deliveries(ctx, "ops", 10)
	if must("list", err); len(list) != 2 {
		t.Errorf("list: %+v", list)
	}
	must("forget", s.ForgetDeliveries(ctx, now.Add(time.Hour)))
	if list, err = s.Deliveries(ctx, "ops", 10); err != nil || len(list) != 1 || list[0].Status != domain.DeliveryPending {
		t.Errorf("after forgetting: %+v %v", list, err)
	}
}

func everyToolQuery(t *testing.T, s *Store, must func(string, error)) {
	t.Helper()
	ctx := context.Background()
	at := time.Now().UTC().Truncate(time.Microsecond)
	one := domain.StoredCircuit{
		Subject:     "tool:http",
		LastCode:    "down",
		LastMessage: "no answer",
		Circuit: domain.Circuit{Part: "a.example", State: domain.CircuitOpen, FailuresInRow: 5,
			Since: at, OpenUntil: at.Add(time.Minute), LastError: "no answer", LastErrorAt: at},
	}
	two := domain.StoredCircuit{Subject: "provider:one", Circuit: domain.Circuit{State: domain.CircuitClosed, FailuresInRow: 1}}
	must("circuits", s.SetCircuits(ctx, []domain.StoredCircuit{one, two}))
	two.FailuresInRow = 2
	must("circuits", s.SetCircuits(ctx, []domain.StoredCircuit{one, two}))
	list, err := s.Circuits(ctx)
	if must("circuits", err); len(list) != 2 || !reflect.DeepEqual(list[0], two) || !reflect.DeepEqual(list[1], one) {
		t.Errorf("circuits: %+v", list)
	}
	must("circuits", s.SetCircuits(ctx, nil))
	if list, err := s.Circuits(ctx); err != nil || len(list) != 0 {
		t.Errorf("circuits that are gone: %+v, %v", list, err)
	}
	pin := domain.ToolPin{Server: "crm", Tool: "find", Hash: "h", Definition: domain.RawJSON(`{"name":"find"}`)}
	must(
		"pin",
		s.PutToolPins(
			ctx,
			[]domain.ToolPin{
				{Server: "crm", Tool: "find", Hash: "older", Definition: domain.RawJSON(`{}`)},
				{Server: "other", Tool: "find", Definition: domain.RawJSON(`{}`)},
			},
		),
	)
	must("pin", s.PutToolPins(ctx, []domain.ToolPin{pin}, domain.AuditRecord{Action: "tool.accept", Actor: "ana"}))
	if pins, err := s.ToolPins(ctx, "crm"); err != nil || !reflect.DeepEqual(pins, []domain.ToolPin{pin}) {
		t.Errorf("pins: %+v, %v", pins, err)
	}
}

// do executes an operation.
func do(s *Store, f func(tx *Tx) error) error {
	_, _, err := s.Do(Operation{Name: "test"}, func(tx *Tx) (string, error) { return "", f(tx) })
	return err
}

func everyUserQuery(t *testing.T, s *Store, must func(string, error)) {
	t.Helper()
	ctx, now := context.Background(), time.Now()
	u := domain.User{ID: domain.NewID(), Name: "marta", Role: domain.RoleAdmin, PasswordHash: "x", CreatedAt: now}
	must("first user", s.CreateFirstUser(ctx, u))
	other := domain.User{ID: domain.NewID(), Name: "otto", Role: domain.RoleViewer, PasswordHash: "x", CreatedAt: now}
	if err := s.CreateFirstUser(ctx, other); domain.CodeOf(err) != domain.CodeConflict {
		t.Errorf("a second first user: %v", err)
	}
	must("user", s.CreateUser(ctx, other))
	other.Role = domain.RoleAuthor
	must("update", do(s, func(tx *Tx) error { return tx.ChangeUser(other, domain.UserChange{}) }))
	got, err := s.User(ctx, "otto")
	if must("user", err); got.Role != domain.RoleAuthor {
		t.Errorf("user: %+v", got)
	}
	other.Issuer, other.Subject = "https://login.example", "7"
	must("link", do(s, func(tx *Tx) error { return tx.ChangeUser(other, domain.UserChange{}) }))
	if got, err := s.UserByIdentity(ctx, "https://login.example", "7"); err != nil || got.ID != other.ID {
		t.Errorf("by identity: %+v, %v", got, err)
	}
	if _, err := s.UserByIdentity(ctx, "https://elsewhere.example", "7"); domain.CodeOf(err) != domain.CodeNotFound {
		t.Errorf("by the subject alone: %v", err)
	}
	same := u
	same.Issuer, same.Subject = other.Issuer, other.Subject
	if err := do(s, func(tx *Tx) error { return tx.ChangeUser(same, domain.UserChange{}) }); domain.CodeOf(err) != domain.CodeConflict {
		t.Errorf("two users are one person: %v", err)
	}
	all, err := s.Users(ctx)
	if must("users", err); len(all) != 2 {
		t.Errorf("users: %d", len(all))
	}
	if n, err := s.CountUsers(ctx); err != nil || n != 2 {
		t.Errorf("count: %d, %v", n, err)
	}
	for _, hash := range []string{"h1", "h2", "h3"} {
		must(
			"session",
			s.CreateSession(ctx, domain.Session{IDHash: hash, UserID: u.ID, CreatedAt: now, SeenAt: now, ExpiresAt: now.Add(time.Hour)}),
		)
	}
	must("touch", s.TouchSession(ctx, "h1", now.Add(-time.Hour)))
	if got, err := s.SessionByHash(ctx, "h1"); err != nil || got.SeenAt.UnixMicro() != now.UnixMicro() {
		t.Errorf("a session was seen earlier than before: %v, %v", got.SeenAt, err)
	}
	must("delete", s.DeleteSession(ctx, "h1"))
	must("delete", do(s, func(tx *Tx) error { return tx.EndSessions(u.ID, "h3") }))
	if left, err := s.Sessions(ctx, u.ID); err != nil || len(left) != 1 || left[0].IDHash != "h3" {
		t.Errorf("sessions: %+v, %v", left, err)
	}
	must("expired", s.DeleteExpiredSessions(ctx, now.Add(2*time.Hour), time.Time{}))
	if _, err := s.SessionByHash(ctx, "h3"); domain.CodeOf(err) != domain.CodeNotFound {
		t.Errorf("an expired session: %v", err)
	}
	must("second factor", do(s, func(tx *Tx) error { return tx.SetSecondFactor(u.ID, "{}") }))
	if text, err := s.SecondFactor(ctx, u.ID); err != nil || text != "{}" {
		t.Errorf("second factor: %q, %v", text, err)
	}
	must("no second factor", s.ChangeSecondFactor(ctx, u.ID, func(string) (string, error) { return "", nil }))
	if text, err := s.SecondFactor(ctx, u.ID); err != nil || text != "" {
		t.Errorf("a second factor that is gone: %q, %v", text, err)
	}
	tok := domain.Token{
		ID:         domain.NewID(),
		Name:       "ci",
		Prefix:     "kt_",
		SecretHash: "s",
		Role:       domain.RoleOperator,
		Scopes:     []string{"runs:read"},
		CreatedAt:  now,
	}
	must("token", do(s, func(tx *Tx) error { return tx.CreateToken(tok) }))
	must("touch", s.TouchToken(ctx, tok.ID, now, "192.0.2.7"))
	must("revoke", do(s, func(tx *Tx) error { return tx.RevokeToken(tok.ID, now) }))
	must("revoke again", do(s, func(tx *Tx) error { return tx.RevokeToken(tok.ID, now.Add(time.Hour)) }))
	back, err := s.TokenByHash(ctx, "s")
	if must("token", err); back.RevokedAt.UnixMicro() != now.UnixMicro() || !slices.Equal(back.Scopes, tok.Scopes) {
		t.Errorf("token: %+v", back)
	}
	_, err = s.Tokens(ctx)
	must("tokens", err)
}
