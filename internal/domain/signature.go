package domain

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"hash"
	"io"
	"strings"
)

// ExportSignature proves the origin of an export to anyone with the server's public key. The server
// signs the hash of the export together with the head of its audit chain.
type ExportSignature struct {
	Format int    `json:"format"` // version of the signature format: 1
	Server string `json:"server"` // fingerprint of the server, as in its backups
	// Head is the newest event of the audit log, and MAC the link of the chain there.
	Head int64  `json:"head"`
	MAC  string `json:"mac"`
	// SHA256 is the hex hash of the export without the signature.
	SHA256    string `json:"sha256"`
	PublicKey string `json:"publicKey"`
	Signature string `json:"signature"` // Ed25519, over all fields above
}

// ExportSigner signs exports.
type ExportSigner interface {
	SignExport(ctx context.Context, sum []byte) (ExportSignature, error)
}

// exportContext separates signatures of exports from other signatures with the same key.
const exportContext = "kairosd export\n"

func (s ExportSignature) signed() []byte {
	s.Signature = ""
	b, err := json.Marshal(s)
	if err != nil {
		panic(err) // the fields are strings and numbers
	}
	return append([]byte(exportContext), b...)
}

// PublicKeyText encodes a public key as text.
func PublicKeyText(key ed25519.PublicKey) string {
	return "ed25519:" + base64.RawURLEncoding.EncodeToString(key)
}

// Sign sets the public key and the signature.
func (s *ExportSignature) Sign(key ed25519.PrivateKey) {
	s.PublicKey = PublicKeyText(key.Public().(ed25519.PublicKey))
	s.Signature = base64.RawURLEncoding.EncodeToString(ed25519.Sign(key, s.signed()))
}

// Verify checks that the server with a public key signed an export with this hash. The error has
// CodeInvalid if publicKey is invalid, and CodeCorrupt if the signature does not match.
func (s ExportSignature) Verify(publicKey string, sum []byte) error {
	key, err := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(strings.TrimSpace(publicKey), "ed25519:"))
	if err != nil || len(key) != ed25519.PublicKeySize {
		return Errorf(CodeInvalid, "%.80q is not a public key", publicKey).
			Suggest("use the key that the server prints: kairosd audit public-key")
	}
	if s.PublicKey != PublicKeyText(key) {
		return Errorf(CodeCorrupt, "the export was signed with another key: %s", s.PublicKey)
	}
	if s.SHA256 != hex.EncodeToString(sum) {
		return Errorf(CodeCorrupt, "the export was changed after it was signed")
	}
	signature, err := base64.RawURLEncoding.DecodeString(s.Signature)
	if err != nil || !ed25519.Verify(key, s.signed(), signature) {
		return Errorf(CodeCorrupt, "the signature of the export is not valid")
	}
	return nil
}

// SignedLines writes the lines of an export and computes their hash. The last line is the
// signature: {"signature": {...}}.
type SignedLines struct {
	to  io.Writer
	sum hash.Hash
}

// NewSignedLines returns a writer of lines.
func NewSignedLines(to io.Writer) *SignedLines { return &SignedLines{to, sha256.New()} }

func (l *SignedLines) Write(b []byte) (int, error) {
	n, err := l.to.Write(b)
	l.sum.Write(b[:n])
	return n, err
}

// signedLine is the last line of a signed export.
type signedLine struct {
	Signature *ExportSignature `json:"signature"`
}

// Sign writes the last line.
func (l *SignedLines) Sign(ctx context.Context, by ExportSigner) error {
	s, err := by.SignExport(ctx, l.sum.Sum(nil))
	if err != nil {
		return err
	}
	b, err := json.Marshal(signedLine{&s})
	if err == nil {
		_, err = l.to.Write(append(b, '\n'))
	}
	return err
}

// VerifyLines verifies an export of lines with the public key of its server. The error has
// CodeCorrupt if the export was changed or signed with another key.
func VerifyLines(from io.Reader, publicKey string) (ExportSignature, int, error) {
	in, sum, lines := bufio.NewReaderSize(from, 1<<16), sha256.New(), 0
	for {
		line, err := in.ReadBytes('\n')
		if err != nil && err != io.EOF {
			return ExportSignature{}, lines, Errorf(CodeUnavailable, "read the export: %w", err)
		}
		if len(line) == 0 {
			return ExportSignature{}, lines, Errorf(CodeCorrupt, "the export has no signature")
		}
		if last := (signedLine{}); bytes.HasPrefix(line, []byte(`{"signature":`)) && json.Unmarshal(line, &last) == nil &&
			last.Signature != nil {
			if _, err := in.ReadByte(); err != io.EOF {
				return *last.Signature, lines, Errorf(CodeCorrupt, "the export continues after its signature")
			}
			return *last.Signature, lines, last.Signature.Verify(publicKey, sum.Sum(nil))
		}
		sum.Write(line)
		lines++
	}
}
