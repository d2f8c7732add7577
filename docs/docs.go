// Package docs embeds those pages of this folder that programs read, so that a
// text which people look up and programs print stands in one place.
package docs

import _ "embed"

//go:embed wire-rules.md
var wireRules string

// WireRules returns the text of wire-rules.md. Package specs reads its tables.
func WireRules() string { return wireRules }
