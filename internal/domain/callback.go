package domain

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"strings"
)

// CallbackEvent is the event that a request to the callback address of a run sends. The key of the event
// is the ID of the run.
const CallbackEvent = "callback"

// CallbackToken returns the token in the callback address of a run. It is derived from a key of the
// server, so that every attempt of a step gets the same address, and it is not stored.
func CallbackToken(key []byte, run string) string {
	m := hmac.New(sha256.New, key)
	m.Write([]byte("callback of run " + run))
	return run + "-" + base64.RawURLEncoding.EncodeToString(m.Sum(nil))
}

// CallbackRun returns the run of a token. It is empty if the token was not made with the key.
func CallbackRun(key []byte, token string) string {
	run, _, ok := strings.Cut(token, "-")
	if !ok || len(token) > 256 || !hmac.Equal([]byte(CallbackToken(key, run)), []byte(token)) {
		return ""
	}
	return run
}

// UnknownCallback returns the error of a callback address that is not valid, was used, or whose run has
// ended. It does not show which.
func UnknownCallback() error {
	err := Errorf(CodeNotFound, "the address is unknown, was used, or has expired")
	err.Reason = "callback.unknown"
	return err
}
