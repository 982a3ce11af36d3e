// Package examples contains the plans that are part of kairosd.
package examples

import (
	"bytes"
	"embed"
	"io/fs"
)

//go:embed *.yaml
var files embed.FS

//go:embed scripted
var setup embed.FS

// Setup returns the files that the examples need in addition to their plans: a configuration
// kairos.yaml, scripted answers in place of a model, and input files.
func Setup() fs.FS {
	sub, err := fs.Sub(setup, "scripted")
	if err != nil {
		panic(err) // the directory is embedded above
	}
	return sub
}

// File is the file of one example.
type File struct {
	Name   string
	Source []byte
}

// Plans returns every example, sorted by name.
func Plans() ([]File, error) {
	entries, err := fs.ReadDir(files, ".")
	if err != nil {
		return nil, err
	}
	out := make([]File, 0, len(entries))
	for _, e := range entries {
		src, err := files.ReadFile(e.Name())
		if err != nil {
			return nil, err
		}
		// The line that names the schema to editors is only valid in this directory.
		if first, rest, _ := bytes.Cut(src, []byte("\n")); bytes.HasPrefix(first, []byte("# yaml-language-server:")) {
			src = rest
		}
		out = append(out, File{Name: e.Name(), Source: src})
	}
	return out, nil
}
