package conform

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
)

// toyAgent is a small agent for scripts: it asks Anthropic for its last argument and
// prints the answer. The argument before it says what is wrong with it.
func toyAgent() {
	prompt, fault := os.Args[len(os.Args)-1], os.Args[max(1, len(os.Args)-2)]
	if prompt == "--version" {
		fmt.Println("toy-agent 1.2.3")
		return
	}
	host, key := "https://api.anthropic.com", os.Getenv("ANTHROPIC_API_KEY")
	switch fault {
	case "silent":
		return
	case "login":
		fmt.Fprintln(os.Stderr, "Not logged in. Please run \x1b[31m/login\x1b[0m")
		os.Exit(1)
	case "stray":
		host = "https://llm.example.com"
	case "realkey":
		key = "sk-ant-" + "api03-" + strings.Repeat("Zx9", 31) + "Q"
	case "killed":
		self, _ := os.FindProcess(os.Getpid())
		_ = self.Kill()
		select {}
	case "crash":
		panic("boom")
	case "tellskey":
		fmt.Fprintln(os.Stderr, "Error: cannot use the key sk-ant-"+"api03-"+strings.Repeat("Zx9", 31)+"Q")
		os.Exit(1)
	case "circles":
		for range 100 {
			askAnthropic("https://api.anthropic.com", key, prompt, true)
		}
	case "waits":
		_ = http.ListenAndServe("127.0.0.1:0", nil)
	case "acp":
		speakACP()
		return
	case "chat":
		_, _ = http.Post(strings.TrimSuffix(os.Getenv("TOY_URL"), "/")+"/completions", "application/json",
			strings.NewReader("{}"))
		os.Exit(1)
	case "bare": // its base URL has to end in a version
		if base := os.Getenv("ANTHROPIC_BASE_URL"); base != "" {
			_, _ = http.Post(base+"/messages", "application/json", strings.NewReader("{}"))
		}
		os.Exit(1)
	case "url":
		host = os.Getenv("TOY_URL")
	case "folder":
		mode, err := os.ReadFile("settings/mode.txt") // of the folder in which it was started
		if err = errors.Join(err, os.WriteFile("written.txt", mode, 0o600)); err != nil {
			fmt.Fprintln(os.Stderr, "toy-agent: Error:", err)
			os.Exit(1)
		}
	case "flood":
		flood := bytes.Repeat([]byte("\x1b]0;owned\x07\x1b[2J\u202e\u200b\x00\xff\xfe</script><img src=x onerror=alert(1)>]]>\n::error::owned\n"), 130_000)
		_, _ = os.Stdout.Write(flood)
		_, _ = os.Stderr.Write(flood)
	}
	if base := os.Getenv("ANTHROPIC_BASE_URL"); base != "" && fault != "url" {
		host = base
	}
	askAnthropic(host, key, prompt, fault == "flood") // with a tool it plays cases, and never answers a call
	if fault == "stays" {
		_ = http.ListenAndServe("127.0.0.1:0", nil)
	}
}

// askAnthropic asks and prints the answer.
func askAnthropic(host, key, prompt string, withTool bool) {
	question := map[string]any{"model": "claude-opus-4-6", "max_tokens": 2000,
		"messages": []any{map[string]any{"role": "user", "content": prompt}}}
	if withTool {
		question["tools"] = []any{map[string]any{"name": "echo", "input_schema": map[string]any{"type": "object"}}}
	}
	body, _ := json.Marshal(question)
	request, _ := http.NewRequest(http.MethodPost, host+"/v1/messages", bytes.NewReader(body))
	request.Header = http.Header{"Content-Type": {"application/json"}, "X-Api-Key": {key},
		"Anthropic-Version": {"2023-06-01"}}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		fmt.Fprintln(os.Stderr, "toy-agent: Error:", err)
		os.Exit(1)
	}
	text, _ := io.ReadAll(response.Body)
	_ = response.Body.Close()
	var reply struct{ Content []struct{ Text string } }
	_ = json.Unmarshal(text, &reply)
	for _, block := range reply.Content {
		fmt.Print(block.Text)
	}
	if response.StatusCode != http.StatusOK {
		os.Exit(1)
	}
}

// speakACP answers what the Agent Client Protocol asks. It calls the model at TOY_URL and does
// not start without one.
func speakACP() {
	host := os.Getenv("TOY_URL")
	if !strings.HasPrefix(host, "http://127.0.0.1:") {
		fmt.Fprintln(os.Stderr, "toy-agent: TOY_URL is no address")
		os.Exit(3)
	}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		var call struct {
			ID     json.RawMessage
			Method string
			Params struct{ Prompt []struct{ Text string } }
		}
		_ = json.Unmarshal(lines.Bytes(), &call)
		result := "{}"
		switch call.Method {
		case "initialize":
			result = `{"protocolVersion":1}`
		case "session/new":
			result = `{"sessionId":"s"}`
		case "session/prompt":
			out := os.Stdout
			os.Stdout = os.Stderr
			askAnthropic(host, os.Getenv("ANTHROPIC_API_KEY"), call.Params.Prompt[0].Text, true)
			os.Stdout = out
			result = `{"stopReason":"end_turn"}`
		}
		fmt.Printf("{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":%s}\n", call.ID, result)
	}
}
