package view

// CircuitList is the circuits of a tool or a provider that have failed of late or
// that a person has opened.
type CircuitList struct {
	Here    string // address of the page
	PerHost bool
	Rule    string // when one opens
	Rows    []CircuitRow
	Open    Link // empty: nobody may, or the row says it
}

// OpenCircuit is a circuit of a tool that something else waits for.
type OpenCircuit struct {
	Name, Href string
	CircuitRow
}

// CircuitRow is one circuit.
type CircuitRow struct {
	Part, Why, Row, Error string
	State                 Status
	Since, ErrorAt        Time
	Until                 Countdown // empty: it is not open
	Act                   Link
}

// Countdown is how long something still takes; At is when it is over, in
// milliseconds.
type Countdown struct {
	Text string
	At   int64
}
