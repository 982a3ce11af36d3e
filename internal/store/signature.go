package store

import (
	"context"
	"crypto/ed25519"
	"encoding/hex"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/internal/core"
)

// exportFormat is the version of the signature of exports.
const exportFormat = 1

// SignExport signs the hash of an export and the head of the audit chain with a key derived from
// the key file.
func (s access) SignExport(ctx context.Context, sha256 []byte) (domain.ExportSignature, error) {
	out := domain.ExportSignature{Format: exportFormat, Server: s.store.Instance(), SHA256: hex.EncodeToString(sha256)}
	if _, err := s.store.PublicKey(); err != nil {
		return out, err
	}
	var err error
	if out.Head, err = s.store.q.AuditLast(ctx); err != nil {
		return out, core.Translate(err, "read the audit log")
	}
	if out.Head > 0 {
		mac, err := s.store.q.AuditMac(ctx, out.Head)
		if err != nil {
			return out, core.Translate(err, "read the audit chain")
		}
		out.MAC = hex.EncodeToString(mac)
	}
	out.Sign(s.store.db.Secrets.Derived.Signing)
	return out, nil
}

// PublicKey returns the key that verifies the server's signatures.
func (s access) PublicKey() (string, error) {
	if s.store.db.Secrets.Derived.Signing == nil {
		return "", domain.Errorf(domain.CodeUnavailable, "the key file %s.key is missing, so nothing can be signed", s.store.path).
			Suggest("restore it from your copy")
	}
	return domain.PublicKeyText(s.store.db.Secrets.Derived.Signing.Public().(ed25519.PublicKey)), nil
}
