package llm

import (
	"fmt"
	"strings"
	"testing"

	_ "github.com/meerkat-go/conformance/wires/all"
)

// Elements reads arrays and objects alike, and stops where the text makes no
// sense without losing what came before.
func TestElements(t *testing.T) {
	for _, tt := range []struct{ body, want string }{
		{`[1,"a]",{"b":[2]}]`, `1 | "a]" | {"b":[2]}`},
		{` { "a" : 1 , "b\"}" : {"c":"}"} }`, `a=1 | b\"}={"c":"}"}`},
		{`{"a":[1,2],"a":null}`, `a=[1,2] | a=null`},
		{`{}`, ``},
		{`[]`, ``},
		{`7`, ``},
		{`{"a":[1`, `a=[1 cut`},
		{`{"a`, ``},
		{`{"a":`, ``},
		{`{"a" 1,"b":2}`, ``},
		{`["a`, `"a cut`},
	} {
		var got []string
		for e := range Elements([]byte(tt.body)) {
			text := tt.body[e.Value:e.End]
			if e.Name != nil {
				text = fmt.Sprintf("%s=%s", e.Name, text)
			}
			if !e.Whole {
				text += " cut"
			}
			got = append(got, text)
		}
		if strings.Join(got, " | ") != tt.want {
			t.Errorf("%s: %q, want %q", tt.body, strings.Join(got, " | "), tt.want)
		}
	}
}
