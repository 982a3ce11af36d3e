package crashtest

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store"
	"github.com/kairosd/kairosd/internal/store/recovery"
)

// quickActions are the actions of a normal test run.
var quickActions = map[string]bool{"start": true, "fork": true, "note": true, "decide": true, "log in": true}

// actions are operations of people and programs on objects.
func actions(s objects) []operation {
	type done = func(context.Context, *instance) (bool, error)
	run := func(name string, is func(domain.Run) bool) done {
		return func(ctx context.Context, inst *instance) (bool, error) {
			r, err := inst.api.FindRun(ctx, s[name])
			return err == nil && is(r), err
		}
	}
	// database checks data that the API does not return.
	database := func(is func(context.Context, *store.Store) (bool, error)) done {
		return func(ctx context.Context, inst *instance) (ok bool, err error) {
			db, err := store.Open(ctx, filepath.Join(inst.data(), "kairos.db"), store.Options{ReadOnly: true})
			if err != nil {
				return false, err
			}
			defer db.Close() // it was only read
			return is(ctx, db)
		}
	}
	// more checks that the filter matches one run, which did not exist before.
	more := func(f domain.RunFilter) done {
		return database(func(ctx context.Context, db *store.Store) (bool, error) {
			list, err := db.Runs(ctx, f)
			if n := len(list.Items); err == nil && n > 1 {
				err = fmt.Errorf("%d runs exist instead of one", n)
			}
			return len(list.Items) == 1, err
		})
	}
	plan := func(key string, is func(domain.Plan) bool) done {
		return database(func(ctx context.Context, db *store.Store) (bool, error) {
			p, err := db.Plan(ctx, key)
			if domain.CodeOf(err) == domain.CodeNotFound {
				return false, nil
			}
			return err == nil && is(p), err
		})
	}
	acknowledged := func(ctx context.Context, db *store.Store) (bool, error) {
		groups, err := db.FailureGroups(ctx, 10)
		return len(groups) == 0 || groups[0].Ack != nil, err
	}
	verb := func(name, of string, action domain.Action, body string, d done) operation {
		method, path := http.MethodPost, "/runs/"+s[of]
		switch action {
		case domain.ActionLimits:
			method = http.MethodPatch
		case domain.ActionUnpause:
			path += "/unpause"
		case domain.ActionRetryNow, domain.ActionRelease:
			path += "/resume"
		default:
			path += "/" + string(action)
		}
		return operation{
			name:   name,
			method: method,
			path:   path,
			body:   body,
			action: "run." + string(action),
			once:   true,
			done:   d,
		}
	}
	list := []operation{
		{
			name:   "start",
			method: http.MethodPost,
			path:   "/runs",
			body:   `{"plan": "naps", "labels": {"mark": "new"}}`,
			action: "run.created",
			once:   true,
			done:   more(domain.RunFilter{Labels: map[string]string{"mark": "new"}}),
		},
		verb(
			"cancel",
			"naps",
			domain.ActionCancel,
			`{"reason": "enough"}`,
			run("naps", func(r domain.Run) bool { return r.Status == domain.RunCancelled }),
		),
		verb("pause", "naps", domain.ActionPause, `{}`, run("naps", func(r domain.Run) bool { return r.Paused })),
		verb("unpause", "paused", domain.ActionUnpause, `{}`, run("paused", func(r domain.Run) bool { return !r.Paused })),
		verb("retry now", "tries", domain.ActionRetryNow, `{}`, database(func(ctx context.Context, db *store.Store) (bool, error) {
			rows, err := db.Journal(ctx, s["tries"], 0)
			return slices.ContainsFunc(rows, func(e domain.Entry) bool {
				return e.Kind == domain.EntryAction && strings.Contains(string(e.Decision), "retry-now")
			}), err
		})),
		verb(
			"resume",
			"fails",
			domain.ActionResume,
			`{"reason": "again"}`,
			database(func(ctx context.Context, db *store.Store) (bool, error) {
				rows, err := db.Journal(ctx, s["fails"], 0)
				n := 0
				for _, e := range rows {
					if e.Kind == domain.EntryReset {
						n++
					}
				}
				if n > 1 {
					err = fmt.Errorf("it was resumed %d times", n)
				}
				return n == 1, err
			}),
		),
		verb("rerun", "kept", domain.ActionRerun, `{"reason": "once more"}`, more(domain.RunFilter{RelatedTo: s["kept"]})),
		verb("fork", "kept", domain.ActionFork, `{"reason": "from here", "seq": 0}`, more(domain.RunFilter{RelatedTo: s["kept"]})),
		verb(
			"limits",
			"naps",
			domain.ActionLimits,
			`{"raise": {"maxSteps": 77}}`,
			run("naps", func(r domain.Run) bool { return r.Limits.MaxSteps == 100_077 }),
		), // once
		{
			name:   "delete",
			method: http.MethodDelete,
			path:   "/runs/" + s["fails"],
			action: "run.delete",
			done:   run("fails", func(r domain.Run) bool { return !r.DeletedAt.IsZero() }),
		},
		{name: "resolve", method: http.MethodPost, path: "/runs/" + s["doubts"] + "/nodes/pay/resolve", action: "node.resolve", once: true,
			body: `{"visit": 1, "attempt": 1, "action": "happened", "output": {"ok": true}, "reason": "seen"}`,
			done: run("doubts", func(r domain.Run) bool { return r.WaitReason != domain.WaitInDoubt })},
		{
			name:   "decide",
			method: http.MethodPost,
			path:   "/approvals/" + s["approval"] + "/decide",
			body:   `{"answer": "approve", "comment": "yes"}`,
			action: "approval.decide",
			once:   true,
			done: func(ctx context.Context, inst *instance) (bool, error) {
				a, err := inst.api.Approval(ctx, s["approval"])
				return a.Status == "approved", err
			},
		},
		{
			name:   "assign",
			method: http.MethodPost,
			path:   "/approvals/" + s["approval"] + "/assign",
			body:   `{"assignee": "marta"}`,
			action: "approval.assign",
			once:   true,
			done: func(ctx context.Context, inst *instance) (bool, error) {
				a, err := inst.api.Approval(ctx, s["approval"])
				return a.Assignee == "marta", err
			},
		},
		{
			name:   "note",
			method: http.MethodPost,
			path:   "/runs/" + s["naps"] + "/notes",
			body:   `{"text": "let it sleep"}`,
			action: "run.note",
			once:   true,
			done: func(ctx context.Context, inst *instance) (bool, error) {
				notes, err := inst.api.Notes(ctx, s["naps"])
				if len(notes) > 1 {
					err = fmt.Errorf("%d notes", len(notes))
				}
				return len(notes) == 1, err
			},
		},
		{
			name:   "acknowledge",
			method: http.MethodPost,
			path:   "/failure-groups/any/acknowledgement",
			body:   `{"plan": "fails", "node": "call", "code": "http_404", "note": "known"}`,
			action: "failure.acknowledge",
			done:   database(acknowledged),
		},
		{
			name:   "bulk",
			method: http.MethodPost,
			path:   "/bulk-operations",
			body:   `{"action": "label", "filter": "plan:naps", "labels": {"batch": "7"}, "reason": "sorting"}`,
			action: "bulk.label",
			done: database(func(ctx context.Context, db *store.Store) (bool, error) {
				all, err := db.Bulks(ctx, 10)
				if len(all) > 1 {
					err = fmt.Errorf("%d bulk acts", len(all))
				}
				return len(all) == 1, err
			}),
		},
		{
			name:   "save a plan",
			method: http.MethodPost,
			path:   "/plans",
			body:   "id: fresh\nnodes:\n  a: {type: set, input: 1}\n",
			action: "plan.version",
			done:   plan("fresh", func(domain.Plan) bool { return true }),
		},
		{
			name:   "archive a plan",
			method: http.MethodPost,
			path:   "/plans/keeps/archive",
			body:   `{"reason": "old"}`,
			action: "plan.archive",
			once:   true,
			done:   plan("keeps", func(p domain.Plan) bool { return p.Archived }),
		},
		{
			name:   "accept a plan",
			method: http.MethodPost,
			path:   "/plans/" + s["draft"] + "/accept",
			body:   `{"reason": "good"}`,
			action: "plan.accept",
			done:   plan(s["draft"], func(p domain.Plan) bool { return p.Stage == domain.StageUsed }),
		},
		{
			name:   "make a token",
			method: http.MethodPost,
			path:   "/tokens",
			body:   `{"name": "fresh", "role": "viewer"}`,
			action: "token.create",
			again:  true,
			done: func(ctx context.Context, inst *instance) (bool, error) {
				tokens, err := inst.api.Tokens(ctx)
				return slices.ContainsFunc(tokens, func(t domain.Token) bool { return t.Name == "fresh" }), err
			},
		},
		{name: "revoke a token", method: http.MethodDelete, path: "/tokens/" + s["token"], action: "token.revoke", again: true,
			done: func(ctx context.Context, inst *instance) (bool, error) {
				tokens, err := inst.api.Tokens(ctx)
				return slices.ContainsFunc(tokens, func(t domain.Token) bool { return t.ID == s["token"] && !t.RevokedAt.IsZero() }), err
			}},
		{
			name:   "make a user",
			method: http.MethodPost,
			path:   "/users",
			body:   `{"name": "olga", "password": "a long enough password", "role": "viewer"}`,
			action: "user.create",
			done: func(ctx context.Context, inst *instance) (bool, error) {
				users, err := inst.api.Users(ctx)
				return slices.ContainsFunc(users, func(u domain.User) bool { return u.Name == "olga" }), err
			},
		},
		{
			name:   "change a user",
			method: http.MethodPatch,
			path:   "/users/marta",
			body:   `{"role": "viewer"}`,
			action: "user.update",
			again:  true,
			done: func(ctx context.Context, inst *instance) (bool, error) {
				users, err := inst.api.Users(ctx)
				return slices.ContainsFunc(users, func(u domain.User) bool { return u.Name == "marta" && u.Role == domain.RoleViewer }), err
			},
		},
		{
			name:   "log in",
			page:   true,
			method: http.MethodPost,
			path:   "/login",
			body:   form("name", "marta", "password", "a long enough password"),
			action: "login",
			again:  true,
			done: database(func(ctx context.Context, db *store.Store) (bool, error) {
				u, err := db.User(ctx, "marta")
				if err != nil {
					return false, err
				}
				sessions, err := db.Sessions(ctx, u.ID)
				return len(sessions) > 0, err
			}),
		},
		{
			name:   "set up",
			page:   true,
			method: http.MethodPost,
			path:   "/setup",
			body:   form("name", "first", "password", "a long enough password"),
			action: "setup",
			done: func(ctx context.Context, inst *instance) (bool, error) {
				users, err := inst.api.Users(ctx)
				return len(users) == 1, err
			},
		},
		{
			name:   "maintain",
			method: http.MethodPut,
			path:   "/system/maintenance",
			body:   `{"reason": "repairs"}`,
			action: "maintenance.begin",
			done: func(ctx context.Context, inst *instance) (bool, error) {
				i, err := inst.api.Server(ctx)
				return i.Maintenance != nil, err
			},
		},
		{
			name:   "forget",
			method: http.MethodDelete,
			path:   "/sessions/the%20session/memory?reason=asked",
			action: "memory.forget",
			again:  true,
			done: func(ctx context.Context, inst *instance) (bool, error) {
				list, err := inst.api.MemorySessions(ctx, "", domain.Page{})
				return !slices.ContainsFunc(list.Items, func(m domain.MemorySession) bool { return m.Session == "the session" }), err
			},
		},
		{name: "back up", method: http.MethodPost, path: "/system/backup", body: `{}`, action: "store.backup", steps: true,
			done: func(_ context.Context, inst *instance) (bool, error) {
				found, err := filepath.Glob(filepath.Join(inst.data(), "backups", "*"+recovery.ManifestSuffix))
				for _, m := range found {
					if _, statErr := os.Stat(strings.TrimSuffix(m, recovery.ManifestSuffix)); statErr != nil {
						err = fmt.Errorf("a manifest without its backup: %w", statErr)
					}
				}
				return len(found) > 0, err
			}},
		{name: "retain", method: http.MethodPost, path: "/system/retention", body: `{}`, action: "store.retention", steps: true,
			done: run("kept", func(r domain.Run) bool { return !r.PurgedAt.IsZero() })},
	}
	if s["kills"] != "" {
		list = append(
			list,
			verb(
				"release",
				"kills",
				domain.ActionRelease,
				`{"reason": "looked at", "release": true}`,
				run("kills", func(r domain.Run) bool { return r.WaitReason != domain.WaitQuarantined }),
			),
		)
	}
	return list
}
