package locale

// What every page says while something is wrong with the installation itself: package
// web knows it by its form.
var spanishNotices = map[string]string{
	"Storage failed, and nothing is written any more: %s. kairosd is stopping; what was acknowledged is safe.": "El almacenamiento falló y ya no se escribe nada: %s. kairosd se está deteniendo; lo confirmado está a salvo.",
	"Safe mode: %s. Everything can be looked at and cancelled; nothing is executed.":                           "Modo seguro: %s. Todo se puede mirar y cancelar; nada se ejecuta.",
	"kairosd was started with --safe":                                                                                                                                 "kairosd se arrancó con --safe",
	"kairosd died %d times within %s, each time soon after its start":                                                                                                 "kairosd murió %d veces en %s, cada vez poco después de arrancar",
	"The configuration %s was not taken up at %s: %s. What was in force before stays in force.":                                                                       "La configuración %s no se adoptó a las %s: %s. Sigue en vigor lo que estaba en vigor antes.",
	"Maintenance since %s, by %s: %s. What runs finishes; no step starts.":                                                                                            "Mantenimiento desde %s, por %s: %s. Lo que está en marcha termina; no empieza ningún paso.",
	"The examination of the database found a problem: %s. Run kairosd doctor.":                                                                                        "El examen de la base de datos encontró un problema: %s. Ejecute kairosd doctor.",
	"The clock of this machine was %s behind the newest record when kairosd started: timers and sessions may end late.":                                               "El reloj de esta máquina iba %s por detrás del último registro cuando kairosd arrancó: los temporizadores y las sesiones pueden terminar tarde.",
	"The clock of this machine was put back by %s while kairosd runs. Timers keep to the time before, and what is recorded bears it, until kairosd is started again.": "El reloj de esta máquina se atrasó %s mientras kairosd funciona. Los temporizadores siguen la hora de antes, y lo que se registra la lleva, hasta que kairosd se arranque de nuevo.",
	"Nothing is executed: %s. %s.":                        "Nada se ejecuta: %s. %s.",
	"this database is older than what was recorded of it": "esta base de datos es más antigua que lo que se registró de ella",
	"Something other than kairosd changed who may log in, or what waits for approval: %s. It grants nothing. Run kairosd doctor.": "Algo ajeno a kairosd cambió quién puede entrar, o lo que espera aprobación: %s. No concede nada. Ejecute kairosd doctor.",
	"the key file of this database was lost: all access was ended, and only a new administrator can release the runs":             "se perdió el archivo de clave de esta base de datos: se cerró todo acceso, y solo un administrador nuevo puede liberar las ejecuciones",
	"this database was restored from %s":       "esta base de datos se restauró de %s",
	"%s, %d events after event %d are missing": "%s; faltan %d eventos después del evento %d",
	"1 run is held":       "1 ejecución está retenida",
	"%d runs are held":    "%d ejecuciones están retenidas",
	"%s since a restore.": "%s desde una restauración.",
	"The disk of the data directory is full: work waits until %d MiB are free. Old runs can be removed.": "El disco del directorio de datos está lleno: el trabajo espera hasta que haya %d MiB libres. Se pueden eliminar ejecuciones antiguas.",
	"The disk of the data directory has only %d MiB free.":                                               "Al disco del directorio de datos le quedan solo %d MiB libres.",
	"Look":             "Mirar",
	"Look and release": "Mirar y liberar",
	"Remove old runs":  "Eliminar ejecuciones antiguas",
}
