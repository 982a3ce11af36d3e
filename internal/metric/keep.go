package metric

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
)

// keepEvery is the maximum number of samples that a crash may lose.
const keepEvery = 10

// Keep makes the samples of the last day survive a restart: it reads the file of the previous
// process, and Run writes the file every ten minutes and when it ends. The file is only for
// charts: a file that cannot be read is ignored and logged. Call Keep before Run.
func (r *Recorder) Keep(path string) {
	past, err := readSamples(path, r.o.Now())
	if err != nil {
		r.o.Logger.Warn("cannot read the stored samples", "file", path, "err", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.file = path
	r.past = append(past, r.past...)
}

// readSamples returns the samples of the last day, oldest first, without any from the future.
func readSamples(path string, now time.Time) ([]domain.Sample, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	var past []domain.Sample
	if err := json.Unmarshal(text, &past); err != nil {
		return nil, err
	}
	past = slices.DeleteFunc(past, func(s domain.Sample) bool { return now.Sub(s.At) > day*time.Minute || s.At.After(now) })
	slices.SortFunc(past, func(a, b domain.Sample) int { return a.At.Compare(b.At) })
	return past[max(0, len(past)-day):], nil
}

// keep writes the samples to the file, if there is one.
func (r *Recorder) keep() {
	r.mu.Lock()
	path, past := r.file, slices.Clone(r.past)
	r.mu.Unlock()
	if path == "" {
		return
	}
	if err := writeSamples(path, past); err != nil {
		r.o.Logger.Warn("cannot store the samples", "file", path, "err", err)
	}
}

// writeSamples replaces the file as a whole. It is not synced, because nothing depends on it.
func writeSamples(path string, past []domain.Sample) error {
	text, err := json.Marshal(past)
	if err != nil {
		return err
	}
	if err := os.WriteFile(path+".new", text, 0o600); err != nil {
		return err
	}
	if err := os.Rename(path+".new", path); err != nil {
		return fmt.Errorf("replace the samples: %w", err)
	}
	return nil
}
