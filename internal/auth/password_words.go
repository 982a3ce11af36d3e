package auth

// keyboardRuns are the ways along a keyboard, the alphabet and the digits that
// passwords are made of.
var keyboardRuns = []string{"01234567890123456789", "98765432109876543210", "abcdefghijklmnopqrstuvwxyz", "zyxwvutsrqponmlkjihgfedcba",
	"qwertyuiopasdfghjklzxcvbnm", "poiuytrewqlkjhgfdsamnbvcxz", "1q2w3e4r5t6y7u8i9o0p", "1qaz2wsx3edc4rfv5tgb6yhn7ujm8ik",
	"zaq12wsxcde34rfvbgt5", "1qazxsw23edcvfr45tgb"}

// commonWords are those that the passwords in lists of breached ones are made of
// most often; with digits and signs around them they are long enough, and
// among the first that are tried.
var commonWords = []string{
	"abcabc", "abcdabcd", "access", "admin", "adminadmin", "administrador", "administrator", "alexander", "alexandra", "amanda",
	"america", "andrew", "android", "angel",
	"angels", "anthony", "apple", "april", "argentina", "arsenal", "asdqwe", "asdzxc", "ashley", "asshole", "august", "australia",
	"autumn", "azerty", "azertyuiop",
	"babygirl", "bailey", "banana", "barcelona", "baseball", "basketball", "batman", "blink", "bonjour", "brasil", "bullshit",
	"buster", "butterfly", "california",
	"callofduty", "canada", "changeit", "changeme", "changemenow", "charlie", "cheese", "chelsea", "chelseafc", "chicago",
	"chocolate", "christian", "christopher", "cisco",
	"colombia", "computer", "contrasena", "contraseña", "cookie", "correcthorsebatterystaple", "corvette", "counterstrike",
	"cowboys", "crystal", "dallas", "daniel",
	"database", "december", "default", "dell", "diamond", "doudou", "dragon", "eagles", "elizabeth", "england", "españa",
	"facebook", "family", "father", "february",
	"ferrari", "flower", "football", "forever", "fortnite", "freedom", "friday", "friends", "fuckoff", "fuckyou", "gangster",
	"george", "ginger", "golden", "google",
	"guest", "hallo", "harley", "hello", "hellokitty", "helloworld", "hockey", "hola", "holamundo", "hunter", "hurricane", "iloveu",
	"iloveyou", "internet", "iphone",
	"january", "jennifer", "jessica", "jesus", "jesuschrist", "jesusislord", "jordan", "joshua", "july", "june", "juventus",
	"kairos", "kairosadmin", "kairosd", "killer",
	"lakers", "lenovo", "letmein", "letmeinnow", "letmeinplease", "lightning", "linkedin", "linkinpark", "liverpool", "liverpoolfc",
	"login", "london", "loulou", "lovely",
	"loveme", "lovers", "loveyou", "maggie", "manchester", "manchesterunited", "march", "master", "matrix", "matthew", "may",
	"mercedes", "metallica", "mexico", "michael",
	"michelle", "microsoft", "minecraft", "monday", "monkey", "motdepasse", "mother", "motherfucker", "mustang", "mypassword",
	"mysql", "naruto", "network", "newpassword",
	"newyork", "nicole", "nintendo", "nothing", "november", "october", "oracle", "orange", "ourpassword", "p@ssw0rd", "p@ssword",
	"pa$$word", "panther", "passphrase",
	"passw0rd", "password", "passwort", "pepper", "phoenix", "playboy", "playstation", "pokemon", "porsche", "postgres", "princess",
	"private", "purple", "qazwsx",
	"qazwsxedc", "qazwsxedcrfv", "qweasd", "qweasdzxc", "qwerty", "qwertyuiop", "qwertz", "rainbow", "ranger", "realmadrid",
	"robert", "root", "router", "samantha",
	"samsung", "saturday", "schatz", "scorpion", "secret", "secretpassword", "security", "september", "server", "shadow", "silver",
	"skateboard", "skateboarding",
	"slipknot", "snowboard", "soccer", "spiderman", "spring", "starwars", "steelers", "summer", "sunday", "sunshine", "superman",
	"supersecret", "system", "teamo", "temp",
	"temporary", "tequiero", "tequieromucho", "test", "tester", "testing", "testtest", "thepassword", "thomas", "thunder",
	"thursday", "tigers", "tigger", "toor",
	"topsecret", "trustno", "trustnoone", "tuesday", "unicorn", "unknown", "user", "username", "warrior", "wednesday", "welcome",
	"welcomehome", "whatever", "william",
	"windows", "winter", "wireless", "worldofwarcraft", "yankees", "yellow", "zaqwsx", "zaqxsw", "zaqxswcde",
}
