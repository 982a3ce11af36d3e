package auth_test

import (
	"context"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
)

func TestSetup(t *testing.T) {
	t.Parallel()
	f := open(t)
	if need, err := f.NeedsSetup(t.Context()); err != nil || !need {
		t.Fatalf("NeedsSetup = %v, %v", need, err)
	}
	secret, err := f.BeginSetup(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(f.file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("setup file: %v, %v", info, err)
	}
	if text, _ := os.ReadFile(f.file); strings.TrimSpace(string(text)) != secret {
		t.Error("the setup file does not hold the secret")
	}
	_, _, err = f.Setup(t.Context(), "wrong", "marta", good, "192.0.2.1", "test")
	wantCode(t, err, domain.CodeForbidden)
	_, _, err = f.Setup(t.Context(), secret, "marta", "short", "192.0.2.1", "test")
	wantCode(t, err, domain.CodeInvalid)
	_, _, err = f.Setup(t.Context(), secret, "no blanks", good, "192.0.2.1", "test")
	wantCode(t, err, domain.CodeInvalid)

	var wg sync.WaitGroup
	var won atomic.Int32
	for i := range 50 {
		wg.Go(func() {
			if _, _, err := f.Setup(context.WithoutCancel(t.Context()), secret, "admin"+string(rune('a'+i%26)), good, "192.0.2.1",
				"test"); err == nil {
				won.Add(1)
			}
		})
	}
	wg.Wait()
	users, _ := f.Users(t.Context())
	if won.Load() != 1 || len(users) != 1 || users[0].Role != domain.RoleAdmin {
		t.Errorf("A25: %d of 50 won, users %v", won.Load(), users)
	}
	if _, err := os.Stat(f.file); !os.IsNotExist(err) {
		t.Errorf("the setup file is still there: %v", err)
	}
	_, _, err = f.Setup(t.Context(), secret, "again", good, "192.0.2.1", "test")
	wantCode(t, err, domain.CodeForbidden)
	if again, err := f.BeginSetup(t.Context()); err != nil || again != "" {
		t.Errorf("BeginSetup with users = %q, %v", again, err)
	}
}

func TestSetupExpires(t *testing.T) {
	t.Parallel()
	f := open(t)
	first, _ := f.BeginSetup(t.Context())
	second, _ := f.BeginSetup(t.Context())
	_, _, err := f.Setup(t.Context(), first, "marta", good, "192.0.2.1", "test")
	wantCode(t, err, domain.CodeForbidden)
	f.pass(61 * time.Minute)
	_, _, err = f.Setup(t.Context(), second, "marta", good, "192.0.2.1", "test")
	wantCode(t, err, domain.CodeForbidden)
}

// The setup link is void once there is a user, in whatever way the user was created.
func TestTheFirstUserDeletesTheSetupFile(t *testing.T) {
	t.Parallel()
	f := open(t)
	secret, err := f.BeginSetup(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	f.user(t, "marta", domain.RoleAdmin)
	if _, err := os.Stat(f.file); !os.IsNotExist(err) {
		t.Errorf("the file of the setup link is left: %v", err)
	}
	if _, _, err := f.Setup(t.Context(), secret, "mallory", good, "192.0.2.1", "test"); err == nil {
		t.Error("the setup link works")
	}
}
