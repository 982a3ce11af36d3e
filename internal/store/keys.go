package store

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/kairosd/kairosd/internal/domain"
)

// The key file next to the database is the server's root secret. It is not in backups, and it is
// not derived from the database. It is the key of the audit chain. Other keys are derived from it.

// settingKeyPrint holds the fingerprint of the key of the database.
const settingKeyPrint = "key_fingerprint"

// sealedMark is the prefix of an encrypted text.
const sealedMark = "sealed:"

// sealText encrypts a text, and binds it to a name.
func (s access) sealText(name, text string) (string, error) {
	aead := s.store.db.Secrets.Derived.Secrets
	if aead == nil {
		return "", errReadOnly()
	}
	nonce := make([]byte, aead.NonceSize())
	rand.Read(nonce) // never fails
	return sealedMark + base64.StdEncoding.EncodeToString(aead.Seal(nonce, nonce, []byte(text), []byte(name))), nil
}

// unsealText decrypts a text of sealText. It returns CodeCorrupt if the text was not encrypted with
// this key and name.
func (s access) unsealText(name, sealed string) (string, error) {
	aead := s.store.db.Secrets.Derived.Secrets
	raw, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(sealed, sealedMark))
	if err == nil && (aead == nil || len(raw) < aead.NonceSize() || !strings.HasPrefix(sealed, sealedMark)) {
		err = fmt.Errorf("the data was not encrypted with the key file of this server")
	}
	var plain []byte
	if err == nil {
		plain, err = aead.Open(nil, raw[:aead.NonceSize()], raw[aead.NonceSize():], []byte(name))
	}
	if err != nil {
		return "", domain.Errorf(domain.CodeCorrupt, "the %s cannot be decrypted: %w", name, err)
	}
	return string(plain), nil
}
