// This program uses the Go client that internal/testing/clients generates in the directory api. It
// exits with a message at the first unexpected result.
package main

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/kairosd/kairosd/tools/clients/api"
)

func main() {
	if err := run(os.Getenv("KAIROS_SERVER"), os.Getenv("KAIROS_TOKEN"), os.Getenv("KAIROS_TARGET")); err != nil {
		log.Fatal(err)
	}
}

// run uses the API of a server. The target is a URL that fails at first.
func run(server, token, target string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c, err := api.NewClientWithResponses(server+"/api/v1", api.WithRequestEditorFn(func(_ context.Context, r *http.Request) error {
		r.Header.Set("Authorization", "Bearer "+token)
		return nil
	}))
	if err != nil {
		return err
	}
	plan := "id: fetch\nnodes: {get: {type: tool, tool: http, input: {url: '${input}'}, retry: {max_attempts: 1}}}\n"
	stored, err := c.StorePlanWithBodyWithResponse(ctx, nil, "application/yaml", strings.NewReader(plan))
	if err != nil || stored.JSON201 == nil || stored.JSON201.Key != "fetch" {
		return fmt.Errorf("store a plan: %w %s", err, body(stored))
	}
	var ids []string
	for range 2 {
		key := "fetch"
		started, err := c.StartRunWithResponse(ctx, nil, api.RunCreate{Plan: &key, Input: target})
		if err != nil || started.JSON201 == nil {
			return fmt.Errorf("start a run: %w %s", err, body(started))
		}
		if run, err := ended(ctx, c, started.JSON201.Id); err != nil || run.Status != api.RunDetailStatusFailed || run.Error == nil {
			return fmt.Errorf("the run is %+v: %w", run, err)
		}
		ids = append(ids, started.JSON201.Id)
	}
	if err := listed(ctx, c, ids); err != nil {
		return err
	}
	if err := resumed(ctx, c, ids[0]); err != nil {
		return err
	}
	missing, err := c.GetRunWithResponse(ctx, "none-such")
	if err != nil || missing.ApplicationproblemJSON404 == nil || missing.ApplicationproblemJSON404.Code != api.ProblemCodeNotFound ||
		missing.ApplicationproblemJSON404.Message == "" {
		return fmt.Errorf("a run that does not exist: %w %s", err, body(missing))
	}
	return nil
}

// ended waits for the end of a run.
func ended(ctx context.Context, c *api.ClientWithResponses, id string) (*api.RunDetail, error) {
	for tick := time.NewTicker(50 * time.Millisecond); ; {
		got, err := c.GetRunWithResponse(ctx, id)
		if err != nil || got.JSON200 == nil {
			return nil, fmt.Errorf("get a run: %w %s", err, body(got))
		}
		if got.JSON200.EndedAt != nil {
			return got.JSON200, nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// listed reads the list of runs page by page.
func listed(ctx context.Context, c *api.ClientWithResponses, want []string) error {
	one, filter := int64(1), "plan:fetch status:failed"
	params := &api.ListRunsParams{Limit: &one, Filter: &filter}
	var found []string
	for more := true; more; {
		list, err := c.ListRunsWithResponse(ctx, params)
		if err != nil || list.JSON200 == nil || len(list.JSON200.Items) > 1 {
			return fmt.Errorf("list runs: %w %s", err, body(list))
		}
		for _, r := range list.JSON200.Items {
			found = append(found, r.Id)
		}
		params.Cursor, more = list.JSON200.NextCursor, list.JSON200.HasMore
	}
	slices.Reverse(found) // newest first
	if !slices.Equal(found, want) {
		return fmt.Errorf("the pages have the runs %v, want %v", found, want)
	}
	return nil
}

// resumed resumes a failed run, which then completes.
func resumed(ctx context.Context, c *api.ClientWithResponses, id string) error {
	reason := "the target works"
	resumed, err := c.ResumeRunWithResponse(ctx, id, nil, api.RunResume{Reason: &reason})
	if err != nil || resumed.JSON200 == nil {
		return fmt.Errorf("resume a run: %w %s", err, body(resumed))
	}
	if run, err := resumed.JSON200.AsRun(); err != nil || run.Id != id {
		return fmt.Errorf("the resumed run is %+v: %w", run, err)
	}
	run, err := ended(ctx, c, id)
	if err != nil || run.Status != api.RunDetailStatusCompleted {
		return fmt.Errorf("the resumed run is %+v: %w", run, err)
	}
	return nil
}

// body returns the text of a response, for messages.
func body(r any) string { return fmt.Sprintf("%+v", r) }
