package core

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/kairosd/kairosd/internal/domain"
)

// ScopeOf returns a single word for an owner and a session, so that a search in the index of words
// is limited to it.
func ScopeOf(owner, session string) string {
	sum := sha256.Sum256([]byte(owner + "\x00" + session))
	return "s" + hex.EncodeToString(sum[:12])
}

// ClipMemory shortens a text to the maximum length of a memory.
func ClipMemory(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) > domain.MaxMemory {
		s = strings.ToValidUTF8(s[:domain.MaxMemory], "") + "…"
	}
	return s
}
