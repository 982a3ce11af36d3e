// Package static embeds the files that browsers load besides pages: styles, scripts, fonts, icons,
// and their licenses. Their addresses contain a hash of all files, so that browsers can cache them
// forever.
//
// The sources of the styles are in css, with one file per section, and those of the scripts in js,
// as native modules. Generating bundles and minifies them to k.css and kairos.js.
package static

//go:generate -command esbuild go tool -modfile=../../tools/go.mod esbuild --log-level=warning
//go:generate esbuild k=css/index.css kairos=js/kairos.js --bundle --minify --external:*.woff2 --outdir=.

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"net/http"
	"strings"
	"sync"
)

//go:embed *.css *.js *.woff2 *.svg
var files embed.FS

// Hash returns the hash of all files.
var Hash = sync.OnceValue(func() string {
	h := sha256.New()
	entries, err := fs.ReadDir(files, ".")
	if err != nil { // cannot happen: the files are embedded
		panic(err)
	}
	for _, e := range entries {
		b, err := files.ReadFile(e.Name())
		if err != nil {
			panic(err)
		}
		h.Write([]byte(e.Name()))
		h.Write(b)
	}
	return hex.EncodeToString(h.Sum(nil))[:12]
})

// Path returns the address of a file.
func Path(name string) string { return "/static/" + Hash() + "/" + name }

var types = map[string]string{
	".css":   "text/css; charset=utf-8",
	".js":    "text/javascript; charset=utf-8",
	".woff2": "font/woff2",
	".svg":   "image/svg+xml",
}

// packed holds the compressed text files by name.
var packed = sync.OnceValue(func() map[string][]byte {
	entries, err := fs.ReadDir(files, ".")
	if err != nil { // cannot happen: the files are embedded
		panic(err)
	}
	out := map[string][]byte{}
	for _, e := range entries {
		b, err := files.ReadFile(e.Name())
		if err != nil {
			panic(err)
		}
		if strings.HasSuffix(e.Name(), ".woff2") {
			continue // already compressed
		}
		var z bytes.Buffer
		w, err := gzip.NewWriterLevel(&z, gzip.BestCompression)
		if err != nil {
			panic(err)
		}
		if _, err := w.Write(b); err != nil { // cannot happen: the buffer is in memory
			panic(err)
		}
		if err := w.Close(); err != nil {
			panic(err)
		}
		out[e.Name()] = z.Bytes()
	}
	return out
})

// Serve responds with the file of that exact name. Under the current hash, browsers may cache it
// forever. Under another hash, which pages of another version use, they must not cache it, because
// the other version may be installed again.
func Serve(w http.ResponseWriter, r *http.Request, hash, name string) {
	b, err := files.ReadFile(name)
	if err != nil || strings.Contains(name, "/") {
		http.NotFound(w, r)
		return
	}
	h := w.Header()
	h.Set("Content-Type", types[name[strings.LastIndexByte(name, '.'):]])
	h.Set("Cache-Control", "no-store")
	if hash == Hash() {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	h.Set("Vary", "Accept-Encoding")
	if z, ok := packed()[name]; ok && strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		h.Set("Content-Encoding", "gzip")
		b = z
	}
	_, _ = w.Write(b) // fails only if the client has disconnected
}
