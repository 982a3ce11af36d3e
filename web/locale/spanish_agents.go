package locale

// What runs of agents, and the pages about agents, providers and tools, say.
var spanishAgents = map[string]string{
	"Agents":       "Agentes",
	"Providers":    "Proveedores",
	"Tools":        "Herramientas",
	"Agent":        "Agente",
	"Provider":     "Proveedor",
	"Tool":         "Herramienta",
	"Model":        "Modelo",
	"Capabilities": "Capacidades",
	"Permission":   "Permiso",
	"Last error":   "Último error",
	"Calls":        "Llamadas",
	"Model calls":  "Llamadas al modelo",
	"Tool calls":   "Llamadas a herramientas",
	"Tokens in":    "Tokens de entrada",
	"Tokens out":   "Tokens de salida",
	"Messages":     "Mensajes",
	"Type":         "Tipo",
	"All steps":    "Todos los pasos",
	"now":          "ahora",
	"Its versions": "Sus versiones",
	"Every start, and every configuration that was taken up, says which version there was. Earlier prompts stand in the journals of the runs that were told them.": "Cada arranque, y cada configuración que se adoptó, dice qué versión había. Las instrucciones anteriores están en los diarios de las ejecuciones que las recibieron.",
	"Versions of the agent, the newest first": "Versiones del agente, de la más reciente a la más antigua",
	"the one above":                    "las de arriba",
	"No run that is kept was told it.": "Ninguna ejecución que se conserve las recibió.",
	"What models were told, %s":        "Lo que se dijo a los modelos, %s",
	"the default":                      "el predeterminado",
	"working":                          "funciona",
	"failing":                          "falla",
	"priority %s":                      "prioridad %s",
	"context of step %s":               "contexto del paso %s",
	"acknowledged":                     "con acuse de recibo",
	"not called yet":                   "aún sin llamadas",

	"Tokens and cost":          "Tokens y coste",
	"Tokens and cost per step": "Tokens y coste por paso",
	"part of kairosd":          "parte de kairosd",
	"only where it is named":   "solo donde se nombra",
	"not acknowledged":         "sin acuse de recibo",

	"No agent or model has worked in this run.":    "Ningún agente ni modelo ha trabajado en esta ejecución.",
	"Calls of models and tools, in order":          "Llamadas a modelos y herramientas, en orden",
	"What the agents said to each other, in order": "Lo que los agentes se dijeron, en orden",
	"Agents, providers and tools":                  "Agentes, proveedores y herramientas",
	"Tools that plans and agents may call":         "Herramientas que los planes y agentes pueden llamar",
	"Agents of this installation":                  "Agentes de esta instalación",
}

var spanishAgentsPlurals = map[string][2]string{
	"%s attempt before": {"%s intento antes", "%s intentos antes"},
}
