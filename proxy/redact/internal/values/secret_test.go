package values

import "testing"

// The place says how much of a secret a value has to be.
func TestIsSecretIn(t *testing.T) {
	for value, least := range map[string]Place{
		"q7Rk2ZxV9mWp4TnB8cLd":        AnyPlace,
		"tr0ub4dor&3xyz":              SpokenPlace,
		"walrus-saddle-tundra-copper": KeyPlace,
		"Summer2024!":                 SpokenPlace,
		"saffron-Kettle-31":           LinePlace,
		"Tulip-Engine-Fog":            LiteralPlace,
		"password":                    LiteralPlace + 1,
		"getUserToken":                LiteralPlace + 1,
		"${PASSWORD_OF_USER2}":        LiteralPlace + 1,
		"make(x, 2)":                  LiteralPlace + 1,
		"https://h.example/a1b2":      LiteralPlace + 1,
	} {
		for p := AnyPlace; p <= LiteralPlace; p++ {
			isOfMachines := least == KeyPlace && p >= KeyPlace // KeyPlace is not above SpokenPlace
			if got, want := IsSecretIn([]byte(value), p), p >= least || isOfMachines; got != want {
				t.Errorf("%s in place %d: %v", value, p, got)
			}
		}
	}
}

func TestIsReference(t *testing.T) {
	for _, v := range []string{"${TOKEN}", "$TOKEN", "{{ token }}", "<your-key>", "op://vault/item", "Bearer $TOKEN",
		"X-Auth-Token", "DB_PASSWORD", "changeme", "Mot de passe", "is too short (minimum is 8 characters)",
		"/run/secrets/db", "process.env.API_KEY"} {
		if !IsReference(v) {
			t.Errorf("%s is none", v)
		}
	}
	for _, v := range []string{"", "hunter2hunter2", "q7Rk2ZxV9mWp4TnB8cLd", "/q7Rk2ZxV9mWp4TnB8cLd/k3Jd8sLq0ZmX",
		"saffron-Kettle-31"} {
		if IsReference(v) {
			t.Errorf("%s is one", v)
		}
	}
}

func TestPseudonymsAreKnown(t *testing.T) {
	for v, want := range map[string]bool{"REDACTED": true, "REDACTEDRED": true, "REDACTEDnMaxelnm5tzhz3": true,
		"REDACTEDnMaxelnm5-zhz3": false, "REDACTOR": false, "": true} {
		if got := IsPseudonym(v); got != want {
			t.Errorf("%q: %v", v, got)
		}
	}
}
