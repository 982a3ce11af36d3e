package locale

// spanishLimits is what is said of the limits of a run.
var spanishLimits = map[string]string{
	"max_tokens %d leaves %d tokens, and the input of the next model call alone has about %d": "max_tokens %d deja %d tokens, y solo la entrada de la próxima llamada al modelo tiene unos %d",
	"max_cost %s leaves %s, and the next model call costs about %s":                           "max_cost %s deja %s, y la próxima llamada al modelo cuesta unos %s",
	"max_cost %s cannot be kept: no price is known for the next model call; set %s, then resume the run": "max_cost %s no puede cumplirse: " +
		"no se conoce el precio de la próxima llamada al modelo; configure %s y reanude la ejecución",
	"the limits of the run left too few tokens for the answer": "los límites de la ejecución dejaron muy pocos tokens para la respuesta",
	"the run has no %s to raise":                               "la ejecución no tiene %s que ampliar",
	"set one without a plus sign":                              "fije uno sin el signo más",
	"%s %s is below the %s that the run has used":              "%s %s está por debajo de lo que la ejecución ha usado: %s",
	"set a limit above %s":                                     "fije un límite superior a %s",
	"a limit is either set or raised, not both":                "un límite se fija o se amplía, no ambas cosas",
	"a limit cannot be raised by a negative amount":            "un límite no puede ampliarse con una cantidad negativa",
}
