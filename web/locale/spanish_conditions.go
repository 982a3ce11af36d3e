package locale

// What has to be so before a run goes on, and what is wrong around it.
var spanishConditions = map[string]string{
	"met":                 "cumplida",
	"not met":             "no cumplida",
	"Before it goes on":   "Antes de que continúe",
	"Its time: %s":        "Su hora: %s",
	"It starts at %s, %s": "Empieza a las %s, %s",
	"Room among the runs with the key %s: %s of %s are active": "Sitio entre las ejecuciones con la clave %s: %s de %s activas",
	"A free slot: %s of %s are taken":                          "Un hueco libre: %s de %s ocupados",
	"Somebody releases the run":                                "Alguien libera la ejecución",
	"Somebody continues the run":                               "Alguien continúa la ejecución",
	"Somebody says whether %s happened":                        "Alguien dice si %s ocurrió",
	"An answer to %s":                                          "Una respuesta a %s",
	"A new plan for what is left after %s":                     "Un plan nuevo para lo que queda tras %s",
	"The run of %s ends":                                       "Termina la ejecución de %s",
	"The next attempt of %s":                                   "El próximo intento de %s",
	"The time of %s":                                           "La hora de %s",
	"since %s":                                                 "desde %s",
	"paused by %s at %s":                                       "en pausa por %s a las %s",
	"%s: %s of %s used":                                        "%s: usado %s de %s",
	"Running time":                                             "Tiempo en curso",
	"A higher limit":                                           "Un límite más alto",
	"less than a minute ago":                                   "hace menos de un minuto",
	"Kept until":                                               "Se conserva hasta",
	"this dashboard":                                           "este panel",
	"the API":                                                  "la API",
	"an intent":                                                "una intención",
	"a run above it":                                           "una ejecución superior",
	"a rerun":                                                  "una repetición",
	"a fork":                                                   "una bifurcación",
	"a dry run":                                                "una prueba en seco",
	"The provider %s is degraded":                              "El proveedor %s está degradado",
	"The provider %s is degraded since %s":                     "El proveedor %s está degradado desde %s",
	"See the provider":                                         "Ver el proveedor",
	"Calls of %s are refused since %s":                         "Las llamadas de %s se rechazan desde %s",
	"Take all edits back":                                      "Deshacer todos los cambios",
	"Attempt %s of %s of %s would begin by itself at %s, %s.": "El intento %s de %s de %s empezaría por sí solo a las %s, %s.",
}

var spanishConditionsPlurals = map[string][2]string{
	"%s run is queued, since %s": {"%s ejecución en cola, desde %s", "%s ejecuciones en cola, la primera desde %s"},
}
