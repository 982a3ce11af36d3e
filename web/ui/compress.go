package ui

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"strings"
	"sync"
)

// compressFrom is the size from which compressing is worth its time: what fits
// one packet is not made faster by it.
const compressFrom = 1200

var compressors = sync.Pool{New: func() any { return gzip.NewWriter(nil) }}

// write sends a whole body, compressed if the browser reads that. Pages hold a
// form token beside text from the query; session cookies are SameSite=Strict, so
// that no other site can make a browser ask for such pages and measure them.
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
