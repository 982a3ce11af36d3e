package main

import (
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// syncRate returns the number of writes that the disk acknowledges per second: 4 KiB to a
// preallocated file, each followed by fdatasync. No commit can be faster.
func syncRate(dir string, d time.Duration) (float64, error) {
	f, err := os.Create(filepath.Join(dir, "disk"))
	if err != nil {
		return 0, err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	page := make([]byte, 4096)
	for range 1024 {
		if _, err := f.Write(page); err != nil {
			return 0, err
		}
	}
	if err := f.Sync(); err != nil {
		return 0, err
	}
	begin, n := time.Now(), 0
	for ; time.Since(begin) < d; n++ {
		if _, err := f.WriteAt(page, int64(n%1024)*4096); err != nil {
			return 0, err
		}
		if err := syscall.Fdatasync(int(f.Fd())); err != nil {
			return 0, err
		}
	}
	return float64(n) / time.Since(begin).Seconds(), nil
}
