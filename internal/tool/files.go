package tool

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/kairosd/kairosd/planner/walk"
)

// files accesses only the configured roots. os.Root resolves every path, so that no link leaves a
// root (S13), and guarded files are rejected by inode.
type files struct {
	roots []string
	max   int64
	guard *Guard
}

func newFiles(c FilesConfig, guard *Guard) (*files, error) {
	f := &files{max: c.MaxBytes, guard: guard}
	for _, root := range c.Roots {
		abs, err := filepath.Abs(root)
		if err != nil {
			return nil, fmt.Errorf("tools.files.roots: %w", err)
		}
		info, err := os.Stat(abs)
		switch {
		case err != nil:
			return nil, fmt.Errorf("tools.files.roots: %w", err)
		case !info.IsDir():
			return nil, fmt.Errorf("tools.files.roots: %s is not a directory", root)
		}
		f.roots = append(f.roots, abs)
	}
	return f, nil
}

// candidates returns the roots that may contain a path, with the path inside each.
func (f *files) candidates(path string) ([][2]string, error) {
	if len(f.roots) == 0 {
		return nil, suggest(
			refused(CodeBlocked, "file access is not enabled"),
			"list directories under tools.files.roots in the configuration",
		)
	}
	if path == "" || strings.ContainsRune(path, 0) {
		return nil, invalid("%s is not a path", clip(path))
	}
	var out [][2]string
	for _, root := range f.roots {
		inside := path
		if filepath.IsAbs(path) {
			rel, err := filepath.Rel(root, filepath.Clean(path))
			if err != nil {
				continue
			}
			inside = rel
		}
		if filepath.IsLocal(inside) && inside != "." {
			out = append(out, [2]string{root, inside})
		}
	}
	if len(out) == 0 {
		return nil, refused(CodeBlocked, "%s is outside the permitted directories", clip(path))
	}
	return out, nil
}

// read reads a file of one of the roots.
func (f *files) read(path string) ([]byte, os.FileInfo, error) {
	candidates, err := f.candidates(path)
	if err != nil {
		return nil, nil, err
	}
	for _, c := range candidates {
		content, info, err := f.readIn(c[0], c[1])
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		return content, info, fileError(path, err)
	}
	return nil, nil, refused(CodeNotFound, "file %s not found", clip(path))
}

func (f *files) readIn(dir, inside string) ([]byte, os.FileInfo, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, nil, err
	}
	defer root.Close()
	// Check before opening, because closing a file of kairosd's database would release the locks of
	// this process on it.
	if f.guard.protects(filepath.Join(dir, inside)) {
		return nil, nil, refused(CodeBlocked, "this file belongs to kairosd")
	}
	// A pipe must not block the open.
	file, err := root.OpenFile(inside, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	switch {
	case err != nil:
		return nil, nil, err
	case f.guard.protectsFile(info):
		return nil, nil, refused(CodeBlocked, "this file belongs to kairosd")
	case !info.Mode().IsRegular():
		return nil, nil, invalid("it is not a regular file")
	case info.Size() > f.max:
		return nil, nil, refused(CodeTooLarge, "it has %d bytes; at most %d are read", info.Size(), f.max)
	}
	content, err := io.ReadAll(io.LimitReader(file, f.max+1))
	if err == nil && int64(len(content)) > f.max {
		return nil, nil, refused(CodeTooLarge, "it has more than %d bytes", f.max)
	}
	return content, info, err
}

// fileError returns an error that names the file without the machine's paths.
func fileError(path string, err error) error {
	if err == nil {
		return nil
	}
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		err = p.Err
	}
	if f, ok := errors.AsType[*walk.Failure](err); ok {
		return f.WithMessage("file %s: %s", clip(path), f.Localize())
	}
	f := refused(CodeBlocked, "file %s: %s", clip(path), err)
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EIO) || errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) {
		f.Code, f.Permanent = "io", false
	}
	return f.WithCause(err)
}
