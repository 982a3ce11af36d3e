package locale

// What a step asked of models, and what a fork does instead of running steps.
var spanishPrompt = map[string]string{
	"Prompt":                            "Conversación con el modelo",
	"interrupted":                       "interrumpido",
	"needs you":                         "le espera",
	"retrying":                          "reintentando",
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
	"called %s time":                  {"llamada %s vez", "llamada %s veces"},
	"%s token":                        {"%s token", "%s tokens"},
	"%s more message is in the file.": {"%s mensaje más está en el archivo.", "%s mensajes más están en el archivo."},
}
