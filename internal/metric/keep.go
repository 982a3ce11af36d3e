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

// keepEvery is how many samples may be lost with the process.
const keepEvery = 10

// Keep lets the samples of the last day outlive the process: what the one before
// left in the file is taken over now, and Run writes it every ten minutes and when
// it ends. The file is for pictures only: one that cannot be read is as good as
// none, and says so in the log. It is to be called before Run.
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

// readSamples gives those of the last day, oldest first; none of the future.
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

// keep writes the samples down, if somebody wants them.
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

// writeSamples replaces the file whole. It is not forced to the disk: nothing
// depends on it.
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
