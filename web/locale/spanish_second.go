package locale

// What is said about the second factor of a login, and about proving who one is.
var spanishSecond = map[string]string{
	"Copy details": "Copiar los detalles",
	"Runs go on, and the other pages work. The daemon's log has the cause, under this id.": "Las ejecuciones siguen y las demás páginas funcionan. El registro del demonio tiene la causa, bajo este identificador.",
	"on":                                  "activado",
	"You":                                 "Usted",
	"Code":                                "Código",
	"Secret":                              "Secreto",
	"Second factor":                       "Segundo factor",
	"Is it you?":                          "¿Es usted?",
	"Change…":                             "Cambiar…",
	"Turn it on":                          "Activarlo",
	"Turn it off":                         "Desactivarlo",
	"Take it away":                        "Quitarlo",
	"Your password":                       "Su contraseña",
	"Time zone":                           "Zona horaria",
	"I have kept them":                    "Los he guardado",
	"Set the time zone":                   "Fijar la zona horaria",
	"Your second factor":                  "Su segundo factor",
	"Confirm, and go on":                  "Confirmar y seguir",
	"Then send the form once more.":       "Después envíe el formulario otra vez.",
	"The secret as a QR code":             "El secreto como código QR",
	"All your other logins end.":          "Todas sus demás sesiones terminan.",
	"Code of your second factor":          "Código de su segundo factor",
	"The same for an app on this device:": "Lo mismo para una aplicación de este dispositivo:",
	"as in Europe/Madrid; empty: the server's":                                                                                                  "como Europe/Madrid; vacía: la del servidor",
	"There is no such time zone: write it like Europe/Madrid.":                                                                                  "No existe esa zona horaria: escríbala como Europe/Madrid.",
	"that the app shows now, or a recovery code":                                                                                                "que la aplicación muestra ahora, o un código de recuperación",
	"A code from your telephone besides the password:":                                                                                          "Un código de su teléfono además de la contraseña:",
	"It is on. These recovery codes are shown this once":                                                                                        "Está activado. Estos códigos de recuperación se muestran solo esta vez",
	"It is on: a login wants a code besides the password.":                                                                                      "Está activado: entrar pide un código además de la contraseña.",
	"Each logs you in once, instead of a code, when the telephone is lost. Keep them where the telephone is not.":                               "Cada uno le deja entrar una vez, en lugar de un código, cuando se pierde el teléfono. Guárdelos donde no esté el teléfono.",
	"Scan this with an authenticator app, or type the secret into it; then type the code that it shows.":                                        "Escanee esto con una aplicación de autenticación, o escriba en ella el secreto; después escriba el código que muestre.",
	"When telephone and recovery codes are lost. They log in with the password alone, and can set up another.":                                  "Cuando se han perdido el teléfono y los códigos de recuperación. Entra solo con la contraseña y puede configurar otro.",
	"You log in without a password: the identity provider asks for a second factor, or does not.":                                               "Usted entra sin contraseña: el proveedor de identidad pide un segundo factor, o no.",
	"What admins do wants a proof that is at most 15 minutes old: an open browser is not a person. What you sent is kept, and done after this.": "Lo que hacen los administradores pide una prueba de hace 15 minutos como mucho: un navegador abierto no es una persona. Lo que envió se conserva y se hace después de esto.",
}

var spanishSecondPlurals = map[string][2]string{
	"%s recovery code is left.": {"Queda %s código de recuperación.", "Quedan %s códigos de recuperación."},
}
