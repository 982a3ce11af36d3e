// Command release builds what a release consists of: static binaries in archives, Debian and RPM
// packages, an OCI image, SBOMs, checksums, an install script, and a Homebrew formula.
//
// Two calls with the same commit, version, and Go release write the same bytes. Run make
// release-deps first: a release itself uses no network.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	var (
		version   = flags.String("version", "0.0.0-dev", "semantic version of the release")
		out       = flags.String("out", "dist", "directory of the release; must be empty or absent")
		root      = flags.String("root", "../..", "root of the repository")
		platforms = flags.String("platforms", "linux/amd64,linux/arm64,darwin/arm64", "comma-separated platforms")
		address   = flags.String("url", "", "address at which the files will be published, for the formula and the install script")
		license   = flags.String("license", "", "SPDX identifier of the license, for packages and the formula")
	)
	if err := flags.Parse(args); err != nil {
		return err
	}
	r, err := newRelease(ctx, *root, *out, strings.TrimPrefix(*version, "v"))
	if err != nil {
		return err
	}
	r.address, r.license = *address, *license
	for p := range strings.SplitSeq(*platforms, ",") {
		platform, err := parsePlatform(p)
		if err != nil {
			return err
		}
		r.platforms = append(r.platforms, platform)
	}
	return r.make(ctx)
}

// A release is what one call makes.
type release struct {
	root, out string // absolute
	version   string // semantic version, without v
	address   string // of the published files; may be empty
	license   string // SPDX identifier; may be empty
	platforms []platform
	time      time.Time // of all files: the time of the commit
	files     []string  // names of the files made so far, in dist
}

// A platform is an operating system and an architecture, in Go's names.
type platform struct{ os, arch string }

func (p platform) String() string { return p.os + "_" + p.arch }

func parsePlatform(s string) (platform, error) {
	system, arch, ok := strings.Cut(s, "/")
	if !ok || (system != "linux" && system != "darwin") || (arch != "amd64" && arch != "arm64") {
		return platform{}, fmt.Errorf("unknown platform %q: linux or darwin, a slash, and amd64 or arm64", s)
	}
	return platform{system, arch}, nil
}

// newRelease checks the directories, and reads the time of the commit. SOURCE_DATE_EPOCH (seconds
// since 1970, as reproducible-builds.org specifies) overrides this time.
func newRelease(ctx context.Context, root, out, version string) (*release, error) {
	r := &release{version: version}
	var err error
	if r.root, err = filepath.Abs(root); err != nil {
		return nil, err
	}
	if r.out, err = filepath.Abs(out); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(r.out, 0o755); err != nil {
		return nil, err
	}
	if there, err := os.ReadDir(r.out); err != nil {
		return nil, err
	} else if len(there) > 0 {
		return nil, fmt.Errorf("%s is not empty: remove it first", r.out)
	}
	text := os.Getenv("SOURCE_DATE_EPOCH")
	if text == "" {
		out, err := exec.CommandContext(ctx, "git", "-C", r.root, "log", "-1", "--format=%ct").Output()
		if err != nil {
			return nil, fmt.Errorf("find the time of the commit (or set SOURCE_DATE_EPOCH): %w", err)
		}
		text = strings.TrimSpace(string(out))
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("SOURCE_DATE_EPOCH: %w", err)
	}
	r.time = time.Unix(seconds, 0).UTC()
	return r, nil
}

func (r *release) make(ctx context.Context) error {
	work, err := os.MkdirTemp("", "kairosd-release-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	images := map[platform]string{}
	for _, p := range r.platforms {
		bin := filepath.Join(work, p.String())
		if err := r.build(ctx, p, bin); err != nil {
			return err
		}
		if err := r.archive(p, bin); err != nil {
			return err
		}
		if p.os != "linux" {
			continue
		}
		if err := r.packages(p, bin); err != nil {
			return err
		}
		images[p] = bin
	}
	if err := r.image(images); err != nil {
		return err
	}
	if err := r.checksums(); err != nil {
		return err
	}
	return r.templates()
}

// done records a file of the release, and prints its name.
func (r *release) done(name string) string {
	r.files = append(r.files, name)
	fmt.Println(name)
	return filepath.Join(r.out, name)
}
