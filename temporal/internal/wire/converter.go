package wire

import (
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner/message"
)

// Converter converts the values in histories. It is JSON that omits zero fields, so that an absent value stays absent,
// and keeps the arguments of messages.
func Converter() converter.DataConverter {
	return converter.NewCompositeDataConverter(converter.NewNilPayloadConverter(), converter.NewByteSlicePayloadConverter(),
		converter.NewProtoJSONPayloadConverter(), payloads{})
}

type payloads struct{}

var (
	encodeOptions = json.JoinOptions(jsonv1.DefaultOptionsV1(), json.OmitZeroStructFields(true), json.Deterministic(true),
		jsontext.EscapeForHTML(false), jsontext.EscapeForJS(false), jsontext.PreserveRawStrings(true),
		json.WithMarshalers(json.JoinMarshalers(
			encode(func(m message.Message) storedMessage { return storedMessage{m.Encode(), m.String()} }),
			encode(func(p domain.RunPatch) storedPatch {
				return storedPatch{plainPatch(p), isZero(p.DueAt), isZero(p.EndedAt)}
			}),
			encode(func(e domain.RunError) storedError { return storedError{plainError(e), e.Text} }),
			encode(func(a domain.Approval) storedApproval { return storedApproval{plainApproval(a), a.Text} }),
		)))
	decodeOptions = json.JoinOptions(jsonv1.DefaultOptionsV1(), json.WithUnmarshalers(json.JoinUnmarshalers(
		decode(func(s storedMessage) message.Message { return message.Decode(s.Stored, s.English) }),
		decode(storedPatch.patch),
		decode(func(s storedError) domain.RunError {
			s.plainError.Text = s.Localized
			return domain.RunError(s.plainError)
		}),
		decode(func(s storedApproval) domain.Approval {
			s.plainApproval.Text = s.Localized
			return domain.Approval(s.plainApproval)
		}),
	)))
)

// encode and decode convert values whose own JSON, which clients of the API read, lacks a part.
func encode[T, S any](store func(T) S) *json.Marshalers {
	return json.MarshalToFunc(func(e *jsontext.Encoder, v T) error { return json.MarshalEncode(e, store(v)) })
}

func decode[T, S any](load func(S) T) *json.Unmarshalers {
	return json.UnmarshalFromFunc(func(d *jsontext.Decoder, v *T) error {
		var s S
		if err := json.UnmarshalDecode(d, &s); err != nil {
			return err
		}
		*v = load(s)
		return nil
	})
}

type (
	// storedMessage is a message with its arguments.
	storedMessage struct {
		Stored  string `json:"s,omitempty"`
		English string `json:"e"`
	}
	// storedPatch is a patch whose pointers to a zero time are kept.
	storedPatch struct {
		plainPatch
		NotDue, Reopened bool
	}
	storedError struct {
		plainError
		Localized message.Message
	}
	storedApproval struct {
		plainApproval
		Localized message.Message
	}
	plainPatch    domain.RunPatch
	plainError    domain.RunError
	plainApproval domain.Approval
)

func (s storedPatch) patch() domain.RunPatch {
	if s.NotDue {
		s.DueAt = &time.Time{}
	}
	if s.Reopened {
		s.EndedAt = &time.Time{}
	}
	return domain.RunPatch(s.plainPatch)
}

func isZero(t *time.Time) bool { return t != nil && t.IsZero() }

func (payloads) Encoding() string { return converter.MetadataEncodingJSON }

func encodeJSON(value any) ([]byte, error) { return json.Marshal(value, encodeOptions) }

func decodeJSON(data []byte, value any) error { return json.Unmarshal(data, value, decodeOptions) }

func (p payloads) ToPayload(value any) (*commonpb.Payload, error) {
	data, err := encodeJSON(value)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", converter.ErrUnableToEncode, err)
	}
	return &commonpb.Payload{Metadata: map[string][]byte{converter.MetadataEncoding: []byte(p.Encoding())}, Data: data}, nil
}

func (payloads) FromPayload(payload *commonpb.Payload, value any) error {
	if err := decodeJSON(payload.GetData(), value); err != nil {
		return fmt.Errorf("%w: %w", converter.ErrUnableToDecode, err)
	}
	return nil
}

func (payloads) ToString(payload *commonpb.Payload) string { return string(payload.GetData()) }
