package config

import "testing"

// FuzzParse never panics.
func FuzzParse(f *testing.F) {
	f.Add([]byte("[agent]\nmodel = 'x'\n[[tools.mcp_servers]]\nname='a'\n"))
	f.Add([]byte("agent = 1"))
	f.Fuzz(func(t *testing.T, data []byte) {
		values, err := parseFile(Table(), data)
		if err == nil && values == nil {
			t.Error("neither values nor an error")
		}
	})
}
