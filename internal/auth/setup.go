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

// setupSecret permits one person to create the first administrator of a new server.
type setupSecret struct {
	hash    string // empty: none
	expires time.Time
}

// NeedsSetup reports whether there are no users yet.
func (s *Service) NeedsSetup(ctx context.Context) (bool, error) {
	n, err := s.store.CountUsers(ctx)
	if err != nil {
		return false, fmt.Errorf("count users: %w", err)
	}
	return n == 0, nil
}

// BeginSetup generates the one-time setup secret of a server without users, for the link
// /setup?token=SECRET, and writes it to the setup file. The secret is valid for an hour and
// replaces an earlier one. If there are users, BeginSetup returns "" and deletes an earlier setup
// file.
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

// Setup uses the one-time setup secret, creates the first administrator, opens a session for them,
// and returns its secret. Of concurrent calls, one succeeds.
func (s *Service) Setup(ctx context.Context, setup, name, password, address, userAgent string) (string, domain.User, error) {
	now := s.clock.now()
	who := domain.Actor{Name: shown(foldName(name)), Role: domain.RoleAdmin, Source: "ui"}
	s.mu.Lock()
	want := s.setup
	s.mu.Unlock()
	valid := want.hash != "" && subtle.ConstantTimeCompare([]byte(hashOf(setup)), []byte(want.hash)) == 1 && now.Before(want.expires)
	if !valid {
		s.records.denied(ctx, who, "setup", "", "invalid or expired setup secret")
		return "", domain.User{}, domain.Errorf(domain.CodeForbidden, "this setup link is invalid, used, or expired").
			Suggest("restart kairosd for a new link, or run: kairosd user add")
	}
	u, err := s.NewUser(ctx, name, password, domain.RoleAdmin, now)
	if err != nil {
		return "", domain.User{}, err
	}
	if err := s.store.CreateFirstUser(ctx, u, s.records.success(ctx, who, "setup", "user:"+u.Name, "")...); err != nil {
		if domain.CodeOf(err) == domain.CodeConflict {
			return "", domain.User{}, domain.Errorf(domain.CodeConflict, "this server is already set up").Suggest("log in")
		}
		return "", domain.User{}, fmt.Errorf("create the first user: %w", err)
	}
	s.EndSetup()
	secret, err := s.openSession(ctx, u, now, address, userAgent)
	return secret, u, err
}

// EndSetup invalidates the setup secret, because there is a first user.
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

// writeSecretFile never writes into an existing file, because another process may have it open, or
// its mode may be too permissive.
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
