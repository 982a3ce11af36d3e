package locale

// What the page of a run says: its timeline, graph, inspector and state.
var spanishRun = map[string]string{
	"Lanes, from left to right:":     "Carriles, de izquierda a derecha:",
	"Lanes":                          "Carriles",
	"returned":                       "devuelto",
	"%s idle":                        "%s sin actividad",
	"%s tokens":                      "%s tokens",
	"%s waiting for %s at %s":        "%s a la espera de %s en %s",
	"%s: %s of work in a run of %s.": "%s: %s de trabajo en una ejecución de %s.",
	"Critical path":                  "Camino crítico",
	"Cut idle time":                  "Recortar el tiempo sin actividad",
	"Failing part":                   "Parte que falla",
	"Last minute":                    "Último minuto",
	"Left out of the axis:":          "Fuera del eje:",
	"First":                          "Primera",
	"Last":                           "Última",
	"Next":                           "Siguiente",
	"Previous":                       "Anterior",
	"Rows %s to %s of %s":            "Filas %s a %s de %s",
	"Show from %s on":                "Mostrar desde %s",
	"Show idle time":                 "Mostrar el tiempo sin actividad",
	"Show until %s":                  "Mostrar hasta %s",
	"Time since the start":           "Tiempo desde el inicio",
	"Timeline settings":              "Ajustes de la línea de tiempo",
	"call":                           "llamada",
	"ended: %s":                      "acabó: %s",
	"fold":                           "plegar",
	"from %s":                        "de %s",
	"not taken: %s":                  "no tomado: %s",
	"not taken: %s led to %s":        "no tomado: %s llevó a %s",
	"not taken: %s saw %s":           "no tomado: %s vio %s",
	"on the critical path":           "en el camino crítico",
	"reused":                         "reutilizado",
	"side effects":                   "efectos externos",
}

var spanishRunPlurals = map[string][2]string{
	"%s of %s attempt":                       {"%s de %s intento", "%s de %s intentos"},
	"%s step":                                {"%s paso", "%s pasos"},
	"%s step lies outside of what is shown.": {"%s paso queda fuera de lo que se muestra.", "%s pasos quedan fuera de lo que se muestra."},
	"show %s":                                {"mostrar %s", "mostrar los %s"},
}
