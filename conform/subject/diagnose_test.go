package subject

import (
	"bytes"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/harness"
	"github.com/meerkat-go/conformance/profiles"
	"github.com/meerkat-go/conformance/proxy"
	"github.com/meerkat-go/conformance/proxy/cassette"
)

// madeUpKey is put together here so that no scanner takes this file for a leak.
const madeUpKey = "sk-ant-" + "api03-" +
	"Zx9Zx9Zx9Zx9Zx9Zx9Zx9Zx9Zx9Zx9Zx9Zx9Zx9Zx9Zx9Zx9Zx9Zx9Zx9Zx9Zx9Zx9Zx9Zx9Zx9Zx9Zx9Zx9Zx9Zx9Zx9Q"

// TestExplain holds what people are told when no call of a model was seen.
func TestExplain(t *testing.T) {
	process := func(code int, stderr string) harness.Probed {
		return harness.Probed{Processes: []evidence.Process{{ExitCode: code, Stderr: []byte(stderr)}}}
	}
	notice := func(kind proxy.Kind, host string) harness.Probed {
		p := process(1, "")
		p.Notices = []proxy.Notice{{Kind: kind, Host: host}, {Kind: kind, Host: host}}
		return p
	}
	models := process(0, "")
	models.Interactions = []cassette.Interaction{{Request: cassette.Request{Method: http.MethodGet,
		URL: "https://api.openai.com/v1/models?key=secret"}}}
	versionless := process(1, "404")
	versionless.Interactions = []cassette.Interaction{{Request: cassette.Request{Method: http.MethodPost,
		URL: "https://api.anthropic.com/messages"}}}
	chat := process(1, "404")
	chat.Interactions = []cassette.Interaction{{Request: cassette.Request{Method: http.MethodPost,
		URL: "https://api.openai.com/v1/completions"}}}
	slow := process(-1, "waiting")
	slow.Notes = []string{"step 0 was ended at the case's time limit of 3s, having sent no request; give slow agents more with --case-timeout"}
	for _, c := range []struct {
		name   string
		probed harness.Probed
		way    string
		want   []string
	}{
		{"sends nothing", process(0, ""), "mitm", []string{"sent nothing here; run its command by hand",
			"if it does, it may not use HTTPS_PROXY", "isolation is not enforced", "exited 0 and said nothing"}},
		{"sends nothing to the base URL", process(0, ""), "base-url",
			[]string{"if it does, it may not use ANTHROPIC_BASE_URL", "or use --ingress mitm"}},
		{"no route", process(1, "TypeError: fetch failed\n    at x\n  errno: -3008,\n}\n\nNode.js v20.20.2"), "mitm",
			[]string{"could not connect", "it may not use HTTPS_PROXY", "said: TypeError: fetch failed"}},
		{"no route of Java", process(1, "Caused by: java.nio.channels.UnresolvedAddressException"), "mitm",
			[]string{"could not connect", "or use --ingress base-url; docs/guides/judge-your-agent.md#your-language"}},
		{"no route of an old client of Java", process(1, "java.net.UnknownHostException: api.openai.com"), "mitm",
			[]string{"could not connect", "it may not use HTTPS_PROXY"}},
		{"no route of Erlang", process(1, "{:failed_connect, [{:inet, [:inet], :nxdomain}]}"), "mitm",
			[]string{"could not connect", "it may not use HTTPS_PROXY"}},
		{"no route of Ruby", process(1, "getaddrinfo: Temporary failure in name resolution (SocketError)"), "mitm",
			[]string{"could not connect", "--env NAME={proxy_url} (Ruby: http_proxy)"}},
		{"no trust of Java", process(1, "SSLHandshakeException: PKIX path building failed"), "mitm",
			[]string{"does not trust conform's certificate", "#your-language"}},
		{"does not trust", notice(proxy.Untrusted, "api.anthropic.com:443"), "mitm",
			[]string{"does not trust conform's certificate for api.anthropic.com:443;", "NODE_EXTRA_CA_CERTS",
				"--env NAME={ca_file}"}},
		{"says that it does not trust", process(1, "error: self-signed certificate in chain"), "mitm",
			[]string{"does not trust conform's certificate"}},
		{"logs in", notice(proxy.Refused, "auth.openai.com:443"), "mitm",
			[]string{"logs in at auth.openai.com:443 instead of using a key"}},
		{"finds no key", process(1, "TypeError: fetch failed\nLoadAPIKeyError: Google Generative AI API key is missing. Pass it"), "base-url",
			[]string{"wants a login or a key", "--env NAME=KEY", "API key is missing"}},
		{"wants a login", process(1, "Not logged in · Please run /login"), "mitm",
			[]string{"wants a login", "Please run /login"}},
		{"another host", notice(proxy.Refused, "llm.example.com:443"), "mitm",
			[]string{"no provider but llm.example.com:443, which is refused"}},
		{"no terminal", process(1, "Error: stdin is not a terminal"), "mitm", []string{"needs a terminal"}},
		{"crash", process(3, "\x1b[31mpanic: \x07boom\x1b[0m\n"), "mitm",
			[]string{"failed before it sent anything: it exited 3 and said: panic:  boom"}},
		{"crash of Python", process(1, "ModuleNotFoundError: No module named 'x'"), "mitm",
			[]string{"failed before it sent anything: it exited 1 and said: ModuleNotFoundError"}},
		{"prints a key", process(1, "Error: request with "+madeUpKey+" failed"), "mitm",
			[]string{"said: Error: request with "}},
		{"floods", process(3, "Error: not this\n"+strings.Repeat("noise \x1b[2J\xff\u202e\n", 1<<19)+
			"Error: disk is full"), "mitm", []string{"it exited 3 and said: Error: disk is full"}},
		{"waits", slow, "mitm", []string{"sent nothing in time", "it may not use HTTPS_PROXY", "said: waiting"}},
		{"speaks Completions", chat, "mitm",
			[]string{"speaks the Completions API (POST api.openai.com/v1/completions), which conform does not judge; set the agent to"}},
		{"speaks to Bedrock", notice(proxy.Refused, "bedrock-runtime.us-east-1.amazonaws.com:443"), "mitm",
			[]string{"speaks the Bedrock API (bedrock-runtime.us-east-1.amazonaws.com:443), which conform does not judge"}},
		{"names Bedrock",
			process(1,
				`Could not connect to the endpoint URL: "https://bedrock-runtime.eu-west-1.amazonaws.com/model/x/converse"`), "base-url", []string{"seems to call Bedrock"}},
		{"speaks to Ollama", process(1, "ConnectionError: Failed to connect to Ollama."), "mitm",
			[]string{"such as Ollama, which conform does not judge", "it may not use HTTPS_PROXY"}},
		{"speaks to a server here", process(1, "connect ECONNREFUSED 127.0.0.1:8080"), "mitm",
			[]string{"or a model server on this machine"}},
		{"calls a model without the version", versionless, "base-url",
			[]string{"POST api.anthropic.com/messages; its base URL has to end in /v1: --env ANTHROPIC_BASE_URL={base_url}/v1;"}},
		{"calls no model", models, "mitm", []string{"called no model", "GET api.openai.com/v1/models;"}},
	} {
		got := newSighting(c.probed).explainSilence(c.way, false)
		for _, want := range c.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s: %q lacks %q", c.name, got, want)
			}
		}
		if strings.ContainsAny(got, "\x1b\x07\n") || strings.Contains(got, "secret") || strings.Contains(got, "Zx9") {
			t.Errorf("%s: %q", c.name, got)
		}
	}
}

// TestLanguagesAreInTheGuide holds that the place that messages name is there.
func TestLanguagesAreInTheGuide(t *testing.T) {
	file, anchor, _ := strings.Cut(strings.Fields(languages)[0], "#")
	guide, err := os.ReadFile("../../" + file)
	if err != nil || !strings.Contains(strings.ToLower(string(guide)),
		"\n## "+strings.ReplaceAll(anchor, "-", " ")+"\n") {
		t.Errorf("%s has no section %s: %v", file, anchor, err)
	}
}

// TestFloodIsSearchedAtItsEnds holds that how much an agent prints does not decide how long
// conform thinks about it.
func TestFloodIsSearchedAtItsEnds(t *testing.T) {
	flood := bytes.Repeat([]byte("x y\n"), 4<<20)
	s := newSighting(harness.Probed{Processes: []evidence.Process{{Stdout: flood, Stderr: flood}}})
	if n := len(s.printedText()); n > 5*maxSearched {
		t.Errorf("%d bytes are searched", n)
	}
}

func TestVersionIn(t *testing.T) {
	for text, want := range map[string]string{
		"2.1.330 (Claude Code)\n":        "2.1.330",
		"codex-cli 0.169.0-alpha.1\n":    "0.169.0-alpha.1",
		"Welcome!\nmy-agent v3.4":        "3.4",
		"my-agent 7\n":                   "7",
		"no version":                     "",
		"\x1b[1mv1.2\x1b[0m\x1b]0;x\x07": "1.2",
	} {
		if got := versionIn(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestVersionCommand(t *testing.T) {
	for command, want := range map[string]string{
		"claude -p {prompt}":                 "claude --version",
		"node --import x agent.mjs {prompt}": "node --import x agent.mjs --version",
		"npx -y my-agent@1.2 run {prompt}":   "npx -y my-agent@1.2 --version",
		"sh -c x {prompt}":                   "",
	} {
		p := &profiles.Profile{Run: toTemplates(strings.Fields(command))}
		if got := strings.Join(versionCommand(p), " "); got != want {
			t.Errorf("%s: %q, want %q", command, got, want)
		}
	}
}

func TestMissingProgram(t *testing.T) {
	t.Chdir(t.TempDir())
	p := &profiles.Profile{}
	for program, want := range map[string]string{
		"sh":          "",
		"nosuch-prog": "is not in PATH; install it",
		"./nosuch":    "no such file",
		"/":           "is a folder",
	} {
		if got := missingProgram(p, program, "/bin:/usr/bin"); !strings.Contains(got, want) || want == "" && got != "" {
			t.Errorf("%s: %q, want %q", program, got, want)
		}
	}
}

func TestPromptTimeout(t *testing.T) {
	for given, want := range map[time.Duration]time.Duration{
		0: preflightTimeout, time.Second: time.Second, harness.DefaultCaseTimeout: preflightTimeout,
		5 * time.Minute: 5 * time.Minute,
	} {
		if got := promptTimeout(given); got != want {
			t.Errorf("--case-timeout %v: %v, want %v", given, got, want)
		}
	}
}

func TestWithProfile(t *testing.T) {
	p := &profiles.Profile{Name: "by-protocol", Ingress: []string{proxy.MITM},
		Unsupported: map[string]string{"stall": "it waits"}}
	about := WithProfile(NewCommand(&profiles.Profile{Name: "agent"}, "1.0"), p).About()
	if about.Name != "by-protocol" || about.Version != "1.0" || len(about.Ingress) != 1 ||
		about.Unsupported["stall"] == "" {
		t.Errorf("%+v", about)
	}
}
