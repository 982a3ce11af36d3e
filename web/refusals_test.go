package web_test

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/webtest"
)

// Rejections of actions are shown in the reader's language.
func TestRefusalsAreInTheReadersLanguage(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	seed := site.Seed(t)
	site.Browser(t).Login() // sets up the server
	b := site.Browser(t)
	b.Post("/display", url.Values{"csrf": {"anonymous"}, "lang": {"es"}, "back": {"/login"}})
	webtest.HasTexts(
		t,
		b.Post("/login", url.Values{"csrf": {"anonymous"}, "name": {"marta"}, "password": {"not hers at all"}}),
		http.StatusUnprocessableEntity,
		"El nombre o la contraseña no son correctos",
	)
	b.Login()

	f := webtest.Form(t, b.Get("/settings/users").Body, `name="name"`)
	f.Set("name", "olga")
	f.Set("role", "operator")
	for password, wanted := range map[string]string{
		"ñandú":          "La contraseña tiene 5 caracteres; hacen falta al menos 12. Use varias palabras o un gestor de contraseñas",
		"aaaaaaaaaaaaaa": "Esta contraseña es de las primeras que probaría un atacante. Use varias palabras sin relación entre sí",
	} {
		f.Set("password", password)
		webtest.HasTexts(t, b.Post("/settings/users", f), http.StatusUnprocessableEntity, wanted)
	}
	f.Set("name", "marta")
	f.Set("password", webtest.Password)
	webtest.HasTexts(t, b.Post("/settings/users", f), http.StatusUnprocessableEntity, "Ya hay un usuario «marta». Elija otro nombre")

	me := webtest.Form(t, b.Get("/me").Body, `name="old"`)
	for name, value := range map[string]string{"old": "wrong password 12", "password": "another good password",
		"again": "another good password"} {
		me.Set(name, value)
	}
	webtest.HasTexts(t, b.Post("/me/password", me), http.StatusUnprocessableEntity, "La contraseña anterior no es correcta")

	// The status of the run does not allow the action, either at the preview or when the form is
	// sent.
	webtest.HasTexts(
		t,
		b.Get("/runs/"+seed.Completed.ID+"/resume"),
		http.StatusOK,
		"Una ejecución completada no tiene nada que reanudar",
		"Repítala o bifúrquela",
	)
	pause := b.Get("/runs/" + seed.Waiting.ID + "/pause").Hidden()
	if _, err := site.Engine.Act(t.Context(), site.Admin, domain.ActionRequest{Run: seed.Waiting.ID,
		Action: domain.ActionCancel}); err != nil {
		t.Fatal(err)
	}
	pause.Del("rev")
	webtest.HasTexts(t, b.Post("/runs/"+seed.Waiting.ID+"/pause", pause), http.StatusConflict, "la ejecución está así: Cancelada")

	// English readers see the original text.
	b.Post("/display", url.Values{"csrf": {b.Get("/me").Hidden().Get("csrf")}, "lang": {"en"}, "back": {"/"}})
	webtest.HasTexts(t, b.Get("/runs/"+seed.Completed.ID+"/resume"), http.StatusOK, "A completed run has nothing to resume",
		"Rerun or fork it")
}
