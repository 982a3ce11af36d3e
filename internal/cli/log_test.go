package cli_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
)

// S25: every line of the log is one JSON object of kairosd, whatever an untrusted client sends.
func TestLogLinesCannotBeForged(t *testing.T) {
	t.Parallel()
	d := serve(t, filepath.Join(t.TempDir(), "data"), "--verbose")
	forged := "x\n{\"level\":\"ERROR\",\"msg\":\"forged\"}\r\n"
	for _, send := range []func() (*http.Response, error){
		func() (*http.Response, error) {
			return http.PostForm(d.url+"/login", url.Values{"csrf": {"anonymous"}, "name": {forged}, "password": {forged}})
		},
		func() (*http.Response, error) { return http.Get(d.url + "/" + url.PathEscape(forged)) },
		func() (*http.Response, error) {
			req, err := http.NewRequest(http.MethodGet, d.url+"/api/v1/runs?cursor="+url.QueryEscape(forged), nil)
			if err != nil {
				return nil, err
			}
			req.Header.Set("Authorization", "Bearer kro_"+strings.Repeat("x", 60))
			return http.DefaultClient.Do(req)
		},
	} {
		resp, err := send()
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
	}
	d.start(t, "id: say\nnodes: {a: {type: log, input: \"x\\n{\\\"msg\\\":\\\"forged\\\"}\"}}\n")
	if code := d.end(t); code != 0 {
		t.Errorf("exit %d", code)
	}
	for line := range strings.Lines(d.log.String()) {
		var entry struct{ Msg string }
		if err := json.Unmarshal([]byte(line), &entry); err != nil || entry.Msg == "forged" || entry.Msg == "" {
			t.Errorf("a line that kairosd did not write: %q", line)
		}
	}
}
