package auth

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha1"
	"crypto/subtle"
	"encoding/base32"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
)

// A second factor is a code that changes every 30 seconds (RFC 6238: SHA-1, six digits, as in every
// authenticator app), or a recovery code that works once.
const (
	codeStep     = 30 * time.Second
	codeDigits   = 6
	codeSlack    = 1  // maximum clock difference of the phone, in steps
	codeSecret   = 20 // bytes
	recoveryMany = 10
)

// factor is the stored form of a second factor.
type factor struct {
	Secret []byte   `json:"secret"`
	Step   int64    `json:"step"`  // step of the last used code, because a code is valid only once
	Codes  []string `json:"codes"` // hashes of the unused recovery codes
}

// secondFactors reads the second factors of users and marks codes as used.
type secondFactors struct {
	store *fullDiskStore
	// mu allows one check at a time. On a full disk, only the memory of this process holds which
	// codes were used.
	mu sync.Mutex
}

// of returns a user's second factor, or nil if they have none.
func (s *secondFactors) of(ctx context.Context, userID string) (*factor, error) {
	text, err := s.store.SecondFactor(ctx, userID)
	if err != nil {
		return nil, err
	}
	return factorFrom(text)
}

// factorFrom reads the stored form. It returns nil for an empty text.
func factorFrom(text string) (*factor, error) {
	if text == "" {
		return nil, nil
	}
	var f factor
	if err := json.Unmarshal([]byte(text), &f); err != nil { // an unreadable factor must not allow the login
		return nil, domain.Errorf(domain.CodeCorrupt, "the second factor of a user cannot be read: %w", err)
	}
	return &f, nil
}

// SecondFactor reports whether a user has a second factor, and how many recovery codes are left.
func (s *Service) SecondFactor(ctx context.Context, userID string) (on bool, left int, err error) {
	f, err := s.factors.of(ctx, userID)
	if err != nil || f == nil {
		return false, 0, err
	}
	return true, len(f.Codes), nil
}

// MustEnrol reports whether a user must set up a second factor before anything else: their role
// requires one, they have a password, and they have no second factor.
func (s *Service) MustEnrol(ctx context.Context, u domain.User) (bool, error) {
	if !s.Demanded(u) {
		return false, nil
	}
	f, err := s.factors.of(ctx, u.ID)
	return err == nil && f == nil, err
}

// Demanded reports whether the role of a user requires a second factor.
func (s *Service) Demanded(u domain.User) bool {
	w := s.access.Load()
	return u.PasswordHash != "" && !w.NoPassword &&
		slices.ContainsFunc(w.SecondFactorFor, func(r domain.Role) bool { return u.Role.Includes(r) })
}

// NewSecondFactor returns a new secret in base32 for an authenticator app. It takes effect when it
// is enabled.
func (s *Service) NewSecondFactor() string {
	var b [codeSecret]byte
	rand.Read(b[:]) // never fails
	return codeText.EncodeToString(b[:])
}

var codeText = base32.StdEncoding.WithPadding(base32.NoPadding)

// Enrollment is a second factor whose possession the user has proved.
type Enrollment struct {
	Stored string   // the form to store
	Codes  []string // recovery codes, which are shown only once
}

// Enroll verifies a new second factor with a code of its secret. It returns CodeConflict for a user
// without a password, CodeInvalid, or CodeTooMany.
func (s *Service) Enroll(u domain.User, secret, code string) (Enrollment, error) {
	if u.PasswordHash == "" {
		return Enrollment{}, domain.Errorf(domain.CodeConflict, "you log in without a password").
			Suggest("set up the second factor at the identity provider")
	}
	raw, err := codeText.DecodeString(strings.ToUpper(strings.TrimSpace(secret)))
	if err != nil || len(raw) != codeSecret {
		return Enrollment{}, domain.Errorf(domain.CodeInvalid, "this secret was not created here").Suggest("start again")
	}
	now := s.clock.now()
	counter := "code:" + u.Name
	if wait, _ := s.throttle.allow(now, counter, counter); wait > 0 {
		return Enrollment{}, tooMany(wait)
	}
	step, ok := matches(raw, code, now, 0)
	if !ok {
		return Enrollment{}, domain.Errorf(domain.CodeInvalid, "this code is not the current one").
			Suggest("check the time on both devices, then enter the next code")
	}
	s.throttle.succeeded(now, counter, counter)
	f := factor{Secret: raw, Step: step}
	codes := make([]string, recoveryMany)
	for i := range codes {
		text := strings.ToLower(rand.Text()[:16])
		codes[i] = text[:4] + "-" + text[4:8] + "-" + text[8:12] + "-" + text[12:]
		f.Codes = append(f.Codes, hashOf(plainCode(codes[i])))
	}
	stored, err := f.text()
	return Enrollment{stored, codes}, err
}

// text returns the stored form of a second factor.
func (f *factor) text() (string, error) {
	raw, err := json.Marshal(f)
	return string(raw), err
}

// check verifies a code or a recovery code and marks it as used. A code matches only if it is newer
// than the last one that was used.
func (s *secondFactors) check(ctx context.Context, userID, code string, now time.Time) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	matched := false
	err := s.store.ChangeSecondFactor(ctx, userID, func(text string) (string, error) {
		f, err := factorFrom(text)
		if matched = false; err != nil || f == nil {
			return text, err
		}
		if matched = s.useUp(f, userID, code, now); !matched {
			return text, nil
		}
		return f.text()
	})
	if !full(err) {
		return matched && err == nil, err
	}
	// The stored factor does not record a code that was used on a full disk, but this process does.
	// A recovery code must be stored.
	f, readErr := s.of(ctx, userID)
	if readErr != nil || f == nil {
		return false, readErr
	}
	left := len(f.Codes)
	switch {
	case !s.useUp(f, userID, code, now):
		return false, nil
	case len(f.Codes) < left:
		return false, err
	}
	s.store.codeUsed(userID, f.Step)
	return true, nil
}

// useUp verifies a code or a recovery code, and marks it as used in f. It returns false if the code
// does not match.
func (s *secondFactors) useUp(f *factor, userID, code string, now time.Time) bool {
	if plain := plainCode(code); len(plain) == 16 {
		hash := hashOf(plain)
		i := slices.IndexFunc(f.Codes, func(h string) bool { return subtle.ConstantTimeCompare([]byte(h), []byte(hash)) == 1 })
		if i < 0 {
			return false
		}
		f.Codes = slices.Delete(f.Codes, i, i+1)
		return true
	}
	step, ok := matches(f.Secret, code, now, s.store.lastCode(userID, f.Step))
	if ok {
		f.Step = step
	}
	return ok
}

// plainCode removes separators from a recovery code.
func plainCode(code string) string {
	return strings.Map(func(r rune) rune {
		if r == '-' || r == ' ' {
			return -1
		}
		return r
	}, strings.ToLower(strings.TrimSpace(code)))
}

// matches finds the step of a code, which must be later than the last used one.
func matches(secret []byte, code string, now time.Time, used int64) (int64, bool) {
	code = strings.ReplaceAll(strings.TrimSpace(code), " ", "")
	at := now.Unix() / int64(codeStep/time.Second)
	found := int64(0)
	for step := at - codeSlack; step <= at+codeSlack; step++ { // it compares all steps, so that the time reveals nothing
		if subtle.ConstantTimeCompare([]byte(codeAt(secret, step)), []byte(code)) == 1 && step > used {
			found = step
		}
	}
	return found, found > 0
}

// codeAt returns the code of a step (RFC 4226).
func codeAt(secret []byte, step int64) string {
	var counter [8]byte
	binary.BigEndian.PutUint64(counter[:], uint64(step))
	mac := hmac.New(sha1.New, secret)
	mac.Write(counter[:])
	sum := mac.Sum(nil)
	at := sum[len(sum)-1] & 0xf
	n := binary.BigEndian.Uint32(sum[at:at+4]) & 0x7fffffff
	return fmt.Sprintf("%0*d", codeDigits, n%1_000_000)
}

// LoginCode finishes a login that waits for a code of the second factor. A login accepts five codes
// within five minutes.
func (s *Service) LoginCode(ctx context.Context, ticketText, code, address, userAgent string) (string, domain.User, error) {
	now := s.clock.now()
	over := domain.Errorf(domain.CodeUnauthorized, "this login has expired").Suggest("log in again")
	hash := hashOf(ticketText)
	t := s.tickets.use(hash, now)
	if t == nil {
		return "", domain.User{}, over
	}
	u, err := s.store.User(ctx, t.user)
	if err != nil {
		return "", domain.User{}, err
	}
	if u.PasswordHash != t.hash {
		s.tickets.drop(u.ID)
		return "", domain.User{}, over
	}
	who := ActorOf(u, "ui")
	// Codes are counted apart from passwords, and for all logins together, so that a correct
	// password does not allow unlimited guesses.
	counter := "code:" + u.Name
	if wait, first := s.throttle.allow(now, counter, address); wait > 0 {
		if first {
			s.records.denied(ctx, who, "login", "user:"+u.Name, "code, throttled, from "+address)
		}
		return "", domain.User{}, tooMany(wait)
	}
	ok, err := s.factors.check(ctx, u.ID, code, now)
	if err != nil {
		return "", domain.User{}, err
	}
	if !ok || u.Disabled {
		s.records.denied(ctx, who, "login", "user:"+u.Name, "wrong code, from "+address)
		return "", domain.User{}, domain.Errorf(domain.CodeForbidden, "this code is not valid, or was already used").
			Suggest("enter the next code, or a recovery code")
	}
	s.tickets.end(hash)
	s.throttle.succeeded(now, counter, address)
	secret, err := s.openSession(ctx, u, now, address, userAgent,
		s.records.success(ctx, who, "login", "user:"+u.Name, "with a code, from "+address)...)
	if err != nil {
		return "", domain.User{}, err
	}
	s.throttle.succeeded(now, u.Name, address)
	return secret, u, nil
}
