// Package cassettes holds the committed recordings: rkat's own traffic with a
// scripted upstream, made by the recorder (make record) and marked synthetic.
// Nothing in them is anybody's secret.
package cassettes

import "embed"

// FS holds the cassettes as PROVIDER/SUITE/SCENARIO.yaml.
//
//go:embed */*/*.yaml
var FS embed.FS
