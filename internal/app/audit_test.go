package app_test

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/app/apptest"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store"
	"github.com/kairosd/kairosd/internal/store/storetest"
)

// A requested verification is in progress until it has a result, even if kairosd ends before it
// starts.
func TestAVerificationOfTheAuditLog(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := storetest.Open(t)
		w := apptest.On(t, s)
		config := w.Config
		config.Checker = store.NewAuditChecker(s, slog.New(slog.DiscardHandler)) // this checker does not run
		a := app.New(config).Audit
		if _, err := a.Verify(t.Context(), app.Meta{By: apptest.Viewer}); domain.CodeOf(err) != domain.CodeForbidden {
			t.Errorf("by a viewer: %v", err)
		}
		check, err := a.Verify(t.Context(), app.Meta{By: apptest.Operator, Key: "k"})
		if err != nil || check.By != "otto" || check.Began.IsZero() {
			t.Fatalf("%+v %v", check, err)
		}
		if again, err := a.Verify(t.Context(), app.Meta{By: apptest.Operator}); err != nil || !again.Began.Equal(check.Began) {
			t.Errorf("while one is in progress: %+v %v", again, err)
		}
		if again, err := a.Verify(t.Context(), app.Meta{By: apptest.Operator, Key: "k"}); err != nil || !again.Began.Equal(check.Began) {
			t.Errorf("the same again: %+v %v", again, err)
		}

		config.Checker = store.NewAuditChecker(s, slog.New(slog.DiscardHandler)) // as after a restart
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); config.Checker.Run(ctx) }()
		synctest.Wait()
		check, err = app.New(config).Audit.Check(t.Context(), apptest.Viewer)
		if err != nil || check.By != "otto" || check.Ended.IsZero() || check.Found != 0 {
			t.Errorf("after a restart: %+v %v", check, err)
		}
		stop()
		<-ended
		if asked := audited(t, w, "audit.verify.begin"); len(asked) != 1 {
			t.Errorf("%d requests are in the audit log, want 1", len(asked))
		}
	})
}

func TestPreferencesBelongToTheirOwner(t *testing.T) {
	t.Parallel()
	w := apptest.New(t)
	if err := w.Preferences.Set(t.Context(), app.Preference{Meta: app.Meta{By: apptest.Viewer, Key: "k"}, Key: "columns",
		Value: "cost"}); err != nil {
		t.Fatal(err)
	}
	for who, want := range map[*domain.Actor]string{&apptest.Viewer: "cost", &apptest.Author: ""} {
		if v, err := w.Preferences.Get(t.Context(), *who, "columns"); err != nil || v != want {
			t.Errorf("%s: %q %v", who.Name, v, err)
		}
	}
	if err := w.Preferences.Set(t.Context(), app.Preference{Key: "columns"}); domain.CodeOf(err) != domain.CodeForbidden {
		t.Errorf("by nobody: %v", err)
	}
}
