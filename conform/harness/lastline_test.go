package harness

import "testing"

// What an agent said is its last line that says something.
func TestLastLine(t *testing.T) {
	for _, c := range []struct{ stderr, want string }{
		{"", ""},
		{"  \n", ""},
		{"one\ntwo\n", ": two"},
		{"error: [\n  {\n    \"message\": \"Invalid value\"\n  }\n]\n", `: "message": "Invalid value"`},
		{"Error: no key\n    at run (/a/b.js:1:2)\n    at main (/a/b.js:3:4)\n\nNode.js v22.1.0\n", ": Error: no key"},
		{"Traceback:\n  File \"a.py\", line 1\nValueError: no key\n", ": ValueError: no key"},
		{"42\n", ""},
	} {
		if got := lastLine([]byte(c.stderr)); got != c.want {
			t.Errorf("%q: got %q, want %q", c.stderr, got, c.want)
		}
	}
}
