// Package versions reads stored plan versions: it checks documents before they are
// stored, compiles versions for the active configuration, and finds the version that a
// name means.
package versions
