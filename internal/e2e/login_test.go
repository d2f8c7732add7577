package e2e_test

import (
	"bytes"
	"encoding/base64"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/meerkat-go/conformance/internal/app/conform"
	"github.com/meerkat-go/conformance/simulator"
)

// login is a request of an agent that is logged in instead of using a key.
type login struct {
	provider string
	flags    []string
	url      string
	header   map[string]string
	body     string
	packed   bool // with zstd, as codex does when it is logged in
	// secrets may stand nowhere in a recording.
	secrets []string
}

// webToken is a JSON web token as a login hands it out, with the account in its claims.
func webToken(account string) string {
	part := func(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }
	return part(`{"alg":"RS256","typ":"JWT"}`) + "." + part(`{"https://api.openai.com/auth":{"chatgpt_account_id":"`+
		account+`"}}`) + "." + part("signature of a heron")
}

func logins() map[string]login {
	const account, oauth = "acct-canary-of-a-heron", "oauth-canary-of-a-heron"
	jwt := webToken(account)
	codex := login{
		provider: "openai", flags: []string{"--allow-host", "chatgpt.com"},
		url:    "https://chatgpt.com/backend-api/codex/responses",
		header: map[string]string{"Authorization": "Bearer " + jwt, "ChatGPT-Account-ID": account},
		body: `{"model":"gpt-5.5","stream":true,"store":false,"include":["reasoning.encrypted_content"],"instructions":"You are codex.",` +
			`"input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"Name one bird."}]}]}`,
		secrets: []string{jwt, strings.Split(jwt, ".")[1], account},
	}
	packed := codex
	packed.packed = true
	return map[string]login{
		"codex by ChatGPT":             codex,
		"codex by ChatGPT, compressed": packed,
		"Claude Code by OAuth": {
			provider: "anthropic", url: "https://api.anthropic.com/v1/messages?beta=true",
			header: map[string]string{"Authorization": "Bearer " + oauth, "Anthropic-Version": "2023-06-01",
				"Anthropic-Beta": "oauth-2025-04-20"},
			body:    `{"model":"claude-opus-4-5","max_tokens":4096,"stream":true,"messages":[{"role":"user","content":"Name one bird."}]}`,
			secrets: []string{oauth},
		},
	}
}

// TestLoginsAreRecordedAndJudged holds that the calls of an agent that is logged in are
// recorded without what it is logged in with, and judged as those with a key are.
func TestLoginsAreRecordedAndJudged(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("curl is not installed")
	}
	server, err := simulator.Start("", simulator.New(simulator.Config{Seed: "logins"}))
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	authority := filepath.Join(t.TempDir(), "upstream.pem")
	if err := os.WriteFile(authority, server.CA, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, l := range logins() {
		t.Run(name, func(t *testing.T) {
			cassette := filepath.Join(t.TempDir(), "login.yaml")
			flags := append([]string{"--cassette", cassette, "--upstream-ca", authority, "--upstream",
				l.provider + "=" + server.URL}, l.flags...)
			if said := recordClient(t, l.curl(t), flags...); !bytes.Contains(said, []byte("event: ")) {
				t.Fatalf("no stream arrived: %s", said)
			}
			l.holdsNoSecret(t, cassette)
			var stdout, stderr bytes.Buffer
			code := conform.Run(t.Context(), []string{"check", cassette}, strings.NewReader(""), &stdout, &stderr, nil)
			if out := stdout.String(); code != 0 || !strings.Contains(out, "PASS") {
				t.Errorf("conform check: exit %d\n%s%s", code, out, stderr.Bytes())
			}
		})
	}
}

// curl is the request as a command of a shell.
func (l login) curl(t *testing.T) string {
	t.Helper()
	command := "curl -sSN -H content-type:application/json"
	for name, value := range l.header {
		command += " -H '" + name + ": " + value + "'"
	}
	body := []byte(l.body)
	if l.packed {
		w, err := zstd.NewWriter(nil)
		if err != nil {
			t.Fatal(err)
		}
		body = w.EncodeAll(body, nil)
		command += " -H content-encoding:zstd"
	}
	file := filepath.Join(t.TempDir(), "body")
	if err := os.WriteFile(file, body, 0o600); err != nil {
		t.Fatal(err)
	}
	return command + " --data-binary '@" + file + "' '" + l.url + "'"
}

func (l login) holdsNoSecret(t *testing.T, cassette string) {
	t.Helper()
	kept, err := os.ReadFile(cassette)
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range l.secrets {
		if bytes.Contains(kept, []byte(secret)) {
			t.Errorf("the cassette holds %s", secret)
		}
	}
}
