package plans_test

import (
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/web/webtest"
)

// badPlans returns the documents of the planner's tests, which produce every problem that the
// planner can report, and the codes of these problems.
func badPlans(t *testing.T) (plans map[string]string, codes map[string]bool) {
	t.Helper()
	files, err := filepath.Glob("../../planner/testdata/problems/*.txt")
	if err != nil || len(files) < 5 {
		t.Fatalf("%d files of cases: %v", len(files), err)
	}
	plans, codes = map[string]string{}, map[string]bool{}
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range strings.Split("\n"+string(src), "\n== ")[1:] {
			title, rest, _ := strings.Cut(c, "\n")
			document, problems, _ := strings.Cut("\n"+rest, "\n-- problems\n")
			plans[filepath.Base(file)+": "+title] = strings.TrimPrefix(document, "\n") + "\n"
			for _, m := range regexp.MustCompile(`(?m)^\d+:\d+ \w+ \[([a-z_.]+)\]`).FindAllStringSubmatch(problems, -1) {
				codes[m[1]] = true
			}
		}
	}
	return plans, codes
}

// configProblems are problems that depend on the configuration, so that no document alone produces them
// here. The values are the reasons.
var configProblems = map[string]string{
	"node.tool_denied":   "a tool that is denied in runs of the plan is needed: a matter of the configuration",
	"node.model_unknown": "an agent with a list of models is needed: a matter of the configuration",
}

// Every problem and warning of a plan appears in the editor with its position, step, message, and
// suggestion. The API returns the same.
func TestEveryProblemOfAPlanStandsInTheEditor(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	b := site.Browser(t).Login()
	token, _, err := site.Auth.CreateToken(t.Context(), site.Admin, "check", domain.RoleAuthor, nil, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	form := b.Get("/plans/new").Hidden()
	plans, codes := badPlans(t)
	heard := map[string]bool{}
	for name, source := range plans {
		_, problems := site.Engine.CheckPlan([]byte(source), planner.FormatOf("", []byte(source)))
		for _, p := range problems {
			heard[p.Code] = true
		}
		send := url.Values{"source": {strings.ReplaceAll(source, "\n", "\r\n")}} // browsers send CRLF
		for k, v := range form {
			if k != "source" {
				send[k] = v
			}
		}
		page := b.Post("/plans/check", send)
		if page.Code != http.StatusOK {
			t.Errorf("%s: got status %d, want %d", name, page.Code, http.StatusOK)
			continue
		}
		_, list, _ := strings.Cut(page.Body, `<ul class="problems">`)
		list, _, _ = strings.Cut(list, "</ul>")
		rows := strings.Split(list, "<li>")[1:]
		if len(rows) != len(problems) {
			t.Errorf("%s: %d rows for %d problems", name, len(rows), len(problems))
			continue
		}
		for i, p := range problems {
			row := plain(rows[i])
			wants := []string{string(p.Severity), shown(p.Message.String()), shown(p.Suggestion.String()), p.Code}
			if shown(p.Node) == p.Node { // pages replace invisible characters
				wants = append(wants, p.Node)
			}
			if p.Line > 0 {
				wants = append(wants, fmt.Sprintf("line %d, column %d", p.Line, p.Column))
				if !strings.Contains(rows[i], fmt.Sprintf(`href="#L%d"`, p.Line)) {
					t.Errorf("%s: no link to line %d: %s", name, p.Line, rows[i])
				}
			}
			for _, want := range wants {
				if !strings.Contains(row, want) {
					t.Errorf("%s: %q is not in %q", name, want, row)
				}
			}
		}
		checkAPIProblems(t, site, token, name, source, problems)
	}
	for code := range codes {
		switch why := configProblems[code]; {
		case heard[code] && why != "":
			t.Errorf("%s does occur, although listed as impossible here: %s", code, why)
		case !heard[code] && why == "":
			t.Errorf("no test case produces %s in the editor", code)
		}
	}
}

// shown returns a text as pages show it, without invisible characters and repeated blanks.
func shown(s string) string {
	return strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		if r < 32 || r > 126 {
			return ' '
		}
		return r
	}, s)), " ")
}

// plain returns the text of a fragment of HTML.
func plain(markup string) string {
	return shown(html.UnescapeString(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(markup, " ")))
}

func checkAPIProblems(t *testing.T, site *webtest.Site, token, name, source string, want planner.Problems) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, site.URL+"/api/v1/plan-checks", strings.NewReader(source))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/yaml")
	if planner.FormatOf("", []byte(source)) == planner.FormatJSON {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var got struct{ Problems planner.Problems }
	if err := json.NewDecoder(resp.Body).Decode(&got); err != nil || len(got.Problems) != len(want) {
		t.Errorf("%s over the API: status %d, %d of %d problems, %v", name, resp.StatusCode, len(got.Problems), len(want), err)
		return
	}
	for i := range want {
		if g := got.Problems[i]; g.String() != want[i].String() || g.Code != want[i].Code || g.Severity != want[i].Severity ||
			g.Node != want[i].Node {
			t.Errorf("%s over the API: %+v, want %+v", name, got.Problems[i], want[i])
		}
	}
}

// Users whose language is Spanish see the problems of plans in Spanish, with the names from the
// plan.
func TestProblemsInSpanish(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	b := site.Browser(t).Login()
	form := b.Get("/plans/new").Hidden()
	check := func(source, lang string) string {
		t.Helper()
		form.Set("source", source)
		req := webtest.Request(
			t,
			http.MethodPost,
			site.URL+"/plans/check",
			form.Encode(),
			"Content-Type",
			"application/x-www-form-urlencoded",
			"Origin",
			site.URL,
			"Sec-Fetch-Site",
			"same-origin",
			"HX-Request",
			"true",
			"HX-Target",
			"problems",
			"Accept-Language",
			lang,
		)
		return b.Do(req).Body
	}
	plans, _ := badPlans(t)
	for name, source := range plans {
		_, problems := site.Engine.CheckPlan([]byte(source), planner.FormatOf("", []byte(source)))
		if len(problems) == 0 {
			continue
		}
		shownCodes := 0
		page := plain(check(source, "es"))
		for _, p := range problems {
			if text := shown(p.Message.String()); p.Message.Text != "%s" && strings.ContainsAny(text, " ") && strings.Contains(page, text) {
				t.Errorf("%s: %q is not translated", name, text)
			}
			if strings.Contains(page, p.Code) {
				shownCodes++
			}
		}
		if shownCodes != len(problems) {
			t.Errorf("%s: %d of %d problems are shown", name, shownCodes, len(problems))
		}
	}
	const source = "id: x\nnodes:\n  a: {type: calculatr}\n"
	if page := check(source, "es"); !strings.Contains(plain(page), `error a tipo de paso desconocido "calculatr"`) {
		t.Errorf("in Spanish: %s", webtest.Text(page))
	}
	if page := check(source, "en"); strings.Contains(page, "lang=") ||
		!strings.Contains(plain(page), `error a unknown step type "calculatr"`) {
		t.Errorf("in English: %s", webtest.Text(page))
	}
}
