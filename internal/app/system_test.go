package app_test

import (
	"context"
	"testing"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/app/apptest"
	"github.com/kairosd/kairosd/internal/domain"
)

var admin = domain.Actor{Name: "ada", Role: domain.RoleAdmin, Source: "ui"}

// server is a server that counts its calls.
type server struct {
	app.NoServer
	on                 *domain.Maintenance
	backups, rotations int
}

func (s *server) Server(context.Context) (domain.Server, error) {
	i := domain.Server{Maintenance: s.on}
	if s.backups > 0 {
		i.Backups = []domain.Backup{{Path: "/backups/one", Bytes: 7}}
	}
	return i, nil
}

func (s *server) Maintain(ctx context.Context, keep app.Recorder, by domain.Actor, on bool, reason string) (*domain.Maintenance, error) {
	if on == (s.on != nil) {
		return nil, domain.Errorf(domain.CodeConflict, "it is so")
	}
	record := domain.AuditRecord{Action: "maintenance.end", Reason: reason}
	if on {
		record.Action = "maintenance.begin"
	}
	if err := keep.SetSettingAs(ctx, "maintenance", "", record); err != nil {
		return nil, err
	}
	if s.on = nil; on {
		s.on = &domain.Maintenance{By: by.Name, Reason: reason}
	}
	return s.on, nil
}

func (s *server) BackUp(context.Context, domain.Actor) (domain.Backup, error) {
	s.backups++
	return domain.Backup{Path: "/backups/one", Bytes: 7}, nil
}

func (s *server) RotateSecret(context.Context, domain.Actor, string, string) error {
	s.rotations++
	return nil
}

func TestMaintenance(t *testing.T) {
	t.Parallel()
	w := apptest.New(t)
	running := &server{}
	w.Config.Server = running
	system := app.New(w.Config).System
	maintain := func(by domain.Actor, key string, on bool) (*domain.Maintenance, error) {
		return system.Maintain(t.Context(), app.MaintenanceChange{Meta: app.Meta{By: by, Key: key}, On: on, Reason: "a new disk"})
	}
	if _, err := maintain(apptest.Viewer, "", true); domain.CodeOf(err) != domain.CodeForbidden || running.on != nil {
		t.Errorf("by a viewer: %v", err)
	}
	for range 2 { // the second time is a repetition
		if m, err := maintain(apptest.Operator, "k", true); err != nil || m == nil || m.By != "otto" {
			t.Errorf("%+v %v", m, err)
		}
	}
	if m, err := maintain(apptest.Operator, "", true); err != nil || m == nil || m.By != "otto" {
		t.Errorf("begun twice: %+v %v", m, err)
	}
	if m, err := maintain(apptest.Operator, "k2", false); err != nil || m != nil {
		t.Errorf("ended: %+v %v", m, err)
	}
	if m, err := maintain(apptest.Operator, "k", true); err != nil || m != nil {
		t.Errorf("the first key again: %+v %v", m, err)
	}
	if begun, ended := audited(t, w, "maintenance.begin"), audited(t, w, "maintenance.end"); len(begun) != 1 || len(ended) != 1 ||
		begun[0].Actor != "otto" {
		t.Errorf("the audit log has %+v and %+v", begun, ended)
	}
}

// An operation with an effect outside the database is executed once per key.
func TestBackupsAndSecrets(t *testing.T) {
	t.Parallel()
	w := apptest.New(t)
	running := &server{}
	w.Config.Server, w.Config.Settings = running, running
	system := app.New(w.Config).System
	rotate := func(by domain.Actor, key string) error {
		_, err := system.RotateSecret(t.Context(), app.SecretChange{Meta: app.Meta{By: by, Key: key}, Name: "BANK"})
		return err
	}
	if _, err := system.BackUp(t.Context(), app.Meta{By: apptest.Author}); domain.CodeOf(err) != domain.CodeForbidden {
		t.Errorf("an author backs up: %v", err)
	}
	if err := rotate(apptest.Author, ""); domain.CodeOf(err) != domain.CodeForbidden {
		t.Errorf("an author rotates a secret: %v", err)
	}
	if _, err := system.TestNotifications(t.Context(), app.ChannelTest{Meta: app.Meta{By: apptest.Author}, Channel: "ops"}); domain.CodeOf(
		err,
	) != domain.CodeForbidden {
		t.Errorf("an author tests a channel: %v", err)
	}
	for range 2 {
		if b, err := system.BackUp(t.Context(), app.Meta{By: admin, Key: "k"}); err != nil || b.Bytes != 7 {
			t.Errorf("%+v %v", b, err)
		}
		if err := rotate(admin, "k"); err != nil {
			t.Error(err)
		}
	}
	if running.backups != 1 || running.rotations != 1 {
		t.Errorf("%d backups and %d rotations, want one of each", running.backups, running.rotations)
	}
	if denied := audited(t, w, "access.denied"); len(denied) != 3 {
		t.Errorf("%d refusals are in the audit log, want 3", len(denied))
	}
	if _, err := w.System.RunRetention(t.Context(), app.RetentionRequest{Meta: app.Meta{By: admin}}); domain.CodeOf(
		err,
	) != domain.CodeUnavailable {
		t.Errorf("without a daemon: %v", err)
	}
	if n, err := w.System.Release(t.Context(), app.HeldRuns{Meta: app.Meta{By: apptest.Operator}}); n != 0 || err != nil {
		t.Errorf("nothing is held: %d, %v", n, err)
	}
}
