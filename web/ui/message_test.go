package ui

import (
	"strings"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/locale"
)

// Messages are translated, but the values that they quote are not.
func TestMessageInSpanish(t *testing.T) {
	t.Parallel()
	r := &Context{Display: Display{Lang: locale.Spanish, Zone: time.UTC}}
	restored := domain.Messagef("this database was restored from %s", "b.db")
	for _, c := range []struct {
		m    domain.Message
		want string
	}{
		{domain.Messagef("the run has changed: expected revision %d, found %d", 4, int64(7)),
			"la ejecución ha cambiado: se esperaba la revisión 4 y se encontró la 7"},
		{domain.Errorf(domain.CodeConflict, "%s; %s", domain.Messagef("the run is already paused"),
			domain.RunIs(domain.RunWaiting, domain.WaitPaused)).Localize(),
			"la ejecución ya está en pausa; la ejecución está así: En pausa"},
		{domain.RunIs(domain.RunCompleted, ""), "la ejecución está así: Completada"},
		{domain.Messagef("it read the output of %s", "fetch"), "leyó la salida de fetch"},
		{domain.Messagef("its input cannot be computed: %s", `no value "x"`), `su entrada no se puede calcular: no value "x"`},
		{domain.Messagef("unknown filter %q", "plam"), "no hay ningún filtro «plam»"},
		{domain.Messagef("did you mean %s?", "plan:refund"), "¿quería decir plan:refund?"},
		{domain.Messagef("Safe mode: %s. You can view and cancel runs. No steps run.",
			domain.Messagef("kairosd crashed %d times within %s, each time soon after its start", 3, 5*time.Minute)),
			"Modo seguro: kairosd falló 3 veces en 5m0s, cada vez poco después de iniciarse. Puede ver y cancelar " +
				"ejecuciones. No se ejecuta ningún paso."},
		{domain.Messagef("Runs are on hold: %s. %s.", domain.Messagef("%s, %d events after event %d are missing", restored, 2, 7),
			domain.Messagef("%d runs are held", 12)),
			"Nada se ejecuta: esta base de datos se restauró de b.db; faltan 2 eventos después del evento 7. 12 " +
				"ejecuciones están retenidas."},
		{domain.Verbatim("the run is completed"), "the run is completed"},
		{domain.Messagef("label %.64q is not key=value", "a b"), "la etiqueta «a b» no es clave=valor"},
		{domain.Messagef("this requires the role %s; %s has the role %s", domain.RoleAuthor, "eve", domain.RoleOperator),
			"esto requiere el rol author; eve tiene el rol operator"},
		{domain.Errorf(domain.CodeInvalid, "input: %w", domain.Errorf(domain.CodeInvalid, "the filter is not UTF-8")).Localize(),
			"entrada: el filtro no es UTF-8"},
		{domain.Messagef("a text that has no Spanish, with %d %%", 3), "a text that has no Spanish, with 3 %"},
	} {
		if got := r.Message(c.m); got != c.want {
			t.Errorf("%q: %q, want %q", c.m, got, c.want)
		}
		if stored := domain.DecodeMessage(domain.EncodeMessage(c.m), c.m.String()); r.Message(stored) != c.want {
			t.Errorf("%q, stored: %q, want %q", c.m, r.Message(stored), c.want)
		}
	}
	if got := (&Context{Display: Display{Lang: locale.English}}).Message(domain.RunIs(domain.RunCompleted,
		"")); got != "the run is completed" {
		t.Error(got)
	}
	if got := r.Sentence(domain.RunChanged(1, 2)); got != "La ejecución ha cambiado: se esperaba la revisión 1 y se "+
		"encontró la 2. Vuelva a cargarla e inténtelo de nuevo" {
		t.Error(got)
	}
}

// Any stored value can be rendered as a message, without a panic or hidden characters.
func FuzzMessage(f *testing.F) {
	for _, s := range []string{`["the run has moved on from revision %d to %d",4,7]`, `["%s; %s",["the run is completed"],"x"]`, `[`,
		`["%[9]s %q",{"t":"2030-01-31T08:00:00Z"}]`, `["input: %w","\u202e %d"]`} {
		f.Add(s, "the run is completed")
	}
	f.Fuzz(func(t *testing.T, stored, english string) {
		r := &Context{Display: Display{Lang: locale.Spanish, Zone: time.UTC}}
		if got := r.Message(domain.DecodeMessage(&stored, english)); strings.ContainsFunc(got, kit.IsControl) &&
			!strings.ContainsFunc(stored, kit.IsControl) {
			t.Errorf("%q %q: %q", stored, english, got)
		}
	})
}
