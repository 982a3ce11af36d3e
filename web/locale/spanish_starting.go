package locale

// spanishStarting is what pages say while the daemon starts.
var spanishStarting = map[string]string{
	"kairosd is starting: %s":                             "kairosd está arrancando: %s",
	"It has been at it for %s.":                           "Lleva %s.",
	"migration %d of %d":                                  "migración %d de %d",
	"opening the database":                                "abriendo la base de datos",
	"examining the database before its upgrade":           "examinando la base de datos antes de actualizarla",
	"encrypting what is kept of the database from before": "cifrando lo que se guarda de la base de datos anterior",
	"copying the database":                                "copiando la base de datos",
	"verifying the upgraded database":                     "verificando la base de datos actualizada",
	"starting tools and models":                           "iniciando herramientas y modelos",
	"taking up unfinished runs":                           "retomando ejecuciones sin terminar",
	"What you sent was not done. Go back when kairosd is ready, and send it again.":             "Lo que envió no se ha hecho. Vuelva atrás cuando kairosd esté listo y envíelo otra vez.",
	"Nothing that was stored is lost. This page goes on by itself as soon as kairosd is ready.": "No se ha perdido nada de lo guardado. Esta página continúa sola en cuanto kairosd está listo.",
	"Try now": "Probar ahora",
}
