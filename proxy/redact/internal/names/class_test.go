package names

import "testing"

func TestClassify(t *testing.T) {
	for class, list := range map[Class][]string{
		Strong: {"x-api-key", "apiKey", "API_KEY", "GITHUB_TOKEN", "clientSecret", "tokenValue", "private_key_pem",
			"PASSWORD_FOR_ANNA", "PASSWORD_OLD", "pw", "db-pass", "Set-Cookie", "jsessionid", "ldap_default_authtok",
			"Grpc-Metadata-macaroon", "validationKey", "config.pepper", "motDePasse", "db_senha"},
		Weak:   {"key", "keys", "apiKeys", "auth", "session", "value", "API_KEY_OPENAI", "otp", "pin"},
		Public: {"id", "user_id", "model", "modelVersion", "password_id", "token_type"},
		Plain: {"", "content", "nextPageToken", "eos_token", "cache_key", "secretArn", "password_hint",
			"helper_tokens_per_item", "signature", "keyboard", "bell_pepper"},
	} {
		for _, name := range list {
			if got := Classify(name); got != class {
				t.Errorf("%s: class %d, want %d", name, got, class)
			}
		}
	}
}

// A cache answers as if it remembered nothing, also for names that share a place and for escapes.
func TestCache(t *testing.T) {
	var c Cache
	for range 2 {
		for _, name := range []string{"token", "taken", "type", "model", `\u0074oken`, ""} {
			want := Classify(name)
			if name == `\u0074oken` {
				want = Strong
			}
			if got := c.Class([]byte(name)); got != want {
				t.Errorf("%s: class %d, want %d", name, got, want)
			}
		}
	}
}

func TestKindsOfNames(t *testing.T) {
	for name, is := range map[string]func([]byte) bool{
		"dbPassword": IsChosen, "root_pw": IsChosen, "seedPhrase": IsChosen, "wachtwoord": IsChosen,
		"mfaCode": IsCode, "PIN": IsCode, "backup_codes": IsCodeList, "passwords": IsListOfPasswords,
		"tokens":     IsPlural,
		"my-secrets": HoldSecrets, "github_pat": MeansSecret, "BUILD_ID": IsID,
	} {
		if !is([]byte(name)) {
			t.Errorf("%s is none", name)
		}
	}
	for name, is := range map[string]func([]byte) bool{
		"token": IsChosen, "code": IsCode, "codec": IsCodeList, "password": IsListOfPasswords, "keys": IsPlural,
		"secret": HoldSecrets, "key": MeansSecret, "IDEA": IsID,
	} {
		if is([]byte(name)) {
			t.Errorf("%s is one", name)
		}
	}
}
