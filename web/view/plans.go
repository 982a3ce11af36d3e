package view

// PlanRow is a plan in a list.
type PlanRow struct {
	Key, Href, Name, Version string
	Updated                  Time
}

// PlansPage is the plan list.
type PlansPage struct {
	Shell
	Query        string
	Rows         []PlanRow
	Newer, Older string
}
