package store

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/kairosd/kairosd/internal/domain"
)

// The key file beside the database is the server's one secret: it is in no backup
// and is never derived from anything in the database. It keys the audit chain;
// everything else has a key of its own that is derived from it.

// settingKeyPrint holds the fingerprint of the key that the database is sealed with.
const settingKeyPrint = "key_fingerprint"

// keySize is the length of the key in the key file.
const keySize = 32

// derivedKeys are the keys that the key file leads to.
type derivedKeys struct {
	print    string      // names the key without telling anything of it
	access   []byte      // seals rows that grant access
	manifest []byte      // authenticates manifests of backups
	secrets  cipher.AEAD // encrypts settings that are secret
	signing  ed25519.PrivateKey
}

// deriveKey gives the key for one purpose.
func deriveKey(key []byte, purpose string) []byte {
	derived, err := hkdf.Key(sha256.New, key, nil, "kairosd "+purpose, 32)
	if err != nil {
		panic(err) // 32 bytes are never too many
	}
	return derived
}

// setKey takes the content of the key file; nil: it is not known.
func (k *instanceSecrets) setKey(key []byte) {
	k.auditKey, k.derived = key, derivedKeys{}
	if key == nil {
		return
	}
	block, err := aes.NewCipher(deriveKey(key, "stored secrets"))
	if err != nil {
		panic(err) // the key has 32 bytes
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		panic(err) // AES has the right block size
	}
	k.derived = derivedKeys{print: keyPrint(key), access: deriveKey(key, "rows that grant access"), manifest: deriveKey(key, "backup manifest"), secrets: aead,
		signing: ed25519.NewKeyFromSeed(deriveKey(key, "audit signature"))}
}

// keyPrint is the fingerprint of a key.
func keyPrint(key []byte) string { return hex.EncodeToString(deriveKey(key, "fingerprint")[:8]) }

// sealedMark begins a setting that is encrypted.
const sealedMark = "sealed:"

// sealText encrypts the value of a setting, and binds it to the setting's name.
func (s *Store) sealText(name, text string) (string, error) {
	aead := s.secrets.derived.secrets
	if aead == nil {
		return "", errReadOnly()
	}
	nonce := make([]byte, aead.NonceSize())
	rand.Read(nonce) // never fails
	return sealedMark + base64.StdEncoding.EncodeToString(aead.Seal(nonce, nonce, []byte(text), []byte(name))), nil
}

// unsealText decrypts the value of a setting; CodeCorrupt if it was not encrypted
// with this key, under this name.
func (s *Store) unsealText(name, sealed string) (string, error) {
	aead := s.secrets.derived.secrets
	raw, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(sealed, sealedMark))
	if err == nil && (aead == nil || len(raw) < aead.NonceSize() || !strings.HasPrefix(sealed, sealedMark)) {
		err = fmt.Errorf("it is not encrypted with the key file of this server")
	}
	var plain []byte
	if err == nil {
		plain, err = aead.Open(nil, raw[:aead.NonceSize()], raw[aead.NonceSize():], []byte(name))
	}
	if err != nil {
		return "", domain.Errorf(domain.CodeCorrupt, "the setting %q cannot be decrypted: %w", name, err)
	}
	return string(plain), nil
}
