package main

import (
	_ "embed" // embeds the unit
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb" // registers the format
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm" // registers the format
)

//go:embed files/kairosd.service
var unit []byte

// packages writes the Debian and the RPM package for p.
func (r *release) packages(p platform, bin string) error {
	for _, format := range []string{"deb", "rpm"} {
		if err := r.pack(p, bin, format); err != nil {
			return fmt.Errorf("%s package for %s: %w", format, p, err)
		}
	}
	return nil
}

func (r *release) pack(p platform, bin, format string) (err error) {
	contents, err := r.contents(bin)
	if err != nil {
		return err
	}
	script := func(name string) string { return filepath.Join(r.root, "tools", "release", "files", name) }
	info := nfpm.WithDefaults(&nfpm.Info{
		Name:       "kairosd",
		Arch:       p.arch,
		Platform:   "linux",
		Version:    r.version,
		Section:    "admin",
		Maintainer: "the kairosd developers <kairosd@localhost>",
		Description: "Durable execution of plans on one machine\n" +
			"kairosd stores plans, runs them durably on SQLite, and serves a dashboard for operators.",
		License: r.license,
		MTime:   r.time,
		Overridables: nfpm.Overridables{
			Contents: contents,
			Scripts: nfpm.Scripts{
				PostInstall: script("postinstall.sh"),
				PreRemove:   script("preremove.sh"),
				PostRemove:  script("postremove.sh"),
			},
			RPM: nfpm.RPM{BuildHost: "localhost", Summary: "Durable execution of plans on one machine"},
		},
	})
	if format == "deb" {
		info.Depends = []string{"passwd"}
	} else {
		info.Depends = []string{"shadow-utils"}
	}
	if err := nfpm.PrepareForPackager(info, format); err != nil {
		return err
	}
	packager, err := nfpm.Get(format)
	if err != nil {
		return err
	}
	f, err := os.Create(r.done(packager.ConventionalFileName(info)))
	if err != nil {
		return err
	}
	return errors.Join(packager.Package(info, f), f.Close())
}

// contents are the files of a package. Their paths are those of the Filesystem Hierarchy Standard.
func (r *release) contents(bin string) (files.Contents, error) {
	own := func(name string) string { return filepath.Join(r.root, "tools", "release", "files", name) }
	file := func(from, to string, mode os.FileMode, kind string) *files.Content {
		return &files.Content{Source: from, Destination: to, Type: kind,
			FileInfo: &files.ContentFileInfo{Owner: "root", Group: "root", Mode: mode, MTime: r.time}}
	}
	out := files.Contents{
		file(filepath.Join(bin, "kairosd"), "/usr/bin/kairosd", 0o755, ""),
		file(filepath.Join(bin, "kairos"), "/usr/bin/kairos", 0o755, ""),
		file(own("kairosd.service"), "/usr/lib/systemd/system/kairosd.service", 0o644, ""),
		file(own("kairos.yaml"), "/etc/kairos/kairos.yaml", 0o644, "config|noreplace"),
		file(filepath.Join(r.root, "README.md"), "/usr/share/doc/kairosd/README.md", 0o644, ""),
		file(filepath.Join(r.root, "CHANGELOG.md"), "/usr/share/doc/kairosd/CHANGELOG.md", 0o644, ""),
		file(filepath.Join(r.root, "SECURITY.md"), "/usr/share/doc/kairosd/SECURITY.md", 0o644, ""),
	}
	for shell, to := range map[string]string{
		"bash": "/usr/share/bash-completion/completions/kairos",
		"zsh":  "/usr/share/zsh/vendor-completions/_kairos",
		"fish": "/usr/share/fish/vendor_completions.d/kairos.fish",
	} {
		from, err := r.completion(bin, shell)
		if err != nil {
			return nil, err
		}
		out = append(out, file(from, to, 0o644, ""))
	}
	return out, nil
}

// completion writes the completion script of a shell. Its text does not depend on the platform, so
// the binary of this machine writes it.
func (r *release) completion(bin, shell string) (string, error) {
	to := filepath.Join(bin, "completion."+shell)
	if _, err := os.Stat(to); err == nil {
		return to, nil
	}
	own := filepath.Join(filepath.Dir(bin), platform{runtime.GOOS, runtime.GOARCH}.String(), "kairos")
	if _, err := os.Stat(own); err != nil {
		return "", fmt.Errorf("completion scripts need the binary of this machine: list %s/%s first in -platforms",
			runtime.GOOS, runtime.GOARCH)
	}
	text, err := exec.Command(own, "completion", shell).Output()
	if err != nil {
		return "", fmt.Errorf("kairos completion %s: %w", shell, err)
	}
	return to, os.WriteFile(to, text, 0o644)
}
