// Package hook receives deliveries: requests of other systems that start runs or send signals.
package hook

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/kairosd/kairosd/internal/domain"
)

// maxKey is the maximum length of the ID of an event at its sender.
const maxKey = 256

// replayPrefix begins the keys of replays. No event may use it.
const replayPrefix = "replay:"

// refuse returns err with a code and a reason.
func refuse(code domain.Code, reason string, err *domain.Error) error {
	err.Code, err.Reason = code, reason
	return err
}

func badSignature() error {
	return refuse(domain.CodeUnauthorized, "hook.signature", domain.Errorf(domain.CodeUnauthorized,
		"the signature or the token is not valid"))
}

// verify checks that a request comes from the owner of the secret, and that its timestamp is near now.
func verify(scheme domain.HookScheme, secret string, h http.Header, body []byte, now time.Time) error {
	if strings.TrimPrefix(secret, "whsec_") == "" {
		return badSignature()
	}
	switch scheme {
	case domain.HookStandard:
		w, err := standardwebhooks.NewWebhook(secret)
		if err != nil { // not base64: the bytes are the key
			w, err = standardwebhooks.NewWebhookRaw([]byte(secret))
		}
		if err != nil || w.VerifyIgnoringTimestamp(body, h) != nil {
			return badSignature()
		}
		return near(h.Get(standardwebhooks.HeaderWebhookTimestamp), now)
	case domain.HookGitHub:
		sent, ok := strings.CutPrefix(h.Get("X-Hub-Signature-256"), "sha256=")
		if !ok || !signed(secret, sent, body) {
			return badSignature()
		}
		return nil
	case domain.HookStripe:
		at, signatures := stripeHeader(h.Get("Stripe-Signature"))
		for _, sent := range signatures {
			if signed(secret, sent, []byte(at+"."), body) {
				return near(at, now)
			}
		}
		return badSignature()
	case domain.HookSlack:
		at := h.Get("X-Slack-Request-Timestamp")
		sent, ok := strings.CutPrefix(h.Get("X-Slack-Signature"), "v0=")
		if !ok || !signed(secret, sent, []byte("v0:"+at+":"), body) {
			return badSignature()
		}
		return near(at, now)
	case domain.HookBearer:
		sent, ok := strings.CutPrefix(h.Get("Authorization"), "Bearer ")
		a, b := sha256.Sum256([]byte(sent)), sha256.Sum256([]byte(secret))
		if !ok || subtle.ConstantTimeCompare(a[:], b[:]) != 1 {
			return badSignature()
		}
		return nil
	}
	return badSignature()
}

// signed reports whether sent is the HMAC of the parts, in hexadecimal digits.
func signed(secret, sent string, parts ...[]byte) bool {
	given, err := hex.DecodeString(sent)
	if err != nil {
		return false
	}
	mac := hmac.New(sha256.New, []byte(secret))
	for _, p := range parts {
		mac.Write(p)
	}
	return hmac.Equal(given, mac.Sum(nil))
}

// maxSignatures limits the signatures of one request.
const maxSignatures = 8

// stripeHeader parses t=TIME,v1=SIGNATURE,v1=SIGNATURE.
func stripeHeader(text string) (at string, signatures []string) {
	for part := range strings.SplitSeq(text, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		switch {
		case name == "t":
			at = value
		case name == "v1" && len(signatures) < maxSignatures:
			signatures = append(signatures, value)
		}
	}
	return at, signatures
}

// near checks a timestamp in seconds.
func near(text string, now time.Time) error {
	seconds, err := strconv.ParseInt(text, 10, 64)
	at := time.Unix(seconds, 0)
	if err != nil || at.Before(now.Add(-domain.HookTolerance)) || at.After(now.Add(domain.HookTolerance)) {
		return refuse(domain.CodeInvalid, "hook.timestamp", domain.Errorf(domain.CodeInvalid,
			"the timestamp is more than %d minutes from the time of this server", int(domain.HookTolerance/time.Minute)).
			Suggest("send the event again with a new timestamp, or check the clocks"))
	}
	return nil
}

// eventID returns the ID of the event at its sender: a header, or a member of the body.
func eventID(scheme domain.HookScheme, h http.Header, body any) (string, error) {
	m, _ := body.(map[string]any)
	member := func(names ...string) string {
		for _, n := range names {
			if s, ok := m[n].(string); ok && s != "" {
				return s
			}
		}
		return ""
	}
	var id, where string
	switch scheme {
	case domain.HookStandard:
		id, where = h.Get(standardwebhooks.HeaderWebhookID), "webhook-id"
	case domain.HookGitHub:
		id, where = h.Get("X-GitHub-Delivery"), "X-GitHub-Delivery"
	case domain.HookStripe:
		id, where = member("id"), "id of the body"
	case domain.HookSlack:
		id, where = member("event_id", "trigger_id"), "event_id of the body"
	case domain.HookBearer:
		id, where = h.Get("Idempotency-Key"), "Idempotency-Key"
	}
	if !validID(id) {
		return "", refuse(domain.CodeInvalid, "hook.id", domain.Errorf(domain.CodeInvalid, "the event has no valid ID: %s", where).
			Suggest("send an ID of 1 to %d characters that is the same when the event is sent again", maxKey))
	}
	return id, nil
}

func validID(id string) bool {
	return id != "" && len(id) <= maxKey && utf8.ValidString(id) && !strings.HasPrefix(id, replayPrefix) &&
		!strings.ContainsFunc(id, func(r rune) bool { return r < ' ' || r == 0x7f })
}

// challenge returns the text of a request with which Slack checks the address of a hook, or nothing.
func challenge(scheme domain.HookScheme, body any) string {
	m, _ := body.(map[string]any)
	if text, ok := m["challenge"].(string); ok && scheme == domain.HookSlack && m["type"] == "url_verification" {
		return clip(text)
	}
	return ""
}
