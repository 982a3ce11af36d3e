package crashtest

import (
	"context"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/testing/failpoint"
	"github.com/kairosd/kairosd/planner"
)

// person uses the dashboard of a daemon in a browser.
type person struct {
	t *testing.T
	c *http.Client
}

func newPerson(t *testing.T) *person {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &person{t, &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

// get returns the text of a page.
func (p *person) get(at string) string {
	p.t.Helper()
	answer, err := p.c.Get(at)
	if err != nil {
		p.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	if answer.StatusCode != http.StatusOK {
		p.t.Fatalf("GET %s: %s\n%s", at, answer.Status, text)
	}
	return string(text)
}

// post sends a form and returns the address of its answer, or an error if there is none.
func (p *person) post(d *daemon, path string, form url.Values) (to string, err error) {
	p.t.Helper()
	r, err := http.NewRequest(http.MethodPost, strings.TrimSuffix(d.url, "/")+path, strings.NewReader(form.Encode()))
	if err != nil {
		p.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Origin", strings.TrimSuffix(d.url, "/"))
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	answer, err := p.c.Do(r)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return "", err
	}
	if answer.StatusCode != http.StatusSeeOther {
		p.t.Fatalf("POST %s: %s\n%s", path, answer.Status, text)
	}
	return answer.Header.Get("Location"), nil
}

var inputs = regexp.MustCompile(`<input type="hidden" name="([^"]*)" value="([^"]*)"`)

// hidden returns the hidden fields of a page's forms.
func hidden(text string) url.Values {
	form := url.Values{}
	for _, m := range inputs.FindAllStringSubmatch(text, -1) {
		form.Set(m[1], m[2])
	}
	return form
}

// A form of the dashboard starts a run. The daemon is killed after the run is stored and before it
// sends the response, and the browser sends the form again. There is one run, and the second
// response leads to it.
func TestAFormSentAgainAfterAKillStartsOneRun(t *testing.T) {
	t.Parallel()
	bin := build(t)
	for _, c := range []struct {
		name, page, post string
		before           int // number of runs without the form
	}{
		{"start", "/runs/new?plan=once", "/plans/once/start", 1},
		{"rerun", "/runs/RUN/rerun", "/runs/RUN/rerun", 1},
		{"fork", "/runs/RUN/fork?at=1", "/runs/RUN/fork", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
			defer cancel()
			data := filepath.Join(t.TempDir(), "data")
			config := configFile(t, "")
			d := start(t, bin, data, config)
			token, err := os.ReadFile(filepath.Join(data, "setup.token"))
			if err != nil {
				t.Fatal(err)
			}
			someone := newPerson(t)
			account := url.Values{
				"csrf":     {"anonymous"},
				"token":    {strings.TrimSpace(string(token))},
				"name":     {"ana"},
				"password": {"four unrelated words"},
			}
			if _, err := someone.post(d, "/setup?"+account.Encode(), account); err != nil {
				t.Fatal(err)
			}
			if _, _, _, problems, err := d.api.SavePlan(ctx, []byte("id: once\nnodes: {a: {type: set, input: 1}}\n"),
				planner.FormatYAML, "upload", ""); err != nil {
				t.Fatal(err, problems)
			}
			first, err := d.api.Start(ctx, domain.StartRequest{Plan: "once"})
			if err != nil {
				t.Fatal(err)
			}
			if err := follow(ctx, d.api, first.ID, func(r domain.Run) bool { return r.Status.Final() }); err != nil {
				t.Fatal(err)
			}
			d.kill(t)

			d = start(t, bin, data, config, failpoint.Env+"=kill=accept.after:1")
			someone = newPerson(t)
			if _, err := someone.post(d, "/login", account); err != nil {
				t.Fatal(err)
			}
			form := hidden(someone.get(strings.TrimSuffix(d.url, "/") + strings.ReplaceAll(c.page, "RUN", first.ID)))
			path := strings.ReplaceAll(c.post, "RUN", first.ID)
			if to, err := someone.post(d, path, form); err == nil {
				t.Fatalf("the daemon answered (%s), but should have been killed", to)
			}
			_ = d.cmd.Wait() // "signal: killed"

			d = start(t, bin, data, config)
			to, err := someone.post(d, path, form)
			if err != nil {
				t.Fatal(err)
			}
			runs, err := d.api.Runs(ctx, domain.RunFilter{})
			if err != nil {
				t.Fatal(err)
			}
			if len(runs.Items) != c.before+1 {
				t.Errorf("there are %d runs, want %d", len(runs.Items), c.before+1)
			}
			if id, ok := strings.CutPrefix(to, "/runs/"); !ok || id == first.ID {
				t.Errorf("the second answer leads to %s, not to the new run", to)
			}
		})
	}
}
