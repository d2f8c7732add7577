package harness

import "testing"

// TestTellingLine holds which line of an agent's words says what was the matter.
func TestTellingLine(t *testing.T) {
	for _, c := range []struct{ stderr, want string }{
		{"", ""},
		{"  \n", ""},
		{"one\ntwo\n", "two"},
		{"error: [\n  {\n    \"message\": \"Invalid value\"\n  }\n]\n", `"message": "Invalid value"`},
		{"Error: no key\n    at run (/a/b.js:1:2)\n    at main (/a/b.js:3:4)\n\nNode.js v22.1.0\n", "Error: no key"},
		{"Traceback:\n  File \"a.py\", line 1\nValueError: no key\n", "ValueError: no key"},
		{"System.AggregateException: no key ---> Error: TrustFailure\n   --- End of inner exception stack trace ---\n  at Agent.Main () [0x1]\n   --- End of inner exception stack trace ---\n", "System.AggregateException: no key ---> Error: TrustFailure"},
		{"42\n", ""},
		{"400 `x` is not for this model.\n\nDuration 1s\nResume agent --resume=1\n", "400 `x` is not for this model."},
		{"APIError: 400 no such member\n    at a (b:1) {\n  status: 400,\n  error: {\n    type: 'x'\n  },\n  [Symbol(AI_Error)]: true\n}\n", "APIError: 400 no such member"},
		{"body: '{' +\n '\"type\": \"invalid_request_error\",' +\n '\"message\": \"a call must have a result\"',\n_tag: 'ResponseError',\nparameters: { required: [Array] }\n'~x/AiError': '~x/AiError'\n}\n",
			`'"message": "a call must have a result"',`},
		{"Failed to get a response; the last error: two starts\n\nChanges +0 -0\nResume agent --resume=1\n",
			"Failed to get a response; the last error: two starts"},
	} {
		if got := TellingLine(c.stderr); got != c.want {
			t.Errorf("%q: got %q, want %q", c.stderr, got, c.want)
		}
	}
}

// TestPrintableLine holds that a line of an agent controls no terminal and hides nothing.
func TestPrintableLine(t *testing.T) {
	for line, want := range map[string]string{
		"\x1b[31mred\x1b[0m":            "red",
		"a\x1b]0;owned\x07b":            "a ]0;owned b",
		"a\u200bb\u202ec\ufeffd\u2028e": "a b c d e",
		"Zürich 東京 ✓":                   "Zürich 東京 ✓",
		"a\xffb":                        "a?b",
	} {
		if got := PrintableLine(line, MaxLine); got != want {
			t.Errorf("%q: got %q, want %q", line, got, want)
		}
	}
}
