package main

import (
	"embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/template"
)

//go:embed files/install.sh.tmpl files/kairosd.rb.tmpl
var published embed.FS

// An archive is a file that the install script and the formula download.
type archive struct {
	Name, Sum string
	platform  platform
}

// Platform is the platform as it stands in file names.
func (a archive) Platform() string { return a.platform.String() }

// OS is the operating system in Homebrew's words.
func (a archive) OS() string {
	if a.platform.os == "darwin" {
		return "macos"
	}
	return a.platform.os
}

// CPU is the architecture in Homebrew's words.
func (a archive) CPU() string {
	if a.platform.arch == "arm64" {
		return "arm"
	}
	return "intel"
}

// templates writes the install script and the Homebrew formula. Both name the address of the
// release, so they are written only if it is known.
func (r *release) templates() error {
	if r.address == "" {
		fmt.Fprintln(os.Stderr, "no install script and no formula: they need the address of the release (-url)")
		return nil
	}
	var archives []archive
	for _, p := range r.platforms {
		name := fmt.Sprintf("kairosd_%s_%s.tar.gz", r.version, p)
		sum, err := digest(filepath.Join(r.out, name))
		if err != nil {
			return err
		}
		archives = append(archives, archive{name, sum, p})
	}
	values := struct {
		Version, Address, License string
		Archives                  []archive
	}{r.version, strings.TrimSuffix(r.address, "/"), r.license, archives}
	for _, name := range []string{"install.sh", "kairosd.rb"} {
		t, err := template.ParseFS(published, "files/"+name+".tmpl")
		if err != nil {
			return err
		}
		var b strings.Builder
		if err := t.Execute(&b, values); err != nil {
			return err
		}
		if err := os.WriteFile(r.done(name), []byte(b.String()), 0o755); err != nil {
			return err
		}
	}
	return nil
}
