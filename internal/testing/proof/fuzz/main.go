// Command fuzz runs every fuzz target in the working directory and below, one after the other, and
// records the number of tested inputs for the score card.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// target is a fuzz function and the directory of its package.
type target struct{ dir, name string }

var (
	function = regexp.MustCompile(`(?m)^func (Fuzz[A-Za-z0-9]+)\(`)
	executed = regexp.MustCompile(`execs: (\d+)`)
)

// patience is the factor by which the time is extended for a target that tested no input.
const patience = 5

func main() {
	length := flag.Duration("time", 30*time.Second, "how long to fuzz each target")
	flag.Parse()
	if err := run(*length); err != nil {
		fmt.Fprintln(os.Stderr, "fuzz:", err)
		os.Exit(1)
	}
}

func run(length time.Duration) error {
	targets, err := find(".")
	if err != nil {
		return err
	}
	total, failed := 0, []error(nil)
	for _, t := range targets {
		n, err := t.fuzz(length)
		if n == 0 && err == nil { // on a busy machine, it may not have started
			if n, err = t.fuzz(patience * length); n == 0 && err == nil {
				err = errors.New("no inputs were tried")
			}
		}
		fmt.Printf("%-24s %-16s %9d inputs\n", t.dir, t.name, n)
		if total += n; err != nil {
			failed = append(failed, fmt.Errorf("%s %s: %w", t.dir, t.name, err))
		}
	}
	if path := os.Getenv("KAIROS_FIGURES"); path != "" && len(failed) == 0 {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(f, "fuzzed inputs\t%d\nfuzz targets\t%d\n", total, len(targets))
		failed = append(failed, errors.Join(err, f.Close()))
	}
	return errors.Join(failed...)
}

// find lists the fuzz targets of this module.
func find(root string) (list []target, err error) {
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != root {
			if _, err := os.Stat(filepath.Join(path, "go.mod")); err == nil || strings.HasPrefix(d.Name(), ".") {
				return fs.SkipDir
			}
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		src, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, m := range function.FindAllSubmatch(src, -1) {
			list = append(list, target{"./" + filepath.ToSlash(filepath.Dir(path)), string(m[1])})
		}
		return nil
	})
	return list, err
}

// fuzz runs one target and returns the number of tested inputs.
func (t target) fuzz(length time.Duration) (int, error) {
	cmd := exec.Command("go", "test", t.dir, "-run=^$", "-fuzz=^"+t.name+"$", "-fuzztime="+length.String())
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	tried := 0
	if all := executed.FindAllSubmatch(out.Bytes(), -1); len(all) > 0 {
		tried, _ = strconv.Atoi(string(all[len(all)-1][1])) // digits only
	}
	if err != nil && bytes.Contains(out.Bytes(), []byte("context deadline exceeded")) &&
		!bytes.Contains(out.Bytes(), []byte("Failing input")) {
		err = nil // the time ended during an input, which go test reports as a failure
	}
	if err != nil {
		if _, copyErr := io.Copy(os.Stderr, &out); copyErr != nil {
			err = errors.Join(err, copyErr)
		}
	}
	return tried, err
}
