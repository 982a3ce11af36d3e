// Package examples holds the plans that come with kairosd, each one that a
// person would want.
package examples

import (
	"embed"
	"io/fs"
)

//go:embed *.yaml
var files embed.FS

// File is one example as it is written.
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
		out = append(out, File{Name: e.Name(), Source: src})
	}
	return out, nil
}
