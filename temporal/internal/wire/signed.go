package wire

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/binary"
	"time"

	"go.temporal.io/sdk/converter"

	"github.com/kairosd/kairosd/internal/domain"
)

// Signed is a request of a person to a run, which kairosd has signed: an action, a resolution, or a decision. Only kairosd has
// the key, so that neither a worker nor anyone with access to the server can decide in the place of a person.
type Signed struct {
	Body      []byte // the request as JSON
	At        time.Time
	Nonce     string
	Signature []byte
}

// maxAge is the age, or the time ahead of the workflow's clock, at which a signature is not valid any more.
const maxAge = 10 * time.Minute

// signedText returns what the signature covers. Lengths precede the parts, so that no two requests have the same text.
func (s *Signed) signedText(run, update string) (text []byte) {
	for _, part := range [][]byte{[]byte("kairosd request 1"), []byte(run), []byte(update), s.Body,
		[]byte(s.At.UTC().Format(time.RFC3339Nano)), []byte(s.Nonce)} {
		text = binary.BigEndian.AppendUint64(text, uint64(len(part)))
		text = append(text, part...)
	}
	return text
}

// Sign signs a request to a run.
func Sign(key ed25519.PrivateKey, run, update string, request any, now time.Time) (Signed, error) {
	body, err := encodeJSON(request)
	if err != nil {
		return Signed{}, err
	}
	s := Signed{Body: body, At: now.UTC(), Nonce: rand.Text()}
	s.Signature = ed25519.Sign(key, s.signedText(run, update))
	return s, nil
}

// Admits reports whether kairosd has signed that a run is admitted. It may arrive late, and more than once. Without a key, a signature is
// not needed.
func (s *Signed) Admits(key ed25519.PublicKey, run string) bool {
	return len(key) == 0 || len(key) == ed25519.PublicKeySize && ed25519.Verify(key, s.signedText(run, AdmitSignal), s.Signature)
}

// Open decodes a request to a run into a pointer. With a key, the request must be signed; it returns the nonce of the signature,
// which a run accepts once. Without a key, it returns "". If now is zero, the age of the signature does not matter.
//
// Errors: forbidden (the request has no valid signature), invalid (it cannot be decoded).
func Open(raw converter.RawValue, key ed25519.PublicKey, run, update string, now time.Time, request any) (nonce string, err error) {
	data := raw.Payload().GetData()
	var s Signed
	if err := decodeJSON(data, &s); err == nil && len(s.Body) > 0 {
		data = s.Body
	}
	if len(key) > 0 {
		switch age := now.Sub(s.At); {
		case len(s.Signature) == 0:
			return "", domain.Errorf(domain.CodeForbidden, "kairosd must sign requests to this run").
				Suggest("use the dashboard, or kairos, in place of kairos-temporal")
		case len(key) != ed25519.PublicKeySize || !ed25519.Verify(key, s.signedText(run, update), s.Signature):
			return "", domain.Errorf(domain.CodeForbidden, "the signature of the request is not valid")
		case !now.IsZero() && (age > maxAge || age < -maxAge):
			return "", domain.Errorf(domain.CodeForbidden, "the request was signed at %s, which is more than %s from now",
				s.At.Format(time.RFC3339), maxAge).Suggest("check the clocks of kairosd and of the Temporal server")
		}
		nonce = s.Nonce
	}
	if err := decodeJSON(data, request); err != nil {
		return "", domain.Errorf(domain.CodeInvalid, "the request cannot be decoded: %w", err)
	}
	return nonce, nil
}
