// Package versions reads stored plan versions. It checks documents before they are stored, compiles
// versions for the active configuration, and finds versions by name.
package versions
