package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
)

// figure is the value that decides whether one commit is slower than another in a workload.
type figure struct {
	workload, name, unit string
	// of returns the value of one measurement. A larger value is worse.
	of func(sample) float64
}

// figures contains the compared values by workload: the CPU time of a step if the processor is the
// limit, and the duration of a step if the disk is.
var figures = []figure{
	{"W1", "time", "µs/step", secondsPerStep},
	{"W1p", "CPU", "µs/step", cpuPerStep},
	{"W2", "CPU", "µs/step", cpuPerStep},
	{"W2e", "CPU", "µs/step", cpuPerStep},
	{"W4", "time", "µs/step", secondsPerStep},
	{"W6", "CPU", "µs/step", cpuPerStep},
}

func secondsPerStep(s sample) float64 { return 1e6 * s.Seconds / float64(s.Steps) }
func cpuPerStep(s sample) float64     { return 1e6 * s.CPU / float64(s.Steps) }

// built contains the programs of one commit.
type built struct{ bench, kairosd string }

// pair measures kairosd of this working tree and of another commit alternately, and prints the
// median of the paired ratios with its 95 % interval.
func pair(ctx context.Context, commit string) error {
	dir, err := os.MkdirTemp(*dirFlag, "bench-pair-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	tree := filepath.Join(dir, "tree")
	if err := command(ctx, ".", "git", "worktree", "add", "--detach", tree, commit); err != nil {
		return err
	}
	defer exec.Command("git", "worktree", "remove", "--force", tree).Run()
	var sides [2]built
	for i, root := range []string{"..", tree} {
		if sides[i], err = build(ctx, root, filepath.Join(dir, fmt.Sprint(i))); err != nil {
			return err
		}
	}
	ratios, values := map[string][]float64{}, map[string][2][]float64{}
	for i := range *repeat {
		fmt.Fprintf(os.Stderr, "pair %d of %d\n", i+1, *repeat)
		for _, f := range figures {
			if !slices.Contains(strings.Split(*workloads, ","), f.workload) {
				continue
			}
			var got [2]float64
			for j := range sides { // the order alternates between pairs
				side := (i + j) % 2
				s, err := sides[side].measure(ctx, f.workload)
				if err != nil {
					return err
				}
				got[side] = f.of(s)
			}
			ratios[f.workload] = append(ratios[f.workload], got[0]/got[1])
			v := values[f.workload]
			v[0], v[1] = append(v[0], got[0]), append(v[1], got[1])
			values[f.workload] = v
		}
	}
	printPairs(os.Stdout, commit, ratios, values)
	return nil
}

// build builds the programs of the source tree at root.
func build(ctx context.Context, root, to string) (built, error) {
	b := built{filepath.Join(to, "bench"), filepath.Join(to, "kairosd")}
	if err := os.Mkdir(to, 0o755); err != nil {
		return b, err
	}
	out, err := filepath.Abs(to)
	if err != nil {
		return b, err
	}
	b = built{filepath.Join(out, "bench"), filepath.Join(out, "kairosd")}
	if err := command(ctx, filepath.Join(root, "bench"), "go", "build", "-o", b.bench, "."); err != nil {
		return b, err
	}
	return b, command(ctx, root, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", b.kairosd, "./cmd/kairosd")
}

func command(ctx context.Context, dir, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	// Both sides are built like a release, even if the environment disables optimization.
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-trimpath")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w %s", strings.Join(cmd.Args, " "), err, out)
	}
	return nil
}

// measure runs a workload once, in a separate process with a new database.
func (b built) measure(ctx context.Context, workload string) (sample, error) {
	var s sample
	dir, err := os.MkdirTemp(*dirFlag, "bench-")
	if err != nil {
		return s, err
	}
	defer os.RemoveAll(dir)
	if workload == "W6" {
		f, err := measureDaemon(ctx, b.kairosd, dir, shapes(*tiny)["W2"])
		s.Steps, s.CPU, s.Seconds = f.steps, f.cpu, float64(f.steps)/f.stepsRate
		return s, err
	}
	args := []string{"-child", "kairosd", "-phase", workload, "-at", dir}
	if *tiny {
		args = append(args, "-short")
	}
	out, err := exec.CommandContext(ctx, b.bench, args...).Output()
	if err != nil {
		return s, fmt.Errorf("%s: %w", workload, err)
	}
	return s, json.Unmarshal(out, &s.measured)
}

func printPairs(out io.Writer, commit string, ratios map[string][]float64, values map[string][2][]float64) {
	fmt.Fprintf(out, "\nkairosd %s beside %s, %s\n", revision(), commit, machine())
	fmt.Fprintf(out, "%d pairs; a ratio above 1 means that this tree needs more\n\n", *repeat)
	tw := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(tw, "workload\tfigure\tthis tree\tbefore\tratio\t95 % interval\t")
	for _, f := range figures {
		list := ratios[f.workload]
		if len(list) == 0 {
			continue
		}
		low, high := interval(list)
		v := values[f.workload]
		fmt.Fprintf(
			tw,
			"%s\t%s\t%.1f %s\t%.1f\t%.3f\t%.3f to %.3f\t\n",
			f.workload,
			f.name,
			median(v[0]),
			f.unit,
			median(v[1]),
			median(list),
			low,
			high,
		)
	}
	tw.Flush()
}

// interval returns the confidence interval of a median, with at least 95 % from six values on, for
// any distribution. Its ends are the order statistics of the sign test: the number of values below
// the median is binomially distributed.
func interval(list []float64) (low, high float64) {
	s := slices.Sorted(slices.Values(list))
	n := len(s)
	// k is the maximum number of values that may be left out on each side.
	k, tail, term := -1, 0.0, 1.0
	for range n {
		term /= 2
	}
	for i := 0; i < n/2; i++ {
		if tail += term; tail > 0.025 {
			break
		}
		k = i
		term = term * float64(n-i) / float64(i+1)
	}
	if k < 0 {
		return s[0], s[n-1]
	}
	return s[k], s[n-1-k]
}
