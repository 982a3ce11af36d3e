package core

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/klauspost/compress/zstd"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/internal/dbsqlc"
)

const (
	// inlineLimit is the maximum size of a value stored in its row.
	inlineLimit = 4 << 10
	// EarlyLimit is the maximum size of a value that is committed with its checkpoint. Larger
	// values are committed before, in separate transactions.
	EarlyLimit = 256 << 10
	// MaxPayload is the maximum size of a stored value.
	MaxPayload = 32 << 20
	// PayloadMark begins a column with the hash of a payload instead of JSON. JSON never begins
	// with it.
	PayloadMark = "@"
)

var (
	compressor = sync.OnceValues(func() (*zstd.Encoder, error) {
		return zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(2))
	})
	decompressor = sync.OnceValues(func() (*zstd.Decoder, error) {
		return zstd.NewReader(nil, zstd.WithDecoderMaxMemory(2*MaxPayload), zstd.WithDecoderConcurrency(2))
	})
)

// EncodeValue encodes a value for its column, in the caller's goroutine. Small values are stored in
// the row, and large ones become payloads.
func (d *DB) EncodeValue(j domain.RawJSON, payloads *[]dbsqlc.PayloadInsertParams) (*string, error) {
	if j == nil {
		return nil, nil
	}
	if !utf8.Valid(j) {
		return nil, domain.Errorf(domain.CodeInvalid, "a value is not valid UTF-8")
	}
	if len(j) <= inlineLimit {
		text := string(j)
		return &text, nil
	}
	if len(j) > MaxPayload {
		return nil, domain.Errorf(domain.CodeTooLarge, "value too large: %d bytes (limit: %d)", len(j), MaxPayload).
			Suggest("write large data to a file and pass the file name")
	}
	sum := sha256.Sum256(j)
	p := dbsqlc.PayloadInsertParams{Hash: sum[:], Size: int64(len(j)), Encoding: "raw", Data: j, CreatedAt: d.Now().UnixMicro()}
	enc, err := compressor()
	if err != nil {
		return nil, fmt.Errorf("compress: %w", err)
	}
	if packed := enc.EncodeAll(j, nil); len(packed) < len(j) {
		p.Encoding, p.Data = "zstd", packed
	}
	*payloads = append(*payloads, p)
	text := PayloadMark + hex.EncodeToString(sum[:])
	return &text, nil
}

// Fetch returns the value of a column: the JSON itself, or the payload with the stored hash. It
// checks the hash.
func (d *DB) Fetch(ctx context.Context, column *string) (domain.RawJSON, error) {
	if column == nil || !strings.HasPrefix(*column, PayloadMark) {
		return RawJSON(column), nil
	}
	hash, err := hex.DecodeString((*column)[1:])
	if err != nil {
		return nil, domain.Errorf(domain.CodeCorrupt, "malformed payload reference")
	}
	p, err := d.Q.PayloadGet(ctx, hash)
	if err != nil {
		return nil, Translate(err, "read payload "+(*column)[1:13])
	}
	return Unpack(hash, p.Encoding, p.Data, p.Size)
}

// Unpack decodes the value of a payload. If its hash differs, the error is CodeCorrupt.
func Unpack(hash []byte, encoding string, data []byte, size int64) (domain.RawJSON, error) {
	if encoding == "zstd" {
		dec, err := decompressor()
		if err != nil {
			return nil, fmt.Errorf("decompress: %w", err)
		}
		if data, err = dec.DecodeAll(data, make([]byte, 0, min(max(size, 0), MaxPayload))); err != nil {
			return nil, domain.Errorf(domain.CodeCorrupt, "payload %.12x does not decompress: %w", hash, err)
		}
	}
	if sum := sha256.Sum256(data); string(sum[:]) != string(hash) {
		return nil, domain.Errorf(domain.CodeCorrupt, "payload %.12x fails its checksum", hash)
	}
	return data, nil
}
