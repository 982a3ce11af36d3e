package store

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
)

// networks are file systems on which SQLite's locks and write-ahead log do not work reliably, by
// magic number (statfs(2)). doubtful may be network file systems or layers of a container.
var (
	networks = map[int64]string{0x6969: "NFS", 0x517b: "SMB", 0xff534d42: "CIFS", 0xfe534d42: "SMB2", 0x00c36400: "Ceph", 0x5346414f: "AFS"}
	doubtful = map[int64]string{0x01021997: "9p", 0x65735546: "FUSE", 0x01021994: "tmpfs, which is gone after a restart of the machine"}
)

// checkFileSystem rejects a file system that would damage the database.
func (s *Store) checkFileSystem(dir string) error {
	var fs syscall.Statfs_t
	if err := syscall.Statfs(dir, &fs); err != nil {
		return domain.Errorf(domain.CodeUnavailable, "check the file system of %s: %w", dir, err)
	}
	return s.classifyFileSystem(dir, int64(uint32(fs.Type)))
}

func (s *Store) classifyFileSystem(dir string, kind int64) error {
	if name := networks[kind]; name != "" {
		return domain.Errorf(domain.CodeInvalid, "%s is on %s, which cannot store a database safely", dir, name).
			Suggest("use a local disk; back up to the network instead")
	}
	if name := doubtful[kind]; name != "" && s.dir == "" {
		s.log.Warn("the file system of the data directory may not store it safely", "dir", dir, "file system", name)
	}
	return nil
}

// watchEvery is the interval at which the files are checked.
const watchEvery = 2 * time.Second

// watchedFile is a file that must stay in place. SQLite keeps writing into a file that was removed
// or replaced, and reports no error.
type watchedFile struct {
	path string
	info fs.FileInfo
}

func watchFiles(paths ...string) ([]watchedFile, error) {
	var out []watchedFile
	for _, p := range paths {
		info, err := os.Stat(p)
		if err != nil {
			return nil, domain.Errorf(domain.CodeUnavailable, "check %s: %w", p, err)
		}
		out = append(out, watchedFile{p, info})
	}
	return out, nil
}

// missingFile returns the first watched file that is missing, or "".
func missingFile(files []watchedFile) string {
	for _, f := range files {
		info, err := os.Stat(f.path)
		if errors.Is(err, fs.ErrNotExist) || err == nil && !os.SameFile(info, f.info) {
			return f.path
		}
	}
	return ""
}

// watch stops the store when one of its files is removed or replaced.
func (s *Store) watch() {
	defer close(s.watching)
	tick := time.NewTicker(s.watchEvery)
	defer tick.Stop()
	for {
		select {
		case <-s.unwatch:
			return
		case <-tick.C:
			if path := missingFile(s.watched); path != "" {
				s.writer.fail(domain.Errorf(domain.CodeUnavailable, "%s was deleted or replaced while it was open", path))
				return
			}
		}
	}
}
