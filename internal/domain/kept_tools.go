package domain

// KeptCircuit is a circuit as it is stored, with whose it is.
type KeptCircuit struct {
	Subject string // what is called, such as "tool:http"
	Circuit
	// LastCode, LastMessage, and LastText are of the last failure that counted, not shortened.
	LastCode, LastMessage, LastText string
}

// ToolPin is a definition of a tool of an MCP server that was accepted.
type ToolPin struct {
	Server, Tool string
	Hash         string // of the definition
	Definition   RawJSON
}
