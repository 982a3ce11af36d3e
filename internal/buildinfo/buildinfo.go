// Package buildinfo describes the running binary.
package buildinfo

import (
	"runtime"
	"runtime/debug"

	"github.com/kairosd/kairosd/internal/store"
)

// Version is set when a release is built:
// -ldflags "-X github.com/kairosd/kairosd/internal/buildinfo.Version=1.2.3".
var Version = "dev"

// Info describes a binary.
type Info struct {
	Version string `json:"version"`
	Commit  string `json:"commit"`
	Schema  int64  `json:"schema"`
	SQLite  string `json:"sqlite"`
	Go      string `json:"go"`
	// Only the version command sets Modules.
	Modules []Module `json:"modules,omitempty"`
}

// Module is a third-party module in the binary, with its checksum in go.sum.
type Module struct {
	Path    string `json:"path"`
	Version string `json:"version"`
	Sum     string `json:"sum"`
}

// Modules lists the modules of this binary.
func Modules() []Module {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return nil
	}
	out := make([]Module, 0, len(info.Deps))
	for _, d := range info.Deps {
		if d.Replace != nil {
			d = d.Replace
		}
		out = append(out, Module{d.Path, d.Version, d.Sum})
	}
	return out
}

// Read describes this binary.
func Read() Info {
	b := Info{Version: Version, Commit: "unknown", Schema: store.SchemaVersion(), SQLite: store.SQLiteVersion(), Go: runtime.Version()}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				b.Commit = s.Value[:min(12, len(s.Value))]
			}
		}
	}
	return b
}
