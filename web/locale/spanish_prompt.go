package locale

// What a step asked of models, and what a fork does instead of running steps.
var spanishPrompt = map[string]string{
	"Prompt":         "Conversación con el modelo",
	"interrupted":    "interrumpido",
	"needs you":      "le espera",
	"retrying":       "reintentando",
	"It is missing.": "Falta.",
	"The run was not started: this plan takes an input, and none was entered.": "La ejecución no se inició: este plan toma una entrada, y no se introdujo ninguna.",
	"Provider request":            "Petición del proveedor",
	"Trace":                       "Traza",
	"Causes, from the outside in": "Causas, de fuera adentro",
	"Time of day":                 "Hora",
	"Since the line before":       "Desde la línea anterior",
	"Removed by retention on %s. The digests of its rows are kept in the audit log.": "Eliminado por la retención el %s. Los resúmenes criptográficos de sus filas se conservan en el registro de auditoría.",
	"User":                              "Usuario",
	"Assistant":                         "Asistente",
	"Tool result":                       "Resultado de herramienta",
	"Handoff":                           "Traspaso",
	"Message":                           "Mensaje",
	"at most %s tokens":                 "como mucho %s tokens",
	"temperature %s":                    "temperatura %s",
	"an answer that fits output_schema": "una respuesta que cumple output_schema",
	"those of the provider":             "los del proveedor",
	"Parameters":                        "Parámetros",
	"Model calls":                       "Llamadas al modelo",
	"%s in, %s out":                     "%s de entrada, %s de salida",
	"Finish reason":                     "Motivo de fin",
	"finish reason %s":                  "motivo de fin %s",
	"cost %s":                           "coste %s",
	"Arguments: %s":                     "Argumentos: %s",
	"Tools offered":                     "Herramientas ofrecidas",
	"Download the conversation":         "Descargar la conversación",
	"No call of a model is recorded for this attempt: it has not asked yet, or the call was cut short. Below is the input that it was given.": "No hay ninguna llamada a un modelo registrada para este intento: todavía no ha preguntado, o la llamada se cortó. Abajo está la entrada que recibió.",
}

var spanishPromptPlurals = map[string][2]string{
	"%s older line": {"%s línea anterior", "%s líneas anteriores"},
	"The run was not started: %s thing is missing or does not fit.": {"La ejecución no se inició: %s cosa falta o no encaja.", "La ejecución no se inició: %s cosas faltan o no encajan."},
	"called %s time":                  {"llamada %s vez", "llamada %s veces"},
	"%s token":                        {"%s token", "%s tokens"},
	"%s more message is in the file.": {"%s mensaje más está en el archivo.", "%s mensajes más están en el archivo."},
}
