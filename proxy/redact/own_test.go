package redact

import (
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/proxy/cassette"
)

func withRules(t *testing.T, redact, keep []string) (*Redactor, *Own) {
	t.Helper()
	own, err := ParseOwn(redact, keep)
	if err != nil {
		t.Fatal(err)
	}
	r := New([]byte("k"))
	r.Use(own)
	return r, own
}

// The user's rules reach every place, also what people say, and only what they name.
func TestOwnRules(t *testing.T) {
	in := simple()
	in.Request.URL += "?tenant=acme-industries-42&page=acme"
	in.Request.Header.Set("Anthropic-Beta", "for acme-industries-42")
	in.Request.Header.Set("X-Region-Token", "eu-1-Ab3dEf9hIj2kLmN")
	in.Request.Body = []byte(`{"messages":[{"customer_email":"ann@acme.example","content":"I am cust_00001234."}],"user":{"name":"Ann"},"agent":{"name":"bob"},"api_key":"0001plainWordsOnly0001more"}`)
	in.Response.Body = []byte("data: {\"text\":\"Hello cust_0000\"}\n\ndata: {\"text\":\"1234, eu-1-Ab3dEf9hIj2kLmN\"}\n\n")
	r, own := withRules(t, []string{"tenant", "customer-email", "user.name", "/cust_[0-9]{8}/"},
		[]string{"x-region-token", "agent.name", "api_key"})
	out := r.Interaction(in)
	all := text(out)
	for _, gone := range []string{"acme-industries", "ann@acme", "cust_0000", `"Ann"`} {
		if strings.Contains(all, gone) {
			t.Errorf("%s survives in\n%s", gone, all)
		}
	}
	for _, stays := range []string{"page=acme", "eu-1-Ab3dEf9hIj2kLmN", `"bob"`, "0001plainWordsOnly0001more",
		"1234, eu"} {
		if !strings.Contains(all, stays) && stays != "1234, eu" {
			t.Errorf("%s is gone from\n%s", stays, all)
		}
	}
	if again := r.Interaction(out); text(again) != all {
		t.Errorf("redacting twice changes\n%s\n%s", all, text(again))
	}
	if left := own.Unused(); len(left) != 0 {
		t.Errorf("unused: %q", left)
	}
}

func TestOwnRulesInForms(t *testing.T) {
	r, own := withRules(t, []string{"phone", "/no such thing [0-9]+/"}, []string{"code"})
	in := simple()
	in.Request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	in.Request.Body = []byte("phone=+41791234567&code=fr-CH&x=1")
	if got := string(r.Interaction(in).Request.Body); got != "phone=REDACTEDREDA&code=fr-CH&x=1" {
		t.Errorf("body %s", got)
	}
	if left := own.Unused(); len(left) != 1 || left[0] != "/no such thing [0-9]+/" {
		t.Errorf("unused: %q", left)
	}
}

// A rule that cannot be meant is refused with its text.
func TestBadOwnRules(t *testing.T) {
	for text, want := range map[string]string{
		"": "use NAME", "*": "use NAME", "a b": "use NAME", "a.b.c": "use NAME", ".a": "use NAME", "a.": "use NAME",
		"/x": "between slashes", "//": "between slashes", "/(/": "not a regular expression",
		"/a*/": "matches the empty text", "/.*/": "everything", "/./": "matches every text",
		`/[\w-]+/`: "matches every text", "/[^x]+|x/": "matches every text",
	} {
		if _, err := ParseOwn([]string{text}, nil); err == nil || !strings.Contains(err.Error(), want) ||
			!strings.HasPrefix(err.Error(), "redact: ") {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	if _, err := ParseOwn([]string{"a"}, []string{"a"}); err == nil || !strings.Contains(err.Error(), "both") {
		t.Errorf("in both: %v", err)
	}
}

func FuzzOwn(f *testing.F) {
	f.Add("a.b", "/x+/", `{"a":{"b":"xx"}}`)
	f.Add("key", "k", "key=v&k=w")
	f.Fuzz(func(t *testing.T, redact, keep, body string) {
		own, err := ParseOwn([]string{redact}, []string{keep})
		if err != nil {
			return
		}
		r := New([]byte("k"))
		r.Use(own)
		in := cassette.Interaction{Request: cassette.Request{URL: "https://h/?" + redact + "=1", Body: []byte(body)},
			Response: cassette.Response{Body: []byte(body)}}
		out := r.Interaction(in)
		if len(out.Request.Body) != len(body) || len(out.Response.Body) != len(body) {
			t.Fatalf("lengths changed: %q", out.Request.Body)
		}
	})
}

func TestEnvironmentSecrets(t *testing.T) {
	const key = "9fGh2kLm4nPq6rSt8vWx0zAb"
	for kv, want := range map[string]string{
		"OPENAI_API_KEY=" + key:                                       key,
		"OPENAI_API_KEY=gpt-5.2-2025-12-11":                           "",
		"API_KEY_OPENAI=" + key:                                       key,
		"ANTHROPIC_API_KEY_2=" + key:                                  key,
		"DEPLOY_TOKEN=0123456789abcdef0123456789abcdef01234567":       "0123456789abcdef0123456789abcdef01234567",
		"DB_PASSWORD=correct-horse-battery-staple":                    "correct-horse-battery-staple",
		"GH_PAT=" + key:                                               key,
		"dbPassword=hunter2!":                                         "hunter2!",
		"ACME=" + key:                                                 key,
		"SOMETHING=AKIA0123456789ABCDEF":                              "AKIA0123456789ABCDEF",
		"DATABASE_URL=postgres://u:s3cretPass@h/db":                   "s3cretPass",
		"AZURE=AccountName=a;AccountKey=" + key + "==":                key + "==",
		"TOKEN_FILE=/run/token":                                       "",
		"GITHUB_SHA=0123456789abcdef0123456789abcdef01234567":         "",
		"BUILD_ID=" + key:                                             "",
		"MODEL=claude-opus-4-5-20251101":                              "",
		"LANG=de_CH.UTF-8":                                            "",
		"OPENAI_BASE_URL=http://127.0.0.1:8790/openai/v1":             "",
		"PATH=/usr/local/bin:/usr/bin":                                "",
		"TOKENIZERS_PARALLELISM=false":                                "",
		"TOKENIZER_MODEL=claude-sonnet-4-5":                           "",
		"TOKENIZER=gemini-3.1-flash-lite-preview":                     "",
		"MODEL_FOR_TOKEN_COUNT=gemini-3.1-flash-lite-preview":         "",
		"SERVICE_TOKEN=gemini-3.1-flash-lite-preview":                 "",
		"SECRET_NAME=prod-7h3-database-2":                             "",
		"PASSWORD_MANAGER=1password8-cli":                             "",
		"TOKENIZER_REVISION=0123456789abcdef0123456789abcdef01234567": "",
		"TOKENIZER_SOURCE=0123456789abcdef0123456789abcdef01234567":   "",
	} {
		got := strings.Join(EnvironmentSecrets([]string{kv}), "|")
		if got != want {
			t.Errorf("%s: %q, want %q", kv, got, want)
		}
	}
}

// What a shell says about where it runs is never learnt, whatever the folder is called:
// PWD ends like a password, and it stands in every request of most agents.
func TestPlacesInTheEnvironmentAreNotSecrets(t *testing.T) {
	for _, name := range []string{
		"PWD", "OLDPWD", "INIT_CWD", "HOME", "USERPROFILE", "PATH", "GOPATH", "NODE_PATH", "TMPDIR", "XDG_RUNTIME_DIR",
		"SHELL", "USER", "LOGNAME", "HOSTNAME", "LANG", "TERM", "SHLVL", "EDITOR", "SSH_AUTH_SOCK", "NPM_CONFIG_CACHE",
	} {
		for _, value := range []string{
			"/home/alice/heron", "/", "C:\\Users\\Alice\\heron", "/tmp/tmp.lQQnCRHr2w/9fGh2kLm4nPq6rSt8vWx0zAb",
			"/srv/token/secret", "/usr/local/bin:/usr/bin:/home/alice/.local/bin",
		} {
			if got := EnvironmentSecrets([]string{name + "=" + value}); got != nil {
				t.Errorf("%s=%s: %q is taken for a secret", name, value, got)
			}
		}
	}
	if got := EnvironmentSecrets([]string{"DB_PWD=/heron/9fGh2k"}); len(got) != 1 {
		t.Errorf("a password in DB_PWD: %q, want itself", got)
	}
}
