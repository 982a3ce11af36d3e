package ui

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"strings"
	"sync"
)

// compressFrom is the minimum size for compression, in bytes. Below it, a response fits into one
// packet, and compression would not make it faster.
const compressFrom = 1200

var compressors = sync.Pool{New: func() any { return gzip.NewWriter(nil) }}

// write sends a response, compressed if the browser accepts gzip. Pages contain a CSRF token and
// text from the query, but compression does not expose the token: session cookies are
// SameSite=Strict, so another site cannot make a browser request such pages and measure their size.
func write(w http.ResponseWriter, r *http.Request, code int, body []byte) error {
	w.Header().Add("Vary", "Accept-Encoding")
	if len(body) >= compressFrom && strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		var b bytes.Buffer
		z := compressors.Get().(*gzip.Writer)
		defer compressors.Put(z)
		z.Reset(&b)
		if _, err := z.Write(body); err != nil {
			return err
		}
		if err := z.Close(); err != nil {
			return err
		}
		w.Header().Set("Content-Encoding", "gzip")
		body = b.Bytes()
	}
	w.WriteHeader(code)
	_, err := w.Write(body)
	return err
}
