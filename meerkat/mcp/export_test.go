package mcp

// Ended reports whether every link of r is known to have ended.
func Ended(r *Router) bool {
	for _, s := range r.servers {
		s.mu.Lock()
		l := s.connection
		s.mu.Unlock()
		if l != nil && !l.hasEnded(0) {
			return false
		}
	}
	return true
}
