package store

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/internal/core"
)

// Failed is closed when storage failed and the outcome of a commit is unknown. The process must
// stop and start again. A read-only store never fails.
func (s *Store) Failed() <-chan struct{} {
	if s.writer == nil {
		return nil
	}
	return s.writer.failed
}

// Failure returns why storage failed, or nil: CodeCorrupt for damaged files, CodeLocked if another
// process opened the database, and CodeUnavailable otherwise.
func (s *Store) Failure() error {
	if s.writer == nil {
		return nil
	}
	err := s.writer.stoppedBy()
	if err == nil {
		return nil
	}
	if cause := errors.Unwrap(err); cause != nil {
		cause = core.Translate(cause, "storage failed")
		if code := domain.CodeOf(cause); code == domain.CodeCorrupt || code == domain.CodeLocked {
			return cause
		}
	}
	return err
}

// stopIfWriting stops a writable store because a reader found a malformed page.
func (s *Store) stopIfWriting(err error) {
	if s.writer != nil {
		s.writer.fail(err)
	}
}

// Close waits for all accepted writes and closes the files.
func (s *Store) Close() error {
	s.closeOnce.Do(func() { s.closeErr = s.closeFiles() })
	return s.closeErr
}

func (s *Store) closeFiles() error {
	var errs []error
	if s.unwatch != nil {
		close(s.unwatch)
		<-s.watching
	}
	if s.writer != nil {
		errs = append(errs, s.writer.close())
	}
	if s.anchor != nil {
		errs = append(errs, s.anchor.close())
	}
	errs = append(errs, s.reads.close())
	for _, db := range []*sql.DB{s.read, s.write} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	for _, f := range s.held {
		errs = append(errs, f.Close())
	}
	if s.lock != nil {
		errs = append(errs, KeepOwner(filepath.Dir(s.path), s.Files()...), core.ReleaseLock(s.lock))
	}
	if s.dir != "" {
		errs = append(errs, os.RemoveAll(s.dir))
	}
	return errors.Join(errs...)
}
