package draft

import "testing"

// Finish waits until all planning has ended, and closes.
func (s *Service) Finish(t *testing.T) {
	t.Helper()
	s.work.Wait()
	s.Close()
}
