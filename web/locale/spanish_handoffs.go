package locale

// What the page of all handoffs says.
var spanishHandoffs = map[string]string{
	"keys: %s":                    "claves: %s",
	"with the tools %s":           "con las herramientas %s",
	"What it was asked to do":     "Lo que se le pidió",
	"Between":                     "Entre",
	"All handoffs":                "Todos los traspasos",
	"Context given":               "Contexto dado",
	"From context to result":      "Del contexto al resultado",
	"Given by":                    "Dado por",
	"Given in":                    "Dado en",
	"Handoffs with an id like it": "Traspasos con un id parecido",
	"Keys":                        "Claves",
	"Nothing came back.":          "No volvió nada.",
	"Nothing has come back yet.":  "Todavía no ha vuelto nada.",
	"Passed on":                   "Pasado",
	"Result returned":             "Resultado devuelto",
	"Taken by":                    "Recibido por",
	"Taken in":                    "Recibido en",
	"There is no handoff %s.":     "No hay ningún traspaso %s.",
	"Tools granted":               "Herramientas concedidas",
	"Filter handoffs":             "Filtrar traspasos",
	"Handoffs, newest first":      "Traspasos, los más recientes primero",
	"Last at":                     "Último a las",
	"Loops":                       "Bucles",
	"Newest first":                "Los más recientes primero",
	"No handoff matches.":         "Ningún traspaso coincide.",
	"No agent has handed work to another yet.":                        "Ningún agente ha pasado trabajo a otro todavía.",
	"One is recorded whenever work passes from one agent to another.": "Se registra uno cada vez que el trabajo pasa de un agente a otro.",
	"No run goes back and forth.":                                     "Ninguna ejecución va y viene.",
	"Returns":                                                         "Vueltas",
	"Runs in which work went from one agent to another and back more than twice.": "Ejecuciones en las que el trabajo fue de un agente a otro y volvió más de dos veces.",
	"Runs that go back and forth, the most often first":                           "Ejecuciones que van y vienen, las que más primero",
	"Views":      "Vistas",
	"still open": "sigue abierto",
}

var spanishHandoffsPlurals = map[string][2]string{
	"%s connection":      {"%s conexión", "%s conexiones"},
	"Made of %s handoff": {"Hecho con %s traspaso", "Hecho con %s traspasos"},
	"Made of the newest %s handoff that matches; there are older ones": {"Hecho con el traspaso más reciente que coincide (%s); hay anteriores", "Hecho con los %s traspasos más recientes que coinciden; hay anteriores"},
}
