package session

import (
	"encoding/json"
	"fmt"
	"io"
)

// WriteJSONL writes what a user of s saw to w, one JSON object a line: the
// prompts, replies, tool calls, results, errors and interrupts in their order.
// The same session gives the same bytes every time.
func WriteJSONL(w io.Writer, s *Session) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	for _, e := range Display(s) {
		if err := enc.Encode(e); err != nil {
			return fmt.Errorf("session %s: it cannot be exported: %w", s.ID, err)
		}
	}
	return nil
}
