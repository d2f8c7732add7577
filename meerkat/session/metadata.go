package session

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"time"
	"unicode"
	"unicode/utf8"
)

// Metadata sets facts about a session that its user chose, such as a ticket or an
// owner. Nothing in it is sent to a provider. Each record changes the names that it
// lists and leaves the others; an empty value removes a name.
type Metadata struct {
	At     time.Time         `json:"at"`
	Values map[string]string `json:"values"`
}

// The bounds of Session.Metadata, so that a listing stays small.
const (
	MaxMetadata      = 32      // names
	MaxMetadataName  = 64      // bytes of a name
	MaxMetadataValue = 1 << 10 // bytes of a value
)

var metadataName = regexp.MustCompile(`^[A-Za-z0-9_.-]+$`)

// CheckMetadata returns why values cannot be the metadata of a session, nil if they
// can.
func CheckMetadata(values map[string]string) error {
	if len(values) > MaxMetadata {
		return fmt.Errorf("metadata: %d names are more than the %d that a session holds", len(values), MaxMetadata)
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		value := values[name]
		switch {
		case len(name) > MaxMetadataName || !metadataName.MatchString(name):
			return fmt.Errorf(
				"metadata %.*q: not a name; use 1 to %d letters, digits, _, . and -", MaxMetadataName, name,
				MaxMetadataName,
			)
		case len(value) > MaxMetadataValue:
			return fmt.Errorf(
				"metadata %s: its value has %d bytes; at most %d are kept", name, len(value), MaxMetadataValue,
			)
		case !utf8.ValidString(value) || slices.ContainsFunc([]rune(value), unicode.IsControl):
			return fmt.Errorf("metadata %s: its value must be one line of UTF-8 text", name)
		}
	}
	return nil
}

// MergeMetadata returns old with the changes of values. Both stay as they are.
func MergeMetadata(old, values map[string]string) map[string]string {
	merged := maps.Clone(old)
	if merged == nil {
		merged = map[string]string{}
	}
	maps.Copy(merged, values)
	maps.DeleteFunc(merged, func(_, value string) bool { return value == "" })
	if len(merged) == 0 {
		return nil
	}
	return merged
}
