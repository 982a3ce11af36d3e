// Command bench measures kairosd and comparable engines on the same disk, and prints one table.
// Every measurement is a separate process with a new directory. Repetitions are interleaved, so
// that other load on the machine slows all systems equally. Run it with `make bench` in the root of
// the repository.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"
)

var (
	repeat    = flag.Int("n", 3, "repetitions; the table shows medians")
	tiny      = flag.Bool("short", false, "tiny workloads: checks that everything runs, measures nothing")
	only      = flag.String("only", "", "comma-separated systems (kairosd is always measured)")
	workloads = flag.String(
		"workloads",
		"W1,W1p,W2,W2s,W2e,W3s,W3,W4,W5,W6",
		"comma-separated workloads; only when asked for: W7, a long past, and W8, W9, W10, work that comes in",
	)
	dirFlag = flag.String("dir", "", "where the databases are made; default: the system's temporary directory")
	against = flag.String(
		"against",
		"",
		"measure kairosd of this tree and of that commit in turn, and print the ratios (at least 12 repetitions)",
	)
	slow = flag.Bool("slow", false, "also measure what takes minutes (recovery by leases)")

	childFlag = flag.String("child", "", "internal: measure this system")
	phaseFlag = flag.String("phase", "", "internal: a workload, die or finish")
	atFlag    = flag.String("at", "", "internal: directory")
)

// peers are the systems of the table, in order, with their workloads. The default run leaves out
// workloads that take minutes.
var peers = []struct {
	name, title string
	workloads   string
	slow        string
}{
	{"kairosd", "kairosd FULL", "W1 W1p W2 W2s W2e W3s W3 W4 W5", ""},
	{"kairosd-normal", "kairosd NORMAL", "W1 W2e W4", ""},
	{"bare", "bare SQLite FULL", "W1 W1p W2 W2s W2e W3s W3 W4", ""},
	{"dbos", "DBOS NORMAL", "W1 W2 W2s W2e W3s W3 W4 W5", ""},
	{"river", "River FULL", "W1 W2s W2e W4", ""},
	{"goworkflows", "go-workflows FULL", "W1 W2s W2e W4", "W5"},
}

func main() {
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if *tiny {
		recovery.runs, recovery.steps, recovery.killAt = 10, 4, 20
	}
	var err error
	if *childFlag != "" {
		err = runChild(ctx)
	} else if *against != "" {
		err = pair(ctx, *against)
	} else {
		err = compare(ctx)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
	if *childFlag != "" {
		os.Exit(0) // goroutines of the peers are still running
	}
}

func runChild(ctx context.Context) error {
	switch *phaseFlag {
	case "die":
		return die(ctx, *childFlag, *atFlag)
	case "finish":
		return finish(ctx, *childFlag, *atFlag)
	case "W7":
		return live(ctx, *childFlag, *atFlag)
	}
	m, err := measure(ctx, *childFlag, *atFlag, shapes(*tiny)[*phaseFlag])
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(m)
}

// child starts this program again for one measurement.
func child(ctx context.Context, args ...string) *exec.Cmd {
	self, err := os.Executable()
	if err != nil {
		self = os.Args[0]
	}
	if *tiny {
		args = append(args, "-short")
	}
	return exec.CommandContext(ctx, self, args...)
}

// sample is one measurement of a system from outside.
type sample struct {
	measured
	rss float64 // maximum, in MB
}

func measureChild(ctx context.Context, name, workload string) (sample, error) {
	var s sample
	dir, err := os.MkdirTemp(*dirFlag, "bench-")
	if err != nil {
		return s, err
	}
	defer os.RemoveAll(dir)
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	cmd := child(ctx, "-child", name, "-phase", workload, "-at", dir)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return s, fmt.Errorf("%s %s: %w %s", name, workload, err, stderr.String())
	}
	if err := json.Unmarshal(out, &s.measured); err != nil {
		return s, fmt.Errorf("%s %s: %w", name, workload, err)
	}
	if u, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		s.rss = float64(u.Maxrss) / 1000
	}
	return s, nil
}

func wanted(name string) bool {
	return *only == "" || name == "kairosd" || slices.Contains(strings.Split(*only, ","), name)
}

// compare runs all measurements, repetition by repetition, and prints the table.
func compare(ctx context.Context) error {
	t := newTable()
	asked := strings.Split(*workloads, ",")
	for i := range *repeat {
		fmt.Fprintf(os.Stderr, "repetition %d of %d\n", i+1, *repeat)
		rate, err := disk()
		if err != nil {
			return err
		}
		t.disk = append(t.disk, rate)
		for _, w := range asked {
			if w == "W7" {
				p, err := measurePast(ctx)
				if err != nil {
					return err
				}
				t.pasts = append(t.pasts, p)
				continue
			}
			if in, ok := incomingWorkloads[w]; ok {
				m, err := in.measure(ctx)
				if err != nil {
					return fmt.Errorf("%s: %w", w, err)
				}
				t.incoming[w] = append(t.incoming[w], m)
				continue
			}
			if w == "W6" {
				f, err := measureFootprint(ctx, shapes(*tiny)["W2"])
				if err != nil {
					return err
				}
				t.footprints = append(t.footprints, f)
				continue
			}
			for _, p := range peers {
				has := strings.Fields(p.workloads)
				if *slow {
					has = append(has, strings.Fields(p.slow)...)
				}
				if !wanted(p.name) || !slices.Contains(has, w) {
					continue
				}
				if w == "W5" {
					r, err := measureRecovery(ctx, p.name)
					if err != nil {
						return err
					}
					t.recoveries[p.name] = append(t.recoveries[p.name], r)
					continue
				}
				s, err := measureChild(ctx, p.name, w)
				if err != nil {
					return err
				}
				t.add(p.name, w, s)
			}
		}
	}
	t.print(os.Stdout, asked)
	return nil
}

func disk() (float64, error) {
	dir, err := os.MkdirTemp(*dirFlag, "bench-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	return syncRate(dir, 700*time.Millisecond)
}
