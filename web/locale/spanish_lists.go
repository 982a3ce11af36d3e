package locale

// What list pages and dialogs say.
var spanishLists = map[string]string{
	"Close": "Cerrar",
	"It is not known whether this arrived. Send it again: it is done once.": "No se sabe si esto llegó. Envíelo otra vez: se hace una sola vez.",
}

var spanishListsPlurals = map[string][2]string{}
