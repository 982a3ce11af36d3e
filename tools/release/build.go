package main

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

var programs = []string{"kairosd", "kairos"}

// build compiles the programs for p into bin, and writes their SBOMs.
func (r *release) build(ctx context.Context, p platform, bin string) error {
	if err := os.MkdirAll(bin, 0o755); err != nil {
		return err
	}
	flags := "-s -w -X github.com/kairosd/kairosd/internal/buildinfo.Version=" + r.version
	for _, program := range programs {
		to := filepath.Join(bin, program)
		cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", flags, "-o", to, "./cmd/"+program)
		cmd.Dir = r.root
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOOS="+p.os, "GOARCH="+p.arch)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("build %s for %s: %w\n%s", program, p, err, out)
		}
		sbom := r.done(fmt.Sprintf("%s_%s_%s.cdx.json", program, r.version, p))
		cmd = exec.CommandContext(ctx, "go", "tool", "cyclonedx-gomod", "bin", "-json", "-std", "-noserial",
			"-version", r.version, "-output", sbom, to)
		cmd.Dir = filepath.Join(r.root, "tools", "release")
		cmd.Env = append(os.Environ(), "GOFLAGS=")
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("write the SBOM of %s: %w\n%s", program, err, out)
		}
	}
	return nil
}

// archive packs the programs, the pages for readers, and on Linux the unit of systemd.
func (r *release) archive(p platform, bin string) (err error) {
	name := fmt.Sprintf("kairosd_%s_%s", r.version, p)
	f, err := os.Create(r.done(name + ".tar.gz"))
	if err != nil {
		return err
	}
	defer func() {
		if closeErr := f.Close(); err == nil {
			err = closeErr
		}
	}()
	zip := gzip.NewWriter(f)
	w := tar.NewWriter(zip)
	add := func(to, from string, mode int64) error {
		content, err := os.ReadFile(from)
		if err != nil {
			return err
		}
		return r.put(w, name+"/"+to, content, mode)
	}
	for _, program := range programs {
		if err := add(program, filepath.Join(bin, program), 0o755); err != nil {
			return err
		}
	}
	for _, page := range []string{"README.md", "CHANGELOG.md", "SECURITY.md"} {
		if err := add(page, filepath.Join(r.root, page), 0o644); err != nil {
			return err
		}
	}
	if p.os == "linux" {
		if err := r.put(w, name+"/kairosd.service", unit, 0o644); err != nil {
			return err
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	return zip.Close()
}

// put adds a file to an archive, owned by root and with the time of the release.
func (r *release) put(w *tar.Writer, name string, content []byte, mode int64) error {
	header := &tar.Header{Name: name, Mode: mode, Size: int64(len(content)), ModTime: r.time, Format: tar.FormatPAX}
	if err := w.WriteHeader(header); err != nil {
		return err
	}
	_, err := w.Write(content)
	return err
}

// checksums writes SHA256SUMS, in the format of sha256sum.
func (r *release) checksums() error {
	slices.Sort(r.files)
	var b strings.Builder
	for _, name := range r.files {
		sum, err := digest(filepath.Join(r.out, name))
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%s  %s\n", sum, name)
	}
	return os.WriteFile(r.done("SHA256SUMS"), []byte(b.String()), 0o644)
}

// digest returns the SHA-256 of a file in hexadecimal.
func digest(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
