package hook

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/kairosd/kairosd/internal/domain"
)

// pattern selects files below a directory that the configuration permits.
type pattern struct {
	root  string
	parts []string // of the path below root; each may have the wildcards of [path.Match]
}

// CheckFiles returns an error if the pattern of a hook is not valid, or is in none of the permitted
// directories.
func CheckFiles(text string, directories []string) error {
	_, err := parsePattern(text, directories)
	return err
}

func parsePattern(text string, directories []string) (pattern, error) {
	bad := func(advice string, args ...any) error {
		return refuse(domain.CodeInvalid, "hook.files", domain.Errorf(domain.CodeInvalid, "%q is not a pattern of files", clip(text)).
			Suggest(advice, args...))
	}
	if !utf8.ValidString(text) || strings.ContainsFunc(text, isControl) || !filepath.IsAbs(text) || filepath.Clean(text) != text {
		return pattern{}, bad("write an absolute path, such as /data/in/*.csv")
	}
	root := ""
	for _, d := range directories {
		if strings.HasPrefix(text, strings.TrimSuffix(filepath.Clean(d), "/")+"/") && len(d) > len(root) {
			root = filepath.Clean(d)
		}
	}
	if root == "" {
		return pattern{}, refuse(domain.CodeInvalid, "hook.directory", domain.Errorf(domain.CodeInvalid,
			"hooks may not watch files at %s", clip(text)).Suggest("list the directory under hooks.directories in the configuration"))
	}
	p := pattern{root, strings.Split(strings.TrimPrefix(strings.TrimPrefix(text, root), "/"), "/")}
	if len(p.parts) > domain.MaxWatchedDepth {
		return p, bad("use at most %d parts below %s", domain.MaxWatchedDepth, root)
	}
	for _, part := range p.parts {
		if _, err := path.Match(part, ""); err != nil {
			return p, bad("close each bracket")
		}
		if strings.Contains(part, "**") {
			return p, bad("use one * for each directory, such as /data/in/*/*.csv")
		}
	}
	return p, nil
}

func isControl(r rune) bool { return r < ' ' || r == 0x7f }

// file is a regular file that matches a pattern.
type file struct {
	path     string
	size     int64
	modified time.Time
}

// event is the ID of a file. A file with another size or modification time is another event.
func (f file) event() string {
	name := f.path
	suffix := fmt.Sprintf(" %d %s", f.size, f.modified.UTC().Format(time.RFC3339Nano))
	if !validID(name+suffix) || strings.ContainsFunc(name, func(r rune) bool { return r == utf8.RuneError }) {
		sum := sha256.Sum256([]byte(f.path))
		name = "sha256:" + hex.EncodeToString(sum[:])
	}
	return name + suffix
}

// content is what expressions read as body.
func (f file) content() map[string]any {
	return map[string]any{"path": f.path, "name": filepath.Base(f.path), "size": float64(f.size),
		"modifiedAt": f.modified.UTC().Format(time.RFC3339Nano)}
}

// scanner finds the files of a pattern. It stays in the root, and follows no symbolic links that a
// wildcard matches.
type scanner struct {
	root    *os.Root
	base    string
	files   []file
	entries int
	err     error // the first one; the scan continues with other directories
}

// scan returns the files of a pattern. With an error, some may be missing.
func (p pattern) scan() ([]file, error) {
	root, err := os.OpenRoot(p.root)
	if err != nil {
		return nil, unreadable(err)
	}
	defer root.Close()
	s := &scanner{root: root, base: p.root}
	s.walk(".", p.parts, false)
	return s.files, s.err
}

func tooManyFiles() error {
	return refuse(domain.CodeInvalid, "hook.files", domain.Errorf(domain.CodeInvalid, "more than %d files match the pattern",
		domain.MaxWatchedFiles).Suggest("move files away after their runs, or use a narrower pattern"))
}

func (s *scanner) fail(err error) {
	if s.err == nil {
		s.err = err
	}
}

// walk finds files below a directory. optional reports that a wildcard matched the directory, so it may
// be deleted at any time.
func (s *scanner) walk(dir string, parts []string, optional bool) {
	part, last := parts[0], len(parts) == 1
	if !strings.ContainsAny(part, `*?[\`) {
		if last {
			s.add(path.Join(dir, part))
		} else {
			s.walk(path.Join(dir, part), parts[1:], optional)
		}
		return
	}
	f, err := s.root.OpenFile(dir, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe must not block the open
	if err != nil {
		if !optional || !missing(err) {
			s.fail(unreadable(err))
		}
		return
	}
	defer f.Close()
	for {
		entries, err := f.ReadDir(256)
		for _, e := range entries {
			if s.entries++; s.entries > domain.MaxWatchedEntries || len(s.files) > domain.MaxWatchedFiles {
				s.fail(tooManyFiles())
				return
			}
			matched, _ := path.Match(part, e.Name()) // the pattern was checked
			if !matched || e.Name()[0] == '.' && part[0] != '.' {
				continue
			}
			if last && e.Type().IsRegular() {
				s.add(path.Join(dir, e.Name()))
			} else if !last && e.IsDir() {
				s.walk(path.Join(dir, e.Name()), parts[1:], true)
			}
		}
		if errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			if !optional || !missing(err) {
				s.fail(unreadable(err))
			}
			return
		}
	}
}

// add adds a file, if it is a regular one.
func (s *scanner) add(name string) {
	info, err := s.root.Lstat(name)
	switch {
	case missing(err):
	case err != nil:
		s.fail(unreadable(err))
	case !info.Mode().IsRegular():
	case len(s.files) == domain.MaxWatchedFiles:
		s.fail(tooManyFiles())
	default:
		s.files = append(s.files, file{filepath.Join(s.base, name), info.Size(), info.ModTime()})
	}
}

func missing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// unreadable is the error of a directory that cannot be read.
func unreadable(err error) error {
	return refuse(domain.CodeUnavailable, "hook.files", domain.Errorf(domain.CodeUnavailable, "the files cannot be listed: %w", err))
}
