// Package encrypt reads the age keys that encrypt and decrypt backups.
package encrypt

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"filippo.io/age"

	"github.com/kairosd/kairosd/internal/domain"
)

// Recipients parses public keys, and checks that age can combine them, because post-quantum keys
// cannot be combined with others. An empty list returns none.
func Recipients(keys []string) ([]age.Recipient, error) {
	var out []age.Recipient
	for i, key := range keys {
		key = strings.TrimSpace(key)
		if strings.HasPrefix(key, "AGE-SECRET-KEY-") { // the message must not repeat a private key
			return nil, domain.Errorf(domain.CodeInvalid, "recipient %d is a private key", i+1).
				Suggest("use its public key (age-keygen -y prints it), and keep the private key off this machine")
		}
		r, err := age.ParseRecipients(strings.NewReader(key))
		if err != nil || len(r) != 1 {
			return nil, domain.Errorf(domain.CodeInvalid, "recipient %d (%.20q) is not an age public key", i+1, key).
				Suggest("create a key pair with age-keygen -o identity.txt; it prints the public key, age1…")
		}
		out = append(out, r...)
	}
	if len(out) == 0 {
		return nil, nil
	}
	if _, err := age.Encrypt(io.Discard, out...); err != nil {
		return nil, domain.Errorf(domain.CodeInvalid, "the recipients cannot be combined: %w", err)
	}
	return out, nil
}

// Identities reads a file of private keys, as age-keygen writes it.
func Identities(path string) ([]age.Identity, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, domain.Errorf(domain.CodeInvalid, "cannot read the identity file: %w", err)
	}
	ids, err := age.ParseIdentities(f)
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, domain.Errorf(domain.CodeInvalid, "%s is not an age identity file: %w", path, err).
			Suggest("use the file that age-keygen -o wrote; decrypt a file with a passphrase with age first")
	}
	return ids, nil
}

// Writer encrypts what is written to it. The file is complete after Close.
func Writer(w io.Writer, to []age.Recipient) (io.WriteCloser, error) {
	out, err := age.Encrypt(w, to...)
	if err != nil {
		return nil, fmt.Errorf("encrypt: %w", err)
	}
	return out, nil
}

// ErrNoIdentity means that the file is not encrypted for any of the identities.
var ErrNoIdentity = errors.New("not encrypted for any of the identities")

// Reader decrypts src with the identities. If none of them fits, the error is ErrNoIdentity.
func Reader(r io.Reader, with []age.Identity) (io.Reader, error) {
	in, err := age.Decrypt(r, with...)
	if _, ok := errors.AsType[*age.NoIdentityMatchError](err); ok {
		return nil, ErrNoIdentity
	} else if err != nil {
		return nil, fmt.Errorf("decrypt: %w", err)
	}
	return in, nil
}
