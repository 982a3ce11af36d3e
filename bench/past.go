package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"
)

// past is W7: it repeats W2 on one database, to measure the cost of a long history. It takes
// minutes and gigabytes, and only runs on request.
type past struct {
	// Early and Late are medians of three rounds of W2, with about 100,000 rows in the journal and
	// at the end.
	Early, Late pastRate
	Rows        int // journal rows at the end
}

type pastRate struct {
	Steps float64 // per second
	CPU   float64 // seconds per step
}

// pastRows is the number of journal rows at the end of W7.
func pastRows() int {
	if *tiny {
		return 1000
	}
	return 5_000_000
}

// live is the child process of W7.
func live(ctx context.Context, name, dir string) error {
	sys, err := systems[name](ctx, dir, false, func(string, int) {})
	if err != nil {
		return err
	}
	defer sys.close()
	s := shapes(*tiny)["W2"]
	if err := sys.define(ctx, s); err != nil {
		return err
	}
	var steps, cpu []float64
	rows := 0
	for rows < pastRows() || len(steps) < 6 {
		begin, spent := time.Now(), cpuTime()
		if err := runAll(ctx, sys, s); err != nil {
			return err
		}
		rows += s.total()
		steps = append(steps, float64(s.total())/time.Since(begin).Seconds())
		cpu = append(cpu, (cpuTime()-spent)/float64(s.total()))
	}
	n := len(steps)
	return json.NewEncoder(os.Stdout).Encode(past{Rows: rows, Early: pastRate{median(steps[1:4]), median(cpu[1:4])},
		Late: pastRate{median(steps[n-3:]), median(cpu[n-3:])}})
}

func measurePast(ctx context.Context) (past, error) {
	var p past
	dir, err := os.MkdirTemp(*dirFlag, "bench-")
	if err != nil {
		return p, err
	}
	defer os.RemoveAll(dir)
	cmd := child(ctx, "-child", "kairosd", "-phase", "W7", "-at", dir)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return p, fmt.Errorf("W7: %w %s", err, stderr.String())
	}
	return p, json.Unmarshal(out, &p)
}
