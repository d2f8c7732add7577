// Package cassettes holds the committed recordings: rkat's own traffic with the
// simulator, made by the recorder (make cassettes), with nominal times. They
// contain no secrets.
package cassettes

import "embed"

// FS holds the cassettes as PROVIDER/SUITE/SCENARIO.yaml.
//
//go:embed */*/*.yaml
var FS embed.FS
