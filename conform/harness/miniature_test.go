package harness

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// miniature is a complete agent for Anthropic in a few lines: a subject for the
// runner that has nothing to do with rkat. spoil, if not nil, changes what it
// sends after the first request; once makes it content with one reply; mute
// keeps the answer to itself; user is whom its requests name.
type miniature struct {
	spoil func(messages []message) []message
	once  bool
	mute  bool
	user  string
}

type message struct {
	Role    string           `json:"role"`
	Content []map[string]any `json:"content"`
}

func (a miniature) main(ctx context.Context, args []string, _ io.Reader, stdout, stderr io.Writer, env []string) int {
	if err := a.run(ctx, args, stdout, env); err != nil {
		fmt.Fprintln(stderr, "miniature:", err)
		return 1
	}
	return 0
}

func (a miniature) run(ctx context.Context, args []string, stdout io.Writer, env []string) error {
	set := flag.NewFlagSet("", flag.ContinueOnError)
	set.SetOutput(io.Discard)
	model, dir, system := set.String("model", "", ""), set.String("session-dir", "", ""), set.String("system", "", "")
	set.String("output", "", "")
	set.String("effort", "", "")
	set.Bool("conform-tools", false, "")
	set.String("conform-extra", "", "")
	at := slices.IndexFunc(args, func(s string) bool { return strings.HasPrefix(s, "--") })
	if err := set.Parse(args[at:]); err != nil {
		return err
	}
	if !strings.HasPrefix(*model, "claude-opus") {
		return fmt.Errorf("%s: not supported", *model)
	}
	file := filepath.Join(*dir, "only.json")
	session := struct {
		System   string
		Messages []message
	}{System: *system}
	words := args[1:at]
	if args[0] == "resume" {
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if err := json.Unmarshal(data, &session); err != nil {
			return err
		}
		words = words[1:]
	}
	for _, prompt := range words {
		session.Messages = append(session.Messages, message{"user", []map[string]any{{"type": "text", "text": prompt}}})
	}
	client, err := clientFor(env)
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	for done := false; !done; {
		sent := session.Messages
		if a.spoil != nil && len(sent) > 1 {
			sent = a.spoil(sent)
		}
		reply, err := a.sendMessages(ctx, client, *model, session.System, sent)
		if err != nil {
			return err
		}
		session.Messages = append(session.Messages, reply)
		results := runTools(reply)
		if done = a.once || len(results) == 0; !done {
			session.Messages = append(session.Messages, message{"user", results})
		}
	}
	data, err := json.Marshal(session)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(*dir, 0o700); err != nil {
		return err
	}
	said := map[string]any{"session_id": "only"}
	if last := session.Messages[len(session.Messages)-1]; !a.mute {
		said["said"] = last
	}
	if err := json.NewEncoder(stdout).Encode(said); err != nil {
		return err
	}
	return os.WriteFile(file, data, 0o600)
}

func clientFor(env []string) (*http.Client, error) {
	pem, err := os.ReadFile(Variable(env, "SSL_CERT_FILE"))
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	proxyURL, err := url.Parse(Variable(env, "HTTPS_PROXY"))
	if err != nil {
		return nil, err
	}
	return &http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(proxyURL),
		TLSClientConfig: &tls.Config{RootCAs: roots}}}, nil
}

var offered = json.RawMessage(`[{"name":"conform_echo","input_schema":{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}},{"name":"conform_fail","input_schema":{"type":"object"}},{"name":"conform_noargs","input_schema":{"type":"object"}}]`)

func (a miniature) sendMessages(ctx context.Context, c *http.Client, model, system string,
	messages []message) (message, error) {
	request := map[string]any{"model": model, "max_tokens": 4096, "system": system, "tools": offered,
		"thinking": map[string]any{"type": "enabled", "budget_tokens": 1024}, "messages": messages}
	if a.user != "" {
		request["metadata"] = map[string]any{"user_id": a.user}
	}
	body, err := json.Marshal(request)
	if err != nil {
		return message{}, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://api.anthropic.com/v1/messages",
		bytes.NewReader(body))
	if err != nil {
		return message{}, err
	}
	r.Header = http.Header{"X-Api-Key": {"conform-made-up-key-anthropic"}, "Anthropic-Version": {"2023-06-01"},
		"Content-Type": {"application/json"}}
	resp, err := c.Do(r)
	if err != nil {
		return message{}, err
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return message{}, err
	}
	var m message
	if resp.StatusCode != http.StatusOK {
		return m, fmt.Errorf("status %d: %s", resp.StatusCode, text)
	}
	if err := json.Unmarshal(text, &m); err != nil {
		return m, err
	}
	for _, b := range m.Content {
		delete(b, "caller")
	}
	return m, nil
}

// runTools runs the tools of a reply.
func runTools(m message) (results []map[string]any) {
	for _, b := range m.Content {
		if b["type"] != "tool_use" {
			continue
		}
		result := map[string]any{"type": "tool_result", "tool_use_id": b["id"], "content": "ok"}
		switch b["name"] {
		case "conform_echo":
			result["content"] = b["input"].(map[string]any)["text"]
		case "conform_fail":
			result["content"], result["is_error"] = "this tool always fails", true
		}
		results = append(results, result)
	}
	return results
}

// dropThinking drops the thinking of every reply.
func dropThinking(messages []message) []message {
	var out []message
	for _, m := range messages {
		out = append(out, message{m.Role,
			slices.DeleteFunc(slices.Clone(m.Content), func(b map[string]any) bool { return b["type"] == "thinking" })})
	}
	return out
}
