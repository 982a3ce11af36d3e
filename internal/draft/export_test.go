package draft

import "testing"

// Finish waits until nothing is planned any more, and closes.
func (s *Service) Finish(t *testing.T) {
	t.Helper()
	s.work.Wait()
	s.Close()
}
