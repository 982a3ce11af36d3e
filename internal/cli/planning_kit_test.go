package cli_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// planningConfig has four agents and a planning model on a local server.
func (s *shell) planningConfig(url, more string) string {
	return s.file("kairos.yaml", fmt.Sprintf(`
providers: {local: {type: openai, base_url: %q, model: test-model}}
agents:
  - {id: clerk, name: Clerk, description: Collects figures., capabilities: [figures], system_prompt: You are the clerk.}
  - {id: writer, name: Writer, description: Writes texts., capabilities: [writing], system_prompt: You are the writer.}
  - {id: moderator, name: Moderator, description: Moderates texts., system_prompt: You moderate.}
  - {id: seo, name: SEO, description: Ranks texts., system_prompt: You rank.}
default_agent: clerk
%s`, url+"/v1", more))
}

// json runs a successful command, and decodes its output.
func (s *shell) json(into any, args ...string) {
	s.t.Helper()
	out, _ := s.expect(0, args...)
	if err := json.Unmarshal([]byte(out), into); err != nil {
		s.t.Fatalf("%v\n%s", err, out)
	}
}

// call sends a request to the API of the shell's daemon.
func (s *shell) call(t *testing.T, method, path, body string, into any) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, s.env["KAIROS_SERVER"]+"/api/v1"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+s.env["KAIROS_TOKEN"])
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode >= 300 {
		t.Fatalf("%s %s: %s", method, path, res.Status)
	}
	if err := json.NewDecoder(res.Body).Decode(into); err != nil {
		t.Fatal(err)
	}
}

// blogConfig has the four skills of [001] as shipped.
func (s *shell) blogConfig(url string) string {
	return s.planningConfig(url, `
planner: {mode: rules}
skills:
  - {id: generate_content, description: Write a text, keywords: {en: [write, create, generate]}, params: {topic: {}, tone: {}, length: {}}, produces: [content], guarded_by: [moderate_content],
     implies: [summarize_content, analyze_seo], output_schema: {type: object, required: [content], properties: {content: {type: string}}}, estimated_ms: 8000, estimated_tokens: 1500, agent: writer}
  - {id: analyze_seo, description: Rank the text, keywords: {en: [seo]}, consumes: {contentSource: content}, depends_on: [generate_content], estimated_ms: 3000, estimated_tokens: 400, agent: seo}
  - {id: moderate_content, description: Moderate the text, keywords: {en: [moderate]}, consumes: {contentSource: content}, depends_on: [generate_content], estimated_ms: 2000, estimated_tokens: 200, agent: moderator}
  - {id: summarize_content, description: Summarize the text, keywords: {en: [summary, summarize]}, consumes: {contentSource: content}, depends_on: [generate_content],
     gate: {skill: moderate_content, expr: result.approved}, defaults: {maxLength: 150}, estimated_ms: 2000, estimated_tokens: 300, agent: writer}
`)
}
