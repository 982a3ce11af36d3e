package connect

import (
	"bytes"
	"errors"
	"testing"

	commonpb "go.temporal.io/api/common/v1"
	"google.golang.org/protobuf/proto"
)

// A value is the same after encryption and decryption. Its payload does not contain it, and another key, a changed byte,
// and a payload without encryption are refused.
func TestPayloadsAreEncrypted(t *testing.T) {
	t.Parallel()
	c, err := Server{Secrets: [][]byte{[]byte("correct horse battery staple")}}.Converter()
	if err != nil {
		t.Fatal(err)
	}
	plain, err := Server{}.Converter()
	if err != nil {
		t.Fatal(err)
	}
	other, err := Server{Secrets: [][]byte{[]byte("another horse battery staple")}}.Converter()
	if err != nil {
		t.Fatal(err)
	}
	value := map[string]string{"iban": "DE89370400440532013000"}
	p, err := c.ToPayload(value)
	if err != nil {
		t.Fatal(err)
	}
	if raw, err := proto.Marshal(p); err != nil || bytes.Contains(raw, []byte("iban")) || bytes.Contains(raw, []byte("DE89")) {
		t.Errorf("the payload is %q, %v", raw, err)
	}
	var got map[string]string
	if err := c.FromPayload(p, &got); err != nil || got["iban"] != value["iban"] {
		t.Errorf("decrypted: %v, %v", got, err)
	}
	if err := other.FromPayload(p, &got); err == nil {
		t.Error("another key decrypts it")
	}
	both, err := Server{Secrets: [][]byte{[]byte("another horse battery staple"), []byte("correct horse battery staple")}}.Converter()
	if err != nil {
		t.Fatal(err)
	}
	if err := both.FromPayload(p, &got); err != nil {
		t.Errorf("the second key does not decrypt: %v", err)
	}
	if p, err := both.ToPayload(value); err != nil || other.FromPayload(p, &got) != nil || c.FromPayload(p, &got) == nil {
		t.Errorf("the first key does not encrypt: %v", err)
	}
	open, err := plain.ToPayload(value)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.FromPayload(open, &got); !errors.Is(err, errPlain) {
		t.Errorf("a payload without encryption: %v", err)
	}
	changed := proto.Clone(p).(*commonpb.Payload)
	changed.Data[len(changed.Data)-1] ^= 1
	if err := c.FromPayload(changed, &got); err == nil {
		t.Error("a changed payload is accepted")
	}
}
