package auth

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"unicode/utf8"

	"github.com/alexedwards/argon2id"
	"golang.org/x/crypto/argon2"

	"github.com/kairosd/kairosd/internal/domain"
)

// Passwords have 12 to 256 characters and are compared byte by byte.
const (
	MinPassword = 12
	MaxPassword = 256
)

// hashParams are OWASP's minimum parameters for argon2id. A hash takes 19 MiB and about 50 ms.
var hashParams = argon2id.Params{Memory: 19 * 1024, Iterations: 2, Parallelism: 1, SaltLength: 16, KeyLength: 32}

const (
	// hashSlots limits the hashes that are computed at once, so that many logins cannot exhaust
	// memory.
	hashSlots = 2
	// hashQueue limits the logins that wait for a slot, to about one second of work.
	hashQueue = 40
)

// CheckPassword returns an error if a password may not be set for a user of that name.
func CheckPassword(name, password string) error {
	switch n := utf8.RuneCountInString(password); {
	case n < MinPassword:
		return domain.Errorf(domain.CodeInvalid, "the password has %d characters; the minimum is %d", n, MinPassword).
			Suggest("use a few words, or a password manager")
	case n > MaxPassword:
		return domain.Errorf(domain.CodeInvalid, "the password has %d characters; the maximum is %d", n, MaxPassword)
	case tooEasy(name, password):
		return domain.Errorf(domain.CodeInvalid, "this password is among the first that an attacker would try").
			Suggest("use a few unrelated words, or a password manager")
	}
	return nil
}

// tooEasy reports long passwords that lists of breached passwords begin with. It also reports
// passwords that consist of the name, of one repeated part, or of a keyboard run.
func tooEasy(name, password string) bool {
	p := strings.ToLower(password)
	for unit := 1; unit <= 4; unit++ {
		if len(p)%unit == 0 && strings.Repeat(p[:unit], len(p)/unit) == p {
			return true
		}
	}
	// Characters around a word make it longer, but not harder to guess.
	rest := strings.Trim(p, "0123456789!.?*#$@-_+ ")
	for _, row := range keyboardRuns {
		if strings.Contains(row, p) || len(rest) >= 4 && strings.Contains(row, rest) {
			return true
		}
	}
	if name != "" && rest == strings.ToLower(name) {
		return true
	}
	if half := len(rest) / 2; half > 0 && rest[:half] == rest[half:] {
		rest = rest[:half]
	}
	return slices.Contains(commonWords, rest)
}

// hasher computes password hashes, a few at a time.
type hasher struct {
	slots   chan struct{}
	waiting atomic.Int32
	// dummy is a hash to compare if there is no user, so that an unknown name takes as long as a
	// wrong password.
	dummy string
}

// newHasher returns a hasher. Its dummy hash is random bytes, because no password may match it.
func newHasher() *hasher {
	b := make([]byte, hashParams.SaltLength+hashParams.KeyLength)
	rand.Read(b) // never fails (crypto/rand)
	salt, key := base64.RawStdEncoding.EncodeToString(
		b[:hashParams.SaltLength],
	), base64.RawStdEncoding.EncodeToString(
		b[hashParams.SaltLength:],
	)
	return &hasher{slots: make(chan struct{}, hashSlots),
		dummy: fmt.Sprintf(
			"$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s",
			argon2.Version,
			hashParams.Memory,
			hashParams.Iterations,
			hashParams.Parallelism,
			salt,
			key,
		)}
}

func (h *hasher) enter(ctx context.Context) (leave func(), err error) {
	if h.waiting.Add(1) > hashSlots+hashQueue {
		h.waiting.Add(-1)
		return nil, tooMany(retrySoon)
	}
	select {
	case h.slots <- struct{}{}:
		return func() { <-h.slots; h.waiting.Add(-1) }, nil
	case <-ctx.Done():
		h.waiting.Add(-1)
		return nil, context.Cause(ctx)
	}
}

func (h *hasher) hash(ctx context.Context, password string) (string, error) {
	leave, err := h.enter(ctx)
	if err != nil {
		return "", err
	}
	defer leave()
	phc, err := argon2id.CreateHash(password, &hashParams)
	if err != nil {
		return "", fmt.Errorf("hash a password: %w", err)
	}
	return phc, nil
}

// check compares a password with a hash. old reports that the hash has outdated parameters. An
// empty phc means that there is no user: it takes the same time and never matches.
func (h *hasher) check(ctx context.Context, password, phc string) (match, old bool, err error) {
	leave, err := h.enter(ctx)
	if err != nil {
		return false, false, err
	}
	defer leave()
	if len(password) > MaxPassword*utf8.UTFMax {
		password = "" // it cannot match; the time stays the same
	}
	known := phc != ""
	if !known {
		phc = h.dummy
	}
	match, params, err := argon2id.CheckHash(password, phc)
	if err != nil {
		return false, false, fmt.Errorf("check a password: %w", err)
	}
	return match && known, *params != hashParams, nil
}
