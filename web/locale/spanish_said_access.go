package locale

// What is said of users, logins, tokens and secrets: package web knows it by its form.
var spanishSaidAccess = map[string]string{
	"this installation is not set up yet":                                              "esta instalación aún no está preparada",
	"let an admin log in first, or open the link that kairosd printed when it started": "deje que entre antes un administrador, o abra el enlace que kairosd escribió al arrancar",
	"%s has no second factor":                                                          "%s no tiene segundo factor",
	"user %s is disabled":                                                              "el usuario %s está deshabilitado",
	"there is no role %q":                                                              "no hay ningún rol %q",
	"roles are viewer, operator, author and admin":                                     "los roles son viewer, operator, author y admin",
	"there is no scope %q":                                                             "no hay ningún ámbito %q",
	"scopes are %s":                                                                    "los ámbitos son %s",
	"a subject has 1 to 255 printable characters":                                      "un sujeto tiene de 1 a 255 caracteres imprimibles",
	"ask an admin":                                                                     "pregunte a un administrador",
	"ask an admin of kairosd for an account; at %s you are %s":                         "pida una cuenta a un administrador de kairosd; en %s usted es %s",
	"the file of the secret %s holds the value that is in use":                         "el archivo del secreto %s tiene el valor que ya está en uso",
}
