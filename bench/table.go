package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// table collects samples and prints their medians.
type table struct {
	samples    map[string][]sample // by system and workload
	recoveries map[string][]recovered
	footprints []footprint
	pasts      []past
	incoming   map[string][]incoming // by workload
	disk       []float64
}

func newTable() *table {
	return &table{samples: map[string][]sample{}, recoveries: map[string][]recovered{}, incoming: map[string][]incoming{}}
}

func (t *table) add(name, workload string, s sample) {
	k := name + " " + workload
	t.samples[k] = append(t.samples[k], s)
}

func median(list []float64) float64 {
	if len(list) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(list))
	if n := len(s); n%2 == 0 {
		return (s[n/2-1] + s[n/2]) / 2
	}
	return s[len(s)/2]
}

func medianOf[T any](list []T, f func(T) float64) float64 {
	values := make([]float64, len(list))
	for i, v := range list {
		values[i] = f(v)
	}
	return median(values)
}

// rate returns the median of steps per second.
func (t *table) rate(name, workload string) float64 {
	return medianOf(t.samples[name+" "+workload], func(s sample) float64 { return float64(s.Steps) / s.Seconds })
}

var about = map[string]string{
	"W1":  "one run of 1,000 steps with an effect, each acknowledged on disk",
	"W1p": "one run of 1,000 pure steps, pipelined",
	"W2":  "500 runs of 100 pure steps, started at once",
	"W2s": "500 runs of 10 pure steps",
	"W2e": "500 runs of 10 steps with an effect",
	"W3s": "one run of 1,000 pure steps, in a loop of ten",
	"W3":  "one run of 10,000 pure steps, in the same loop",
	"W4":  "fan-out to 100 steps with an effect, and their join",
}

func (t *table) print(out io.Writer, asked []string) {
	raw := median(t.disk)
	fmt.Fprintf(out, "\nkairosd %s, %s, %s\n", revision(), machine(), time.Now().UTC().Format("2006-01-02"))
	fmt.Fprintf(out, "medians of %d interleaved repetitions; disk: %s fdatasync/s (4 KiB overwritten)\n", *repeat, thousands(raw))
	if *tiny {
		fmt.Fprintln(out, "SHORT: these figures show only that everything runs")
	}
	for _, w := range asked {
		if about[w] == "" {
			continue
		}
		own := t.rate("kairosd", w)
		fmt.Fprintf(out, "\n%s  %s\n", w, about[w])
		tw := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
		fmt.Fprintln(tw, "system\tsteps/s\ttime ms\tkairosd is\tCPU µs/step\tpeak MB\t")
		for _, p := range peers {
			list := t.samples[p.name+" "+w]
			if len(list) == 0 {
				continue
			}
			r := t.rate(p.name, w)
			ratio := fmt.Sprintf("%.2f×", own/r)
			if p.name == "kairosd" {
				ratio = ""
			}
			fmt.Fprintf(
				tw,
				"%s\t%s\t%.1f\t%s\t%.0f\t%.0f\t\n",
				p.title,
				thousands(r),
				1000*medianOf(list, func(s sample) float64 { return s.Seconds }),
				ratio,
				1e6*medianOf(
					list,
					func(s sample) float64 { return s.CPU / float64(s.Steps) },
				),
				medianOf(list, func(s sample) float64 { return s.rss }),
			)
		}
		tw.Flush()
		if w == "W1" {
			t.printOfDisk(out, w)
		}
		if w == "W3" {
			t.printGrowth(out)
		}
	}
	t.printRecoveries(out)
	t.printFootprint(out)
	t.printPast(out)
	t.printIncoming(out)
}

// printOfDisk compares a workload of durable steps with the disk. Each measurement is compared with
// the disk's own rate just before and after it.
func (t *table) printOfDisk(out io.Writer, w string) {
	fmt.Fprint(out, "steps for each write that the disk acknowledges at that time:")
	for _, p := range peers {
		if list := t.samples[p.name+" "+w]; len(list) > 0 {
			fmt.Fprintf(out, "  %s %.2f", p.title, medianOf(list, func(s sample) float64 { return float64(s.Steps) / s.Seconds / s.Disk }))
		}
	}
	fmt.Fprintln(out)
}

// printGrowth prints the cost of a step in a long run relative to a short run of the same shape,
// including start and end of the run.
func (t *table) printGrowth(out io.Writer) {
	fmt.Fprint(out, "CPU of a step beside a run of 1,000:")
	for _, p := range peers {
		cpu := func(w string) float64 {
			return medianOf(t.samples[p.name+" "+w], func(s sample) float64 { return s.CPU / float64(s.Steps) })
		}
		if short := cpu("W3s"); short > 0 {
			fmt.Fprintf(out, "  %s %.2f×", p.title, cpu("W3")/short)
		}
	}
	fmt.Fprintln(out)
}

func (t *table) printRecoveries(out io.Writer) {
	if len(t.recoveries) == 0 {
		return
	}
	fmt.Fprintf(
		out,
		"\nW5  kill -9 with %d runs in flight, at step %d of %d; from the start of the next process to the end of all runs\n",
		recovery.runs,
		recovery.killAt,
		recovery.total(),
	)
	tw := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(tw, "system\tseconds\tkairosd is\texecuted twice\tnever executed\t")
	own := medianOf(t.recoveries["kairosd"], func(r recovered) float64 { return r.seconds })
	for _, p := range peers {
		list := t.recoveries[p.name]
		if len(list) == 0 {
			continue
		}
		seconds := medianOf(list, func(r recovered) float64 { return r.seconds })
		ratio := fmt.Sprintf("%.2f×", seconds/own)
		if p.name == "kairosd" {
			ratio = ""
		}
		fmt.Fprintf(
			tw,
			"%s\t%.3f\t%s\t%.0f\t%.0f\t\n",
			p.title,
			seconds,
			ratio,
			medianOf(list, func(r recovered) float64 { return float64(r.twice) }),
			medianOf(list, func(r recovered) float64 { return float64(r.missing) }),
		)
	}
	tw.Flush()
}

func (t *table) printFootprint(out io.Writer) {
	if len(t.footprints) == 0 {
		return
	}
	f := func(get func(footprint) float64) float64 { return medianOf(t.footprints, get) }
	fmt.Fprintf(
		out,
		"\nW6  the daemon as it is shipped: binary %.0f MB, ready after %.0f ms, %.0f MB idle, at most %.0f MB in W2 over "+
			"its API (%s steps/s)\n",
		f(
			func(x footprint) float64 { return x.binaryMB },
		),
		f(func(x footprint) float64 { return x.readyMS }),
		f(func(x footprint) float64 { return x.idleMB }),
		f(func(x footprint) float64 { return x.loadedMB }),
		thousands(f(func(x footprint) float64 { return x.stepsRate })),
	)
}

func (t *table) printPast(out io.Writer) {
	if len(t.pasts) == 0 {
		return
	}
	f := func(get func(past) float64) float64 { return medianOf(t.pasts, get) }
	fmt.Fprintf(out, "\nW7  W2 with %s journal rows stored: %.2f× the rate of W2 with 100,000 (%s and %s steps/s), %.2f× its CPU a step\n",
		thousands(f(func(p past) float64 { return float64(p.Rows) })), f(func(p past) float64 { return p.Late.Steps / p.Early.Steps }),
		thousands(f(func(p past) float64 { return p.Late.Steps })), thousands(f(func(p past) float64 { return p.Early.Steps })),
		f(func(p past) float64 { return p.Late.CPU / p.Early.CPU }))
}

func (t *table) printIncoming(out io.Writer) {
	for _, w := range []string{"W8", "W9", "W10"} {
		if list := t.incoming[w]; len(list) > 0 {
			of := func(get func(incoming) float64) float64 { return medianOf(list, get) }
			fmt.Fprintf(out, "\n%s  %s\n", w, incomingWorkloads[w].line(of))
		}
	}
}

func thousands(f float64) string {
	s := fmt.Sprintf("%.0f", f)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func revision() string {
	out, err := exec.Command("git", "describe", "--always", "--dirty").Output()
	if err != nil {
		return "of an unknown commit"
	}
	return strings.TrimSpace(string(out))
}

func machine() string {
	cpu := runtime.GOARCH
	if b, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(b)) {
			if name, ok := strings.CutPrefix(line, "model name"); ok {
				cpu = strings.TrimSpace(strings.TrimLeft(name, "\t :"))
				break
			}
		}
	}
	load, _, _ := strings.Cut(func() string { b, _ := os.ReadFile("/proc/loadavg"); return string(b) }(), " ")
	return fmt.Sprintf("%d × %s, %s/%s, %s, load %s", runtime.NumCPU(), cpu, runtime.GOOS, runtime.GOARCH, runtime.Version(), load)
}
