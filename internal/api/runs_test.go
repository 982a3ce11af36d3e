package api_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/internal/api"
)

func TestStartRun(t *testing.T) {
	t.Parallel()
	s := serve(t)
	s.world.Engine.Save("{id: p, nodes: {a: {type: set, input: 1}}}")
	a := s.ask(t, "operator", "POST /runs", `{"plan":"p","input":{"n":12345678901234567890.10},"priority":2,"labels":{"env":"prod"},
		"limits":{"maxDuration":"1h"},"startAt":"2130-01-01T00:00:00Z","concurrency":{"key":"k","limit":1,"onConflict":"queue"}}`)
	if a.status != 201 || a.json["id"] == "" || a.json["status"] != "queued" ||
		a.header.Get("Location") != api.Base+"/runs/"+a.json["id"].(string) {
		t.Fatalf("POST /runs = %d %s", a.status, a.text)
	}
	got, err := s.world.Store.Run(t.Context(), a.json["id"].(string))
	if err != nil || string(got.Input) != `{"n":12345678901234567890.10}` {
		t.Errorf("the input became %s: numbers keep their text; %v", got.Input, err)
	}
	if got.Limits.MaxDuration.Hours() != 1 || got.Concurrency.OnConflict != "queue" || got.StartAt.Year() != 2130 ||
		got.Labels["env"] != "prod" ||
		got.Priority != 2 {
		t.Errorf("started %+v", got)
	}
	first := s.ask(t, "operator", "POST /runs", `{"plan":"p","key":"nightly"}`)
	if first.status != 201 {
		t.Fatalf("%d %s", first.status, first.text)
	}
	s.world.Engine.Settle(first.json["id"].(string))
	again := s.ask(t, "operator", "POST /runs", `{"plan":"p","key":"nightly"}`)
	if again.status != 200 || first.json["id"] != again.json["id"] {
		t.Errorf("the same key returned %d %s, then %d %s", first.status, first.text, again.status, again.text)
	}
}

func TestListsArePaged(t *testing.T) {
	t.Parallel()
	s := serve(t)
	var seen []string
	cursor, pages := "", 0
	for {
		a := s.ask(t, "viewer", "GET /runs?limit=2&status=failed,completed&cursor="+cursor, "")
		if a.status != 200 {
			t.Fatalf("page %d: %d %s", pages, a.status, a.text)
		}
		for _, i := range a.json["items"].([]any) {
			seen = append(seen, i.(map[string]any)["id"].(string))
		}
		pages++
		if a.json["nextCursor"] == nil {
			break
		}
		cursor = a.json["nextCursor"].(string)
		for name, q := range map[string]struct{ as, line string }{
			"another filter":    {"viewer", "GET /runs?limit=2&status=failed&cursor=" + cursor},
			"another list":      {"viewer", "GET /plans?cursor=" + cursor},
			"another principal": {"operator", "GET /runs?limit=2&status=failed,completed&cursor=" + cursor},
			"one bit":           {"viewer", "GET /runs?limit=2&status=failed,completed&cursor=" + flip(cursor)},
		} {
			if a := s.ask(t, q.as, q.line, ""); a.status != 400 || a.json["reason"] != "cursor.invalid" {
				t.Errorf("A33: a cursor is accepted by %s: %d %s", name, a.status, a.text)
			}
		}
	}
	if pages != 3 || len(seen) != 5 || !slices.IsSortedFunc(seen, func(a, b string) int { return strings.Compare(b, a) }) {
		t.Errorf("%d pages gave %v", pages, seen)
	}
	for line, want := range map[string]int{"status=failed": 0, "status=failed,completed": 5, "plan=p": 5,
		"plan=" + s.world.runs[0].PlanID: 5, "plan=q": 0,
		"label=env=prod&label=team=y": 0, "attention=true": 0, "text=boom": 0, "filter=plan:p": 5} {
		if a := s.ask(t, "viewer", "GET /runs?"+line, ""); a.status != 200 || len(a.json["items"].([]any)) != want {
			t.Errorf("%s: %d %s, want %d runs", line, a.status, a.text, want)
		}
	}
	s.ask(t, "operator", "POST /runs", `{"plan":"p","labels":{"env":"prod","team":"x"}}`)
	for _, line := range []string{"label=env=prod", "label=env=prod&label=team:x"} {
		if a := s.ask(t, "viewer", "GET /runs?"+line, ""); len(a.json["items"].([]any)) != 1 {
			t.Errorf("%s: %d %s", line, a.status, a.text)
		}
	}
}

func flip(s string) string {
	b := []byte(s)
	if b[3] == 'A' {
		b[3] = 'B'
	} else {
		b[3] = 'A'
	}
	return string(b)
}

// Lists that are read in parts are filtered, too. Each page has only matching items, and all pages
// together have all of them.
func TestPartsOfAListAreFiltered(t *testing.T) {
	t.Parallel()
	s := serve(t)
	for _, kind := range []string{"user_update", "tool_accept", "user_update"} {
		s.world.emit(kind)
	}
	run := "/runs/" + s.world.runs[0].ID
	for line, want := range map[string]int{
		run + "/journal?filter=node:b&limit=1":          1,
		run + "/journal?filter=-node:b&limit=1":         2,
		run + "/events?filter=type:user_update&limit=1": 2,
		run + "/events?filter=accept":                   1,
		"/sessions?filter=nothing":                      0,
	} {
		found := 0
		for at := line; at != ""; {
			a := s.ask(t, "viewer", "GET "+at, "")
			if a.status != 200 {
				t.Fatalf("%s: %d %s", at, a.status, a.text)
			}
			found += len(a.json["items"].([]any))
			if at = ""; a.json["hasMore"] == true {
				at = line + "&cursor=" + a.json["nextCursor"].(string)
			}
		}
		if found != want {
			t.Errorf("%s: %d items, want %d", line, found, want)
		}
	}
	for _, line := range []string{run + "/journal?filter=color:red", run + "/events?filter=color:red"} {
		if a := s.ask(t, "viewer", "GET "+line, ""); a.status != 422 {
			t.Errorf("%s: %d %s", line, a.status, a.text)
		}
	}
}

// A time in a query is a duration before now, or a time.
func TestTimesInAQuery(t *testing.T) {
	t.Parallel()
	s := serve(t)
	for line, want := range map[string]int{"/runs?since=24h": 200, "/runs?until=7d": 200, "/runs?since=2001-01-31T08:00:00Z": 200,
		"/runs?since=soon": 400, "/audit/events?until=soon": 400, "/audit/events?since=24h": 200, "/plans/p/flow?since=soon": 400} {
		if a := s.ask(t, "viewer", "GET "+line, ""); a.status != want || want == 400 && a.json["reason"] != "time.invalid" {
			t.Errorf("%s: %d %s", line, a.status, a.text)
		}
	}
}

// A run starts before the first row of its journal.
func TestARunStartsBeforeItsFirstRow(t *testing.T) {
	t.Parallel()
	s := serve(t)
	for _, run := range s.world.runs {
		rows, err := s.world.Store.Journal(t.Context(), run.ID, 0)
		if err != nil || len(rows) == 0 {
			t.Fatal(err)
		}
		if run.StartedAt.IsZero() || rows[0].At.Before(run.StartedAt) {
			t.Errorf("the run started at %s, and its first row has the time %s", run.StartedAt, rows[0].At)
		}
	}
}

func TestOneRun(t *testing.T) {
	t.Parallel()
	s := serve(t)
	run := s.world.runs[0].ID
	a := s.ask(t, "viewer", "GET /runs/"+run[len(run)-4:], "")
	if a.status != 200 || a.json["id"] != run || a.json["outputs"] == nil || a.json["path"] == nil {
		t.Errorf("GET /runs/tail = %d %s", a.status, a.text)
	}
	if !strings.Contains(a.text, "12345678901234567890.10") {
		t.Errorf("a number lost its digits: %s", a.text)
	}
	j := s.ask(t, "viewer", "GET /runs/"+run+"/journal?limit=2", "")
	if j.status != 200 || len(j.json["items"].([]any)) != 2 || j.json["hasMore"] != true {
		t.Errorf("journal = %d %s", j.status, j.text)
	}
	j = s.ask(t, "viewer", "GET /runs/"+run+"/journal?limit=2&cursor="+j.json["nextCursor"].(string), "")
	if len(j.json["items"].([]any)) != 1 || j.json["nextCursor"] != nil {
		t.Errorf("the rest of the journal = %s", j.text)
	}
	if p := s.ask(t, "operator", "POST /runs/"+run+"/fork?preview=true", `{"seq":2}`); p.status != 200 || p.json["digest"] == "" ||
		p.json["seq"] != 2.0 ||
		p.json["expected"] == nil {
		t.Errorf("preview = %d %s", p.status, p.text)
	}
}

// Every list has pages: limit sets their size, and the cursor continues the list.
func TestEveryListHasPages(t *testing.T) {
	t.Parallel()
	s := serve(t)
	s.world.Engine.Save("{id: q, nodes: {a: {type: set, input: 1}}}")
	s.world.account(t)
	run := s.world.runs[0].ID
	s.ask(t, "operator", "POST /schedules", `{"key":"nightly","plan":"q","cron":"@daily"}`)
	s.ask(t, "operator", "POST /hooks", `{"key":"orders","plan":"q","scheme":"bearer","secret":"S"}`)
	for _, text := range []string{"one", "two", "three"} {
		s.ask(t, "operator", "POST /runs/"+run+"/notes", `{"text":"`+text+`"}`)
		s.ask(t, "operator", "POST /views", `{"name":"`+text+`","filter":"status:failed"}`)
	}
	for path, methods := range whole().Paths {
		op := methods["get"]
		if !strings.HasPrefix(op.OperationID, "list-") && !strings.HasPrefix(op.OperationID, "search-") {
			continue
		}
		line := "GET " + strings.NewReplacer("/runs/{id}", "/runs/"+run, "/plans/{id}", "/plans/p", "/schedules/{id}",
			"/schedules/nightly", "/hooks/{id}", "/hooks/orders").Replace(path)
		all := s.ask(t, "admin", line+"?limit=200", "")
		if all.status != 200 || all.json["hasMore"] != false || all.json["nextCursor"] != nil {
			t.Errorf("%s: %d %.300s", line, all.status, all.text)
			continue
		}
		seen, next := 0, ""
		for range 500 {
			page := s.ask(t, "admin", line+"?limit=1&cursor="+next, "")
			if page.status != 200 {
				t.Fatalf("%s: %d %s", line, page.status, page.text)
			}
			seen += len(page.json["items"].([]any))
			if page.json["hasMore"] == false {
				break
			}
			next = page.json["nextCursor"].(string)
		}
		if want := len(all.json["items"].([]any)); seen != want {
			t.Errorf("%s: %d items on pages of one, %d on one page", line, seen, want)
		}
	}
}
