package connect

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"errors"
	"fmt"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/proto"
)

// encrypted is the encoding of encrypted payloads.
const encrypted = "binary/kairosd-aes-256-gcm"

// codec encrypts the payloads in histories with AES-256-GCM. The first key encrypts, and all decrypt.
type codec struct{ keys []cipher.AEAD }

// newCodec returns a codec whose keys are derived from secrets.
func newCodec(secrets [][]byte) (*codec, error) {
	c := &codec{}
	for _, secret := range secrets {
		key, err := hkdf.Key(sha256.New, secret, nil, "kairosd payloads on Temporal", 32)
		if err != nil {
			return nil, err
		}
		block, err := aes.NewCipher(key)
		if err != nil {
			return nil, err
		}
		aead, err := cipher.NewGCMWithRandomNonce(block)
		if err != nil {
			return nil, err
		}
		c.keys = append(c.keys, aead)
	}
	return c, nil
}

// Encode encrypts payloads with their metadata.
func (c *codec) Encode(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	out := make([]*commonpb.Payload, len(payloads))
	for i, p := range payloads {
		raw, err := proto.Marshal(p)
		if err != nil {
			return nil, err
		}
		out[i] = &commonpb.Payload{Metadata: map[string][]byte{converter.MetadataEncoding: []byte(encrypted)},
			Data: c.keys[0].Seal(nil, nil, raw, []byte(encrypted))}
	}
	return out, nil
}

// errPlain is the error of a payload that is not encrypted. The key is needed to send values to a workflow.
var errPlain = errors.New("a value from Temporal is not encrypted; all programs of a queue need the same payload key")

// Decode decrypts payloads. It refuses others.
func (c *codec) Decode(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	out := make([]*commonpb.Payload, len(payloads))
	for i, p := range payloads {
		if !bytes.Equal(p.GetMetadata()[converter.MetadataEncoding], []byte(encrypted)) {
			return nil, errPlain
		}
		var raw []byte
		var err error
		for _, key := range c.keys {
			if raw, err = key.Open(nil, nil, p.GetData(), []byte(encrypted)); err == nil {
				break
			}
		}
		if err != nil {
			return nil, fmt.Errorf("decrypt a value from Temporal; all programs of a queue need the same payload keys: %w", err)
		}
		out[i] = &commonpb.Payload{}
		if err := proto.Unmarshal(raw, out[i]); err != nil {
			return nil, err
		}
	}
	return out, nil
}
