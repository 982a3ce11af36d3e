package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// footprint is W6: the released daemon with its dashboard and API.
type footprint struct {
	binaryMB  float64
	readyMS   float64
	idleMB    float64
	loadedMB  float64 // maximum during W2 over its API
	stepsRate float64 // of that W2, from the first request to the end of the last run
	steps     int     // of that W2
	cpu       float64 // in seconds, of the daemon in that W2
}

func measureFootprint(ctx context.Context, s shape) (footprint, error) {
	dir, err := os.MkdirTemp(*dirFlag, "bench-")
	if err != nil {
		return footprint{}, err
	}
	defer os.RemoveAll(dir)
	b, err := build(ctx, "..", filepath.Join(dir, "bin"))
	if err != nil {
		return footprint{}, err
	}
	return measureDaemon(ctx, b.kairosd, dir, s)
}

// measureDaemon runs a built kairosd with its data in dir.
func measureDaemon(ctx context.Context, binary, dir string, s shape) (footprint, error) {
	var f footprint
	st, err := os.Stat(binary)
	if err != nil {
		return f, err
	}
	f.binaryMB = float64(st.Size()) / 1e6
	data := filepath.Join(dir, "data")
	token, err := exec.CommandContext(ctx, binary, "token", "create", "--name", "bench", "--data", data, "--role", "author").Output()
	if err != nil {
		return f, fmt.Errorf("create a token: %w", err)
	}
	// The first start creates the database, so only later ones count.
	begin := time.Now()
	cmd := exec.CommandContext(ctx, binary, "serve", "--data", data, "--listen", "127.0.0.1:0")
	url, err := serve(cmd)
	if err != nil {
		return f, err
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	f.readyMS = float64(time.Since(begin).Microseconds()) / 1000
	time.Sleep(time.Second)
	f.idleMB = memory(cmd.Process.Pid, "VmRSS")
	api := &apiClient{url: url + "/api/v1", token: lastWord(string(token))}
	var plan struct{ ID string }
	if err := api.call(ctx, "POST", "/plans", "application/yaml", []byte(s.plan()), &plan); err != nil {
		return f, err
	}
	spent := cpuOf(cmd.Process.Pid)
	begin = time.Now()
	ids := make([]string, s.runs)
	if err := together(s.runs, func(i int) error {
		var run struct{ ID, RunID string } // the name of the field differs between commits
		err := api.call(ctx, "POST", "/runs", "application/json", []byte(`{"plan": "`+plan.ID+`", "input": {"x": 42}}`), &run)
		ids[i] = cmp.Or(run.ID, run.RunID)
		return err
	}); err != nil {
		return f, err
	}
	for _, id := range ids {
		for {
			var run struct{ Status string }
			if err := api.call(ctx, "GET", "/runs/"+id, "", nil, &run); err != nil {
				return f, err
			}
			if run.Status == "completed" {
				break
			}
			if run.Status == "failed" || run.Status == "cancelled" {
				return f, fmt.Errorf("run %s is %s", id, run.Status)
			}
			time.Sleep(2 * time.Millisecond)
		}
	}
	f.stepsRate = float64(s.total()) / time.Since(begin).Seconds()
	f.steps, f.cpu = s.total(), cpuOf(cmd.Process.Pid)-spent
	f.loadedMB = memory(cmd.Process.Pid, "VmHWM")
	return f, nil
}

// serve starts the daemon, and returns its address when it is ready.
func serve(cmd *exec.Cmd) (string, error) {
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", err
	}
	if err := cmd.Start(); err != nil {
		return "", err
	}
	for sc := bufio.NewScanner(out); sc.Scan(); {
		if i := strings.Index(sc.Text(), "http://"); i >= 0 {
			go io.Copy(io.Discard, out)
			return strings.TrimSuffix(strings.Fields(sc.Text()[i:])[0], "/"), nil
		}
	}
	cmd.Process.Kill()
	cmd.Wait()
	return "", fmt.Errorf("kairosd printed no URL")
}

func lastWord(s string) string {
	words := strings.Fields(s)
	for _, w := range words {
		if strings.HasPrefix(w, "krs_") || strings.HasPrefix(w, "kairos_") {
			return w
		}
	}
	if len(words) == 0 {
		return ""
	}
	return words[len(words)-1]
}

// memory reads a value from /proc, in MB.
func memory(pid int, field string) float64 {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, field+":"); ok {
			var kb float64
			fmt.Sscan(rest, &kb)
			return kb / 1000
		}
	}
	return 0
}

// apiClient is a minimal client of the API.
type apiClient struct{ url, token string }

func (c *apiClient) call(ctx context.Context, method, path, typ string, body []byte, into any) error {
	req, err := http.NewRequestWithContext(ctx, method, c.url+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+c.token)
	if typ != "" {
		req.Header.Set("Content-Type", typ)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode >= 300 {
		return fmt.Errorf("%s %s: %s %s", method, path, resp.Status, b)
	}
	return json.Unmarshal(b, into)
}

// cpuOf returns the CPU time of a process in seconds. The kernel counts 100 ticks per second.
func cpuOf(pid int) float64 {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(b), ") ") // the name of the program may contain spaces
	fields := strings.Fields(rest)
	var ticks float64
	for _, f := range fields[11:13] {
		n, _ := strconv.ParseFloat(f, 64)
		ticks += n
	}
	return ticks / 100
}
