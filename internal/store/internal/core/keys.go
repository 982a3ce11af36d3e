package core

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/testing/failpoint"
)

// Fingerprint identifies a server without revealing its key.
func Fingerprint(instanceKey string) string {
	sum := sha256.Sum256([]byte("fingerprint:" + instanceKey))
	return hex.EncodeToString(sum[:8])
}

// KeySize is the length of the key in the key file, in bytes.
const KeySize = 32

// Derived contains the keys that are derived from the key file.
type Derived struct {
	Print    string      // fingerprint of the key
	Access   []byte      // seals rows that grant access
	Manifest []byte      // authenticates manifests of backups
	Secrets  cipher.AEAD // encrypts settings that are secret
	Signing  ed25519.PrivateKey
}

// deriveKey derives the key for one purpose.
func deriveKey(key []byte, purpose string) []byte {
	derived, err := hkdf.Key(sha256.New, key, nil, "kairosd "+purpose, 32)
	if err != nil {
		panic(err) // fails only for much longer keys
	}
	return derived
}

// SetKey sets the content of the key file, and derives the other keys. A nil key is unknown.
func (k *Secrets) SetKey(key []byte) {
	k.AuditKey, k.Derived = key, Derived{}
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
	k.Derived = Derived{
		Print:    keyPrint(key),
		Access:   deriveKey(key, "rows that grant access"),
		Manifest: deriveKey(key, "backup manifest"),
		Secrets:  aead,
		Signing:  ed25519.NewKeyFromSeed(deriveKey(key, "audit signature")),
	}
}

// keyPrint returns the fingerprint of a key.
func keyPrint(key []byte) string { return hex.EncodeToString(deriveKey(key, "fingerprint")[:8]) }

// Secrets contains the server's secrets.
type Secrets struct {
	Generation  string
	InstanceKey []byte
	AuditKey    []byte // the content of the key file
	Derived     Derived
}

// RandomBytes returns n random bytes for a key.
func RandomBytes(n int) []byte {
	b := make([]byte, n)
	rand.Read(b) // never fails (crypto/rand)
	return b
}

// LoadKey reads a 32-byte key from a file with mode 0600. If the file is missing, it creates the
// file with a new key, and syncs it before the key is used.
func LoadKey(path string) ([]byte, error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		key := RandomBytes(KeySize)
		if err := writeSynced(path, []byte(hex.EncodeToString(key)+"\n"), func() {}, func() {}); err != nil {
			return nil, domain.Errorf(domain.CodeUnavailable, "cannot write the key file: %w", err)
		}
		failpoint.Hit("create.key")
		return key, nil
	}
	if err != nil {
		return nil, domain.Errorf(domain.CodeUnavailable, "cannot read the key file: %w", err)
	}
	key, err := hex.DecodeString(string(b[:min(2*KeySize, len(b))]))
	if err != nil || len(key) != KeySize {
		return nil, domain.Errorf(domain.CodeCorrupt, "the key file %s does not hold a key", path).
			Suggest("restore the key file from your copy")
	}
	return key, nil
}

// ReadKey loads the key file next to the database, if there is a complete one.
func (d *DB) ReadKey() {
	if text, err := os.ReadFile(d.Path + ".key"); err == nil {
		if key, err := hex.DecodeString(string(text[:min(2*KeySize, len(text))])); err == nil && len(key) == KeySize {
			d.Secrets.SetKey(key)
		}
	}
}
