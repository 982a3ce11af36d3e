package locale

// What pages say of circuits (el circuito): whether calls reach a tool, a host or a
// provider.
var spanishCircuits = map[string]string{
	"closed":                                "cerrado",
	"half open":                             "semiabierto",
	"half open in":                          "semiabierto en",
	"circuit open":                          "circuito abierto",
	"circuit of %s open for %s":             "circuito de %s abierto desde hace %s",
	"the circuit of":                        "el circuito de",
	"Circuit":                               "Circuito",
	"Circuits":                              "Circuitos",
	"Host":                                  "Equipo",
	"Open…":                                 "Abrir…",
	"Close…":                                "Cerrar…",
	"For how long":                          "Durante cuánto tiempo",
	"Its circuit now":                       "Su circuito ahora",
	"%s has opened it":                      "%s lo ha abierto",
	"%s is not a time.":                     "%s no es una duración.",
	"Open its circuit…":                     "Abrir su circuito…",
	"Open the circuit of %s":                "Abrir el circuito de %s",
	"Close the circuit of %s":               "Cerrar el circuito de %s",
	"Open the circuit of a host…":           "Abrir el circuito de un equipo…",
	"Each host has its own.":                "Cada equipo tiene el suyo.",
	"It does not open by itself.":           "No se abre por sí solo.",
	"Closed: its calls are made.":           "Cerrado: sus llamadas se hacen.",
	"Circuits of tools and hosts":           "Circuitos de herramientas y equipos",
	"none is open":                          "ninguno abierto",
	"It goes on when calls are let through": "Sigue cuando las llamadas puedan pasar",
	"Calls that these runs make are refused now":                                                               "Las llamadas que hacen estas ejecuciones se rechazan ahora",
	"When this circuit lets calls through again":                                                               "Cuando este circuito vuelva a dejar pasar llamadas",
	"The page of each tool says why, and until when. An act on many runs can wait for it.":                     "La página de cada herramienta dice por qué y hasta cuándo. Un acto sobre muchas ejecuciones puede esperarlo.",
	"like api.example, or with its port like api.example:8080":                                                 "como api.example, o con su puerto como api.example:8080",
	"Circuits that have failed of late or that somebody has opened":                                            "Circuitos que han fallado últimamente o que alguien ha abierto",
	"Its calls are made again at once, and what has failed is forgotten.":                                      "Sus llamadas se vuelven a hacer de inmediato, y se olvida lo que ha fallado.",
	"Steps that wait for their next attempt make it when its time comes, or at once on the page of their run.": "Los pasos que esperan su siguiente intento lo hacen cuando llega su hora, o de inmediato en la página de su ejecución.",
	"No new call begins until the time is over; then one is tried. What is under way goes on. A call that is refused fails its step, unless the step is tried again: that waits until then. It outlasts restarts.": "Ninguna llamada nueva empieza hasta que pase el tiempo; entonces se prueba una. Lo que está en curso continúa. Una llamada rechazada hace fallar su paso, salvo que el paso se reintente: el reintento espera hasta entonces. Sobrevive a los reinicios.",
}

var spanishCircuitsPlurals = map[string][2]string{
	"%s is open: %s":              {"%s abierto: %s", "%s abiertos: %s"},
	"%s more":                     {"%s más", "%s más"},
	"%s call in a row has failed": {"%s llamada seguida ha fallado", "%s llamadas seguidas han fallado"},
	"It opens after %s failure that says that the other side is down, for %s at first.": {"Se abre tras %s fallo que dice que el otro lado está caído, al principio durante %s.", "Se abre tras %s fallos seguidos que dicen que el otro lado está caído, al principio durante %s."},
}
