package run_test

import (
	"strings"
	"testing"

	"github.com/kairosd/kairosd/web/webtest"
)

// A run of 10,000 steps is shown on one page with few rows. There is one row per step of the plan,
// with failures separately, and the rest in pages on request.
func TestATimelineOfTenThousandStepsStaysSmall(t *testing.T) {
	t.Parallel()
	o := &storyServer{runs: []*story{manyStory(t, "01jr8k2mf0s0000000007qx4", 10_000)}}
	path := "/runs/" + o.runs[0].run.ID
	for query, c := range map[string]struct {
		rows  int
		wants []string
	}{
		"": {9, []string{"send ×10,000", "5 failed · 9,995 completed", "show all 10,000", "send [1998]"}},
		// The page with the first failure.
		"?open=send":              {55, []string{"1,951 to 2,000 of 10,000", "Previous", "Next", "open=send%401901", "open=send%402001"}},
		"?open=send@9951":         {55, []string{"9,951 to 10,000 of 10,000", "send [9999]"}},
		"?open=send@1":            {55, []string{"1 to 50 of 10,000", "send [0]"}},
		"?only=failed":            {7, []string{"send ×5", "send [9994]"}},
		"?only=ok&sort=took":      {3, []string{"send ×9,995"}},
		"?step=5000":              {10, []string{"send [4997]"}},
		"?from=1m0s&to=1m10s":     {9, []string{"is outside the visible range", "Show from 1m 2s on"}},
		"?critical=show":          {9, []string{"of work in a run of"}},
		"?open=nothing&rows=junk": {9, nil},
	} {
		body := o.look(t, path+query)
		table := body[strings.Index(body, `<table class="timeline"`):]
		table = table[:strings.Index(table, "</table>")]
		if n := strings.Count(table, "<tr"); n > c.rows {
			t.Errorf("%s: %d rows, at most %d are expected", query, n, c.rows)
		}
		for _, want := range c.wants {
			if !strings.Contains(body, want) {
				t.Errorf("%s does not say %q", query, want)
			}
		}
		if n := webtest.Packed(t, body); n > 14<<10 {
			t.Errorf("%s: %d bytes packed", query, n)
		}
	}
}

// The timeline omits idle time and shows what the run waited for. All settings are links.
func TestTheTimelineCutsIdleTime(t *testing.T) {
	t.Parallel()
	o := &storyServer{runs: []*story{waitingStory(t), failedStory(t), forkStory(t), loopStory(t)}}
	for path, wants := range map[string][]string{
		"/runs/" + o.runs[0].run.ID: {"15m 47s waiting for approval at ask_human", "Show idle time",
			`fill="url(#cut)"`, `class="g-human"`, "not taken: has_attachments led to ocr_pages"},
		"/runs/" + o.runs[0].run.ID + "?idle=show": {"Hide idle time"},
		"/runs/" + o.runs[1].run.ID: {"3 of 3 attempts", `fill="url(#hatch)"`, `class="g-notch"`,
			`class="g-wait"`, "12.4k tokens", "side effects", "Failing part"},
		"/runs/" + o.runs[1].run.ID + "?critical=show": {"fetch_invoices → classify → has_attachments → ocr_pages → handoff_extractor → extract_totals", `class="g-crit"`, "on the critical path"},
		"/runs/" + o.runs[1].run.ID + "?from=1m0s":     {"Show until", "3 steps are outside the visible range."},
		"/runs/" + o.runs[2].run.ID:                    {`class="g-reuse"`, "from 7qx2", "#i-reuse"},
		"/runs/" + o.runs[3].run.ID + "?open=1":        {"tool:http", "fold", "improve #3"},
	} {
		body := o.look(t, path)
		for _, want := range wants {
			if !strings.Contains(body, want) {
				t.Errorf("%s does not say %q", path, want)
			}
		}
	}
}

// The other views of such a run are also bounded.
func TestViewsOfALargeRunStaySmall(t *testing.T) {
	t.Parallel()
	o := &storyServer{runs: []*story{manyStory(t, "01jr8k2mf0s0000000007qx4", 10_000), wideStory(t, "01jr8k2mf0s0000000007qxb", 5000)}}
	for _, s := range o.runs {
		for _, query := range []string{"view=events", "view=events&kinds=result&rows=1001", "view=state",
			"view=state&cp=9000&against=3000", "view=handoffs", "view=log", "view=io", "view=graph&mode=ran"} {
			body := o.look(t, "/runs/"+s.run.ID+"?"+query)
			if n := len(body); n > 400<<10 {
				t.Errorf("%s: %d bytes", query, n)
			}
			if n := webtest.Packed(t, body); n > 30<<10 {
				t.Errorf("%s: %d bytes packed", query, n)
			}
		}
	}
	if body := o.look(t, "/runs/"+o.runs[0].run.ID+"?view=events&rows=1001"); !strings.Contains(body, "Rows 1,001 to 1,500 of 10,002") {
		t.Error("the events have no pages")
	}
}
