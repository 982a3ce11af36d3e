package core

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/kairosd/kairosd/internal/domain"
)

// ScopeOf is one word for an owner and a session, so that the index of words
// can look only where it may.
func ScopeOf(owner, session string) string {
	sum := sha256.Sum256([]byte(owner + "\x00" + session))
	return "s" + hex.EncodeToString(sum[:12])
}

// ClipMemory cuts a text to what one memory may hold.
func ClipMemory(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) > domain.MaxMemory {
		s = strings.ToValidUTF8(s[:domain.MaxMemory], "") + "…"
	}
	return s
}
