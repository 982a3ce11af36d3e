// Package domain defines the data that the packages of kairosd share: plans and their versions,
// runs and their journals, checkpoints, audit events, and errors. It also defines which status
// changes are valid. It stores nothing and runs nothing.
package domain
