package wire

import (
	"encoding/json"

	"github.com/meerkat-go/conformance/meerkat/handoff"
)

// Target is where a request goes; package handoff decides what goes there.
type Target = handoff.Target

// Member returns the top-level member of a JSON object as it stands, nil when
// there is none.
func Member(object []byte, name string) json.RawMessage {
	var all map[string]json.RawMessage
	if json.Unmarshal(object, &all) != nil {
		return nil
	}
	return all[name]
}

// IsBase64 reports whether s is base64 as proto-JSON takes it (G-19, H12).
func IsBase64(s string) bool { return handoff.IsBase64(s) }
