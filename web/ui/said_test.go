package ui

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/locale"
)

// libraryTexts are said by a library that checks values against schemas, or made of
// parts.
var libraryTexts = regexp.MustCompile(`^(minimum|maximum|min|max)[A-Za-z]*: got|^unknown key|^must be one of|^must be %s$|^%s was (skipped|cancelled)$|^%s failed$|^the decision of|^it read the output of|^its (input cannot|condition is)|^(a newer run|the run is %s|the run waits for %s$)|^input: |^output: |^values: |^output of|^edits: %s: |^instead: %s: |^nothing to resume`)

// Every sentence that pages know is said somewhere: one that the code words otherwise
// by now would stay English.
func TestEverySaidTextIsSaid(t *testing.T) {
	t.Parallel()
	literals := map[string]bool{}
	for _, root := range []string{"../../internal", "../../planner", ".."} {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.HasSuffix(path, "said_texts.go") || strings.HasSuffix(path, "_templ.go") || strings.Contains(path, "locale/") {
				return err
			}
			f, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			if err != nil {
				return err
			}
			ast.Inspect(f, func(n ast.Node) bool {
				if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
					if s, err := strconv.Unquote(lit.Value); err == nil {
						literals[saidVerb.ReplaceAllString(s, "%")] = true
					}
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(literals) < 5000 {
		t.Fatalf("only %d literals were found: the search is broken", len(literals))
	}
	for _, text := range saidTexts {
		if !libraryTexts.MatchString(text) && !literals[saidVerb.ReplaceAllString(text, "%")] {
			t.Errorf("nothing says %q", text)
		}
	}
}

// What the installation says is said in Spanish, what it quotes stays.
func TestSaidInSpanish(t *testing.T) {
	t.Parallel()
	r := &Context{Display: Display{Lang: locale.Spanish}}
	for text, want := range map[string]string{
		"the run has moved on from revision 4 to 7":              "la ejecución ha avanzado de la revisión 4 a la 7",
		"the run is paused already; the run is waiting (paused)": "la ejecución ya está en pausa; la ejecución está así: En pausa",
		"the run is completed":                                   "la ejecución está así: Completada",
		"it read the output of fetch":                            "leyó la salida de fetch",
		"its input cannot be computed: no value \"x\"":           "su entrada no se puede calcular: no value \"x\"",
		"max_steps 10 is used up":                                "max_steps 10 está agotado",
		`unknown filter "plam"`:                                  `no hay ningún filtro «plam»`,
		"did you mean plan:refund?":                              "¿quería decir plan:refund?",
		"Safe mode: kairosd died 3 times within 5m0s, each time soon after its start. Everything can be looked at and cancelled; nothing is executed.": "Modo seguro: kairosd murió 3 veces en 5m0s, cada vez poco después de arrancar. Todo se puede mirar y cancelar; nada se ejecuta.",
		"Nothing is executed: this database was restored from b.db, 2 events after event 7 are missing. 12 runs are held.":                             "Nada se ejecuta: esta base de datos se restauró de b.db; faltan 2 eventos después del evento 7. 12 ejecuciones están retenidas.",
		"post is said by nobody, as the page shows it":          "post is said by nobody, as the page shows it",
		`label "a b" is not key=value`:                          `la etiqueta «a b» no es clave=valor`,
		"this needs the role author; eve has the role operator": "esto requiere el rol author; eve tiene el rol operator",
	} {
		if got := r.Said(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	if got := (&Context{Display: Display{Lang: locale.English}}).Said("the run is completed"); got != "the run is completed" {
		t.Error(got)
	}
	if got := r.Sentence(domain.Errorf(domain.CodeStale, "the run has moved on from revision %d to %d", 1, 2).Suggest("look at it again")); got != "La ejecución ha avanzado de la revisión 1 a la 2. Mírela otra vez" {
		t.Error(got)
	}
}

// However a text looks, it is said: nothing breaks, nothing hidden comes through.
func FuzzSaid(f *testing.F) {
	for _, text := range saidTexts {
		f.Add(text)
	}
	f.Add("input: %s %d \u202e \"")
	f.Fuzz(func(t *testing.T, text string) {
		r := &Context{Display: Display{Lang: locale.Spanish}}
		if got := r.Said(text); strings.ContainsFunc(got, kit.Hidden) || strings.Contains(got, "%!") && !strings.Contains(text, "%!") {
			t.Errorf("%q: %q", text, got)
		}
	})
}
