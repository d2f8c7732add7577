package recorder_test

import (
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/internal/app/recorder"
	"github.com/meerkat-go/conformance/internal/isolate"
	"github.com/meerkat-go/conformance/internal/standin"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"recorder": func() { cli.Main(recorder.Run) },
		"ask":      ask,
		"await":    await,
		"fail":     func() { os.Exit(7) },
	})
}

// ask is the agent: it posts its second argument, or the file behind an @, to the first
// one, by whatever proxy and roots its environment names, and prints what comes back.
func ask() {
	body := os.Args[2]
	if file, ok := strings.CutPrefix(body, "@"); ok {
		data, err := os.ReadFile(file)
		if err != nil {
			panic(err)
		}
		body = string(data)
	}
	req, err := http.NewRequest(http.MethodPost, os.Args[1], strings.NewReader(body))
	if err != nil {
		panic(err)
	}
	req.Header.Set("X-Api-Key", os.Getenv("ANTHROPIC_API_KEY"))
	if key := os.Getenv("OPENAI_API_KEY"); key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(resp.StatusCode, resp.Header.Get("X-Cassette-Miss"))
	if _, err := io.Copy(os.Stdout, resp.Body); err != nil {
		fmt.Println("cut:", err)
	}
}

// await returns when something listens on the port it is given, or when the
// file it is given holds a text: the second argument, or a sealed interaction.
func await() {
	text := "# sealed"
	if len(os.Args) > 2 {
		text = os.Args[2]
	}
	for range time.NewTicker(5 * time.Millisecond).C {
		if data, err := os.ReadFile(os.Args[1]); err == nil && strings.Contains(string(data), text) {
			return
		}
		if conn, err := net.Dial("tcp", "127.0.0.1:"+os.Args[1]); err == nil {
			_ = conn.Close()
			return
		}
	}
}

func TestScripts(t *testing.T) {
	upstream := httptest.NewTLSServer(http.HandlerFunc(provider))
	t.Cleanup(upstream.Close)
	company := httptest.NewServer(&standin.Proxy{To: upstream.Listener.Addr().String(),
		Login: "clerk:tr0ub4dor-and-three"})
	t.Cleanup(company.Close)
	authority := filepath.Join(t.TempDir(), "upstream.pem")
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: upstream.Certificate().Raw})
	if err := os.WriteFile(authority, block, 0o600); err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:  "testdata/script",
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"valid": valid},
		Condition: func(name string) (bool, error) {
			switch name {
			case "hangup":
				return !recorder.HangupIgnored, nil
			case "isolation":
				level, err := isolate.Detect(t.Context(), isolate.Auto)
				return level.Enforced, err
			}
			return false, fmt.Errorf("unknown condition %s", name)
		},
		Setup: func(e *testscript.Env) error {
			free, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				return err
			}
			taken, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				return err
			}
			e.Defer(func() { _ = taken.Close() })
			e.Setenv("PORT", fmt.Sprint(free.Addr().(*net.TCPAddr).Port))
			e.Setenv("TAKEN", taken.Addr().String())
			e.Setenv("UPSTREAM", upstream.URL)
			e.Setenv("COMPANY", company.URL)
			e.Setenv("UPSTREAM_CA", authority)
			e.Setenv("XDG_CONFIG_HOME", filepath.Join(e.WorkDir, "config"))
			e.Setenv("API", "https://api.anthropic.com/v1/messages")
			e.Setenv("ANTHROPIC_API_KEY", canary)
			return free.Close()
		},
	})
}

// canary is the credential that must be nowhere on disk.
const canary = "sk-ant-api03-canary0canary0canary0canary0"

// provider is a small Anthropic: what it is asked decides how it behaves.
func provider(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	send := func(text string) {
		_, _ = io.WriteString(w, text)
		w.(http.Flusher).Flush()
	}
	w.Header().Set("Content-Type", "text/event-stream")
	if strings.HasSuffix(r.URL.Path, "/chat/completions") {
		send(completion(string(body), r.Header.Get("Authorization")))
		return
	}
	send("event: message_start\ndata: {\"type\":\"message_start\"}\n\n")
	switch text := string(body); {
	case strings.Contains(text, "cut"):
		panic(http.ErrAbortHandler)
	case strings.Contains(text, "long"):
		send(strings.Repeat(": more\n\n", 1<<18))
	case strings.Contains(text, "reflect"):
		send("event: ping\ndata: {\"type\":\"ping\",\"key\":\"" + r.Header.Get("X-Api-Key") + "\"}\n\n")
	case strings.Contains(text, "leak"):
		send("event: ping\ndata: {\"type\":\"ping\",\"text\":\"sk-ant-api03-anotherkey0anotherkey0another\"}\n\n")
	}
	send("event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n")
}
