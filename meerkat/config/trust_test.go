package config_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/meerkat/config"
)

// TestTrust: what comes with a repository may not take a key, start a program
// or read the environment.
func TestTrust(t *testing.T) {
	harmless := "[agent]\nmodel = 'm'\n[budget]\nmax_tokens = 5\n"
	if _, err := newPlace(t, "", harmless).load(t, nil); err != nil {
		t.Error(err)
	}
	for _, content := range []string{
		"[provider]\napi_key = 'k'", "[providers.openai]\nbase_url = 'http://evil'",
		"[provider]\nbase_url = 'http://evil'",
		"[[tools.mcp_servers]]\nname = 'x'\ncommand = 'c'", "[storage]\ndirectory = '/tmp'",
		"[agent]\nsystem_prompt_file = '/etc/passwd'",
		"trusted_projects = ['/']", "[agent]\nsystem_prompt = '${AWS_SECRET}'", "'provider.base_url' = 'http://evil'",
		"[provider]\ntype = 'openai'", "[tools]\ndeny = []", "[tools]\nallow = ['*']", "[storage]\nbackend = 'memory'",
		"[server]\nhosts = ['evil.example']", "[tools]\nhosted = ['web_search']",
	} {
		p := newPlace(t, "", content)
		p.env["AWS_SECRET"] = "s"
		_, err := p.load(t, nil)
		var trust *config.TrustError
		if !errors.As(err, &trust) || !strings.Contains(err.Error(), "--trust-project") {
			t.Errorf("%s: %v", content, err)
		}
		if _, err := p.load(t, func(o *config.Options) { o.Trust = true }); err != nil {
			t.Errorf("%s, trusted: %v", content, err)
		}
		write(
			t, filepath.Join(p.env["HOME"], ".config", "meerkat", "config.toml"),
			"trusted_projects = ['"+p.project+"']",
		)
		if _, err := p.load(t, nil); err != nil {
			t.Errorf("%s, trusted by the user: %v", content, err)
		}
	}
}

// TestTrustIsTheUsers: a variable cannot name what is trusted, for it would be
// read after the project's file; folders are compared as they are meant.
func TestTrustIsTheUsers(t *testing.T) {
	p := newPlace(t, "", "[provider]\ntype = 'openai'")
	p.env["RKAT_TRUSTED_PROJECTS"] = p.project
	if _, err := p.load(t, nil); err == nil {
		t.Errorf("%v", err)
	}
	delete(p.env, "RKAT_TRUSTED_PROJECTS")
	if _, err := p.load(t, nil); !errors.As(err, new(*config.TrustError)) {
		t.Errorf("%v", err)
	}
	for _, folder := range []string{p.project + "/", "~/work/project"} {
		write(t, filepath.Join(p.env["HOME"], ".config", "meerkat", "config.toml"), "trusted_projects = ['"+folder+"']")
		if _, err := p.load(t, nil); err != nil {
			t.Errorf("%s: %v", folder, err)
		}
	}
}

// TestMisspeltVariables: a variable that is almost a setting is refused with its name.
func TestMisspeltVariables(t *testing.T) {
	for name, want := range map[string]string{
		"RKAT_MAX_TURN": "RKAT_MAX_TURNS", "RKAT_MODLE": "RKAT_MODEL",
		"RKAT_RETRY_MAX_RETIRES":  "RKAT_RETRY_MAX_RETRIES",
		"RKAT_LIMITS_IDLE_TIMOUT": "RKAT_LIMITS_IDLE_TIMEOUT", "RKAT_SOMETHING_ELSE_ALTOGETHER": "unset it",
	} {
		_, err := config.Load(config.Options{Env: map[string]string{name: "1"}})
		if err == nil || !strings.HasPrefix(err.Error(), name+": ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
	if _, err := config.Load(config.Options{
		Env: map[string]string{"RKAT_MODEL": "m", "XRKAT_MODLE": "1", "RKATMODLE": "1"},
	}); err != nil {
		t.Error(err)
	}
}

// TestMisspeltServerMembers: a member of a server that nothing understands is refused
// with the one that was probably meant; those of other clients pass.
func TestMisspeltServerMembers(t *testing.T) {
	for member, want := range map[string]string{
		"comand": "command", "arg": "args", "evn": "env", "header": "headers", "urls": "url",
		"startTimout": "startTimeout", "nonsense_altogether": "take it out",
	} {
		_, err := config.ReadMCPServers([]byte(`{"mcpServers":{"s":{"command":"c","`+member+`":"x"}}}`), nil)
		if err == nil || !strings.Contains(err.Error(), `"`+member+`"`) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", member, err, want)
		}
		p := newPlace(t, "[[tools.mcp_servers]]\nname = 's'\ncommand = 'c'\n"+member+" = 'x'", "")
		if _, err := p.load(t, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s in a file: %v, want %s", member, err, want)
		}
	}
	list, err := config.ReadMCPServers(
		[]byte(`{"mcpServers":{"a":{"command":"c","type":"stdio","autoApprove":[]},"b":{"command":"c","disabled":true}}}`),
		nil,
	)
	if err != nil || len(list) != 1 || list[0].Name != "a" {
		t.Errorf("%v, %v", list, err)
	}
	if _, err := config.ReadMCPServers(
		[]byte(`{"mcpServers":{"a":{"url":"http://h","type":"sse"}}}`), nil,
	); err == nil {
		t.Error("type sse passes")
	}
}

// TestStrongerAccount: of two keys of one provider, that of the stronger layer
// counts; within one layer, the provider's own.
func TestStrongerAccount(t *testing.T) {
	const own, general = "[providers.openai]\napi_key = 'own'\nbase_url = 'http://own'\n",
		"[provider]\ntype = 'openai'\napi_key = 'general'\nbase_url = 'http://general'\n"
	for _, c := range []struct {
		file, variable, want string
	}{
		{own + general, "", "own"},
		{general, "", "general"},
		{own + "[provider]\ntype = 'openai'\n", "RKAT_PROVIDER_API_KEY", "env"},
		{general, "OPENAI_API_KEY", "env"},
		{own, "RKAT_PROVIDER_API_KEY", "own"}, // of no type
	} {
		p := newPlace(t, c.file, "")
		p.env[strings.Replace(c.variable, "API_KEY", "BASE_URL", 1)] = "http://env"
		p.env[c.variable] = "env"
		l, err := p.load(t, nil)
		if err != nil || l.Key("openai") != c.want || l.BaseURL("openai") != "http://"+c.want || l.Key("gemini") != "" {
			t.Errorf("%+v: %q, %q, %v", c, l.Key("openai"), l.BaseURL("openai"), err)
		}
	}
}
