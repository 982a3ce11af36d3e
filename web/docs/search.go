package docs

import (
	"cmp"
	"io/fs"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/yuin/goldmark/ast"
	tables "github.com/yuin/goldmark/extension/ast"
)

// passage is the text under one heading of a page.
type passage struct {
	page, title, href, heading, text string

	body, inHeading, inTitle map[string]int // number of occurrences, by term
	length                   int            // number of terms in the body
	subjects                 int            // number of terms in the heading, except ignored ones
}

// searchIndex contains all passages, and the number of passages that contain each term.
type searchIndex struct {
	passages         []*passage
	passagesWithTerm map[string]int
	average          float64 // average length of a passage, in terms
}

// read splits all pages into passages.
func (l *library) read() *searchIndex {
	index := &searchIndex{passagesWithTerm: map[string]int{}}
	_ = fs.WalkDir(l.files, ".", func(file string, _ fs.DirEntry, err error) error {
		name, ok := strings.CutSuffix(file, ".md")
		if err != nil || !ok || name == indexPage {
			return err
		}
		source, err := l.source(name)
		if err != nil {
			return err
		}
		doc := l.parse(name, source)
		title := titleOf(doc, source)
		current := &passage{page: name, title: title, heading: title, href: "/docs/" + name}
		for n := doc.FirstChild(); n != nil; n = n.NextSibling() {
			h, ok := n.(*ast.Heading)
			if !ok {
				current.text += plain(n, source) + " "
				continue
			}
			if h.Level == 1 {
				continue
			}
			index.add(current)
			id, _ := h.AttributeString("id")
			anchor, _ := id.([]byte)
			current = &passage{page: name, title: title, heading: plain(h, source), href: "/docs/" + name + "#" + string(anchor)}
		}
		index.add(current)
		if name == glossaryPage {
			index.addTerms(current, doc, source)
		}
		return nil
	})
	index.average = max(1, index.average/float64(max(1, len(index.passages))))
	return index
}

// glossaryPage is the page whose table rows become passages.
const glossaryPage = "reference/glossary"

// addTerms adds each table row of a page as a passage with the first cell as its heading.
func (x *searchIndex) addTerms(of *passage, doc ast.Node, source []byte) {
	_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if _, ok := n.(*tables.TableRow); !ok || !entering {
			return ast.WalkContinue, nil
		}
		term, meaning := n.FirstChild(), n.LastChild()
		x.add(&passage{page: of.page, title: of.title, href: of.href, heading: plain(term, source), text: plain(meaning, source)})
		return ast.WalkSkipChildren, nil
	})
}

func (x *searchIndex) add(p *passage) {
	p.body, p.inHeading, p.inTitle = counted(p.text), counted(p.heading), counted(p.title)
	for _, n := range p.body {
		p.length += n
	}
	for t := range p.inHeading {
		if !ignored[t] {
			p.subjects++
		}
	}
	x.average += float64(p.length)
	seen := map[string]bool{}
	for _, terms := range []map[string]int{p.body, p.inHeading, p.inTitle} {
		for t := range terms {
			if !seen[t] {
				seen[t] = true
				x.passagesWithTerm[t]++
			}
		}
	}
	x.passages = append(x.passages, p)
}

func counted(text string) map[string]int {
	out := map[string]int{}
	for _, t := range terms(text) {
		out[t]++
	}
	return out
}

var (
	word  = regexp.MustCompile(`[\pL\pN_.#-]+`)
	parts = regexp.MustCompile(`[\pL\pN]+`)
)

// terms returns the stems of the words in a text. A name such as on_timeout results in one term for
// the name and one for each part.
func terms(text string) (out []string) {
	for _, w := range word.FindAllString(joined(text), -1) {
		w = strings.Trim(w, ".-#")
		if w == "" {
			continue
		}
		out = append(out, stem(w))
		if ps := parts.FindAllString(w, -1); len(ps) > 1 {
			for _, p := range ps {
				out = append(out, stem(p))
			}
		}
	}
	return out
}

// joined returns a text in lower case in which terms of several words are one word.
func joined(text string) string {
	return strings.NewReplacer("back up", "backup", "log in", "login", "e-mail", "email",
		"human-in-the-loop", "approval", "human in the loop", "approval").Replace(strings.ToLower(text))
}

// stem removes English suffixes, so that "retries" finds "retry".
func stem(w string) string {
	if len(w) < 5 {
		return strings.TrimSuffix(w, "s")
	}
	for _, ending := range [][2]string{{"ies", "y"}, {"ied", "y"}, {"ing", ""}, {"ed", ""}, {"es", ""}, {"s", ""}, {"e", ""}} {
		if s, ok := strings.CutSuffix(w, ending[0]); ok && len(s) >= 3 {
			w = s + ending[1]
			break
		}
	}
	if n := len(w); n > 4 && w[n-1] == w[n-2] && !strings.ContainsRune("aeiouls", rune(w[n-1])) {
		w = w[:n-1] // stopped becomes stop
	}
	return w
}

// ignored are words of questions that do not describe a subject.
var ignored = stems(`a an and are as at be but by can could did do does for from get had has have how i if in into is it its kairos may
kairosd me my now of on or our should so that the then there this to use was we what when where which who why will with you your`)

// synonyms maps words that people search for to the words that the documentation uses.
var synonyms = synonymsOf(map[string]string{
	"2fa": "second factor", "airflow": "comparison", "alert": "notification webhook email", "apikey": "key", "blackout": "crash",
	"budget": "limit", "bug": "error failure", "cheap": "cost", "cli": "command", "client": "api", "cluster": "machine",
	"conditional": "condition branch", "config": "configuration", "cron": "schedule", "dag": "plan", "dark": "theme", "die": "crash",
	"docker": "container", "duplicate": "twice repeat", "else": "branch default", "emergency": "maintenance pause",
	"encryption": "encrypt", "expensive": "cost", "fail": "crash failure error", "flow": "plan", "forgot": "lost password passwd",
	"forgotten": "lost password passwd", "freeze": "wait stuck", "full": "space", "gdpr": "delete retention", "go": "golang embed",
	"golang": "go embed", "grafana": "prometheus", "hang": "wait timeout", "hold": "held release", "https": "tls certificate",
	"human": "approval", "job": "run step", "k8s": "container", "kill": "crash", "kubernetes": "container", "library": "embed",
	"llm": "model provider", "locked": "hold", "mail": "email", "memory": "session", "mfa": "second factor", "migrate": "upgrade",
	"mock": "stub override", "money": "cost", "move": "restore", "mysql": "database", "nginx": "proxy", "node": "step",
	"oidc": "openid sign-on", "outage": "crash", "pipeline": "plan", "port": "listen address", "postgres": "database",
	"power": "crash restart", "price": "cost", "proxy": "reverse", "queue": "slot", "reboot": "crash restart",
	"recover": "restore crash", "repeat": "retry", "reset": "passwd lost set", "retry": "attempt", "roll": "restore",
	"rollback": "restore", "saml": "openid oidc", "sdk": "go api client", "secret": "key", "sensor": "wait", "signal": "approval",
	"slack": "webhook notification", "spend": "cost", "sso": "openid oidc", "ssrf": "private", "stop": "cancel pause",
	"stuck": "wait", "switch": "branch condition", "task": "step", "totp": "second factor", "trigger": "start",
	"undo": "restore fork", "update": "upgrade", "user": "account", "variable": "value constant", "wait": "pending",
	"webhook": "notification", "workflow": "plan",
})

func stems(text string) map[string]bool {
	out := map[string]bool{}
	for _, t := range terms(text) {
		out[t] = true
	}
	return out
}

func synonymsOf(words map[string]string) map[string][]string {
	out := map[string][]string{}
	for w, others := range words {
		out[stem(w)] = terms(others)
	}
	return out
}

// hit is a search result.
type hit struct {
	Title, Heading, Href string
	Before, Match, After string
	score                float64
}

const (
	maxHits       = 30
	excerptMargin = 90  // letters shown on each side of a match
	minScore      = 0.6 // minimum share of a question, weighted by rarity, that a passage must contain
	asSynonym     = 0.6 // weight of a synonym
	forHeading    = 4.0 // weight of a heading, relative to the body
	forTitle      = 1.0
	byLength      = 0.75 // penalty for long passages (b in BM25)
	saturation    = 1.2  // saturation of repeated terms (k1 in BM25)
)

// importance returns the weight of a page. Answers and tasks rank first. Reference lists and pages
// for contributors rank last.
func importance(page string) float64 {
	switch folder, _, _ := strings.Cut(page, "/"); {
	case folder == "faq" || folder == "troubleshooting" || folder == "guides" || page == "reference/plan-language":
		return 1.3
	case page == "reference/events" || page == "reference/errors":
		return 0.4
	case page == glossaryPage:
		return 0.5
	case folder == "internals":
		return 0.4
	}
	return 1
}

// search returns the passages that match a question, the best first.
func (l *library) search(query string) (out []hit) {
	index := l.passages()
	words := queryTerms(query)
	if len(words) == 0 {
		return nil
	}
	total := 0.0
	for _, w := range words {
		total += index.rarity(w)
	}
	for _, p := range index.passages {
		score, found := 0.0, 0.0
		for _, w := range words {
			if of := index.weight(p, w); of > 0 {
				score += index.rarity(w) * of
				found += index.rarity(w)
			}
		}
		if found < minScore*total {
			continue
		}
		score *= found / total
		score *= importance(p.page)
		h := hit{Title: p.title, Heading: p.heading, Href: p.href, score: score}
		h.Before, h.Match, h.After = excerpt(p.text, words)
		out = append(out, h)
	}
	slices.SortStableFunc(out, func(a, b hit) int { return cmp.Compare(b.score, a.score) })
	seen := map[string]bool{}
	out = slices.DeleteFunc(out, func(h hit) bool { // rows of one page share an address
		again := seen[h.Href]
		seen[h.Href] = true
		return again
	})
	return out[:min(len(out), maxHits)]
}

// queryTerms returns the terms of a question without ignored words. It keeps them if there are no
// others.
func queryTerms(query string) []string {
	all := words(query)
	if few := slices.DeleteFunc(slices.Clone(all), func(w string) bool { return ignored[w] }); len(few) > 0 {
		return few
	}
	return all
}

// words returns the distinct stems of the first 12 words of a query.
func words(query string) (out []string) {
	for _, w := range word.FindAllString(joined(query), 12) {
		for _, t := range terms(w)[:min(1, len(terms(w)))] {
			if !slices.Contains(out, t) {
				out = append(out, t)
			}
		}
	}
	return out
}

// rarity returns the weight of a term. It is higher if fewer passages contain the term.
func (x *searchIndex) rarity(term string) float64 {
	return math.Log(1 + float64(len(x.passages))/float64(1+x.passagesWithTerm[term]))
}

// weight returns how well a passage matches a term or one of its synonyms.
func (x *searchIndex) weight(p *passage, term string) float64 {
	best := x.occurs(p, term)
	for _, s := range synonyms[term] {
		best = max(best, asSynonym*x.occurs(p, s))
	}
	return best
}

func (x *searchIndex) occurs(p *passage, term string) float64 {
	n := float64(p.body[term])
	weight := n / (n + saturation*(1-byLength+byLength*float64(p.length)/x.average))
	if p.inHeading[term] > 0 {
		weight += forHeading / math.Sqrt(float64(max(1, p.subjects)))
	}
	if p.inTitle[term] > 0 {
		weight += forTitle
	}
	return weight
}

// excerpt returns the text around the first matching word.
func excerpt(s string, words []string) (before, match, after string) {
	for _, at := range word.FindAllStringIndex(s, -1) {
		for _, t := range terms(s[at[0]:at[1]]) {
			if !slices.Contains(words, t) {
				continue
			}
			before, match, after = s[:at[0]], s[at[0]:at[1]], s[at[1]:]
			if r := []rune(before); len(r) > excerptMargin {
				before = "…" + string(r[len(r)-excerptMargin:])
			}
			if r := []rune(after); len(r) > excerptMargin {
				after = string(r[:excerptMargin]) + "…"
			}
			return before, match, after
		}
	}
	r := []rune(s)
	return "", "", string(r[:min(len(r), 2*excerptMargin)])
}
