package auth

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
)

// setupSecret lets one person make the first admin of a new installation.
type setupSecret struct {
	hash    string // empty: none
	expires time.Time
}

// NeedsSetup reports whether there is no user yet.
func (s *Service) NeedsSetup(ctx context.Context) (bool, error) {
	n, err := s.store.CountUsers(ctx)
	if err != nil {
		return false, fmt.Errorf("count users: %w", err)
	}
	return n == 0, nil
}

// BeginSetup makes the one-time setup secret of an installation without users,
// for the link /setup?token=SECRET, and writes it to the setup file. It is
// valid for an hour; an earlier one is void. With users it returns "" and
// removes a setup file that was left behind.
func (s *Service) BeginSetup(ctx context.Context) (string, error) {
	needed, err := s.NeedsSetup(ctx)
	if err != nil {
		return "", err
	}
	if !needed {
		return "", s.removeSetupFile()
	}
	secret := newSecret()
	if s.file != "" {
		if err := writeSecretFile(s.file, secret+"\n"); err != nil {
			return "", fmt.Errorf("write the setup secret: %w", err)
		}
	}
	s.mu.Lock()
	s.setup = setupSecret{hash: hashOf(secret), expires: s.clock.source().Add(SetupLifetime)}
	s.mu.Unlock()
	return secret, nil
}

// Setup consumes the one-time setup secret, creates the first admin and opens a
// session for them, whose secret it returns. Of many at once, one succeeds (A25).
func (s *Service) Setup(ctx context.Context, setup, name, password, address, userAgent string) (string, domain.User, error) {
	now := s.clock.now()
	who := domain.Actor{Name: shown(foldName(name)), Role: domain.RoleAdmin, Surface: "ui"}
	s.mu.Lock()
	want := s.setup
	s.mu.Unlock()
	valid := want.hash != "" && subtle.ConstantTimeCompare([]byte(hashOf(setup)), []byte(want.hash)) == 1 && now.Before(want.expires)
	if !valid {
		s.records.denied(ctx, who, "setup", "", "wrong or expired setup secret")
		return "", domain.User{}, domain.Errorf(domain.CodeForbidden, "this setup link is wrong, used or expired").
			Suggest("restart kairosd for a new link, or run: kairosd user add")
	}
	u, err := s.NewUser(ctx, name, password, domain.RoleAdmin, now)
	if err != nil {
		return "", domain.User{}, err
	}
	if err := s.store.CreateFirstUser(ctx, u, s.records.success(ctx, who, "setup", "user:"+u.Name, "")...); err != nil {
		if domain.CodeOf(err) == domain.CodeConflict {
			return "", domain.User{}, domain.Errorf(domain.CodeConflict, "this installation is already set up").Suggest("log in")
		}
		return "", domain.User{}, fmt.Errorf("create the first user: %w", err)
	}
	s.EndSetup()
	secret, err := s.openSession(ctx, u, now, address, userAgent)
	return secret, u, err
}

// EndSetup makes the setup secret void: there is a first user.
func (s *Service) EndSetup() {
	s.mu.Lock()
	s.setup = setupSecret{}
	s.mu.Unlock()
	if err := s.removeSetupFile(); err != nil {
		s.log.Warn("remove the setup file", "err", err)
	}
}

func (s *Service) removeSetupFile() error {
	if s.file == "" {
		return nil
	}
	if err := os.Remove(s.file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the setup file: %w", err)
	}
	return nil
}

// writeSecretFile never writes into a file that was there before: its mode, or
// who has it open, would not be ours.
func writeSecretFile(name, text string) error {
	if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}
