package rkat

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

const serveToken = "token-of-the-tests-0123456789"

// askServer sends a request to a server and returns the status and the body.
func askServer(t *testing.T, method, url, body string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+serveToken)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Prefer", "wait=60")
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(text)
}

// TestServe runs rkat serve until it is told to stop: a run, its metrics, and the end.
func TestServe(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	out, toTest := io.Pipe()
	var stderr bytes.Buffer
	code := make(chan int, 1)
	go func() {
		env := []string{
			"HOME=" + t.TempDir(), "RKAT_SERVER_TOKEN=" + serveToken, "RKAT_OPERATIONS_ARTIFACT_THRESHOLD=60",
		}
		code <- allBackends.Run(
			ctx, []string{"serve", "--demo", "--sub-agents", "-v", "--listen", "127.0.0.1:0"}, strings.NewReader(""),
			toTest, &stderr, env,
		)
		_ = toTest.Close()
	}()
	lines := bufio.NewScanner(out)
	if !lines.Scan() {
		t.Fatalf("no address: %s", stderr.String())
	}
	url := lines.Text()
	if status, text := askServer(
		t, "POST", url+"/sessions", `{"prompt":"How long is \"secret content\"?"}`,
	); status != 200 || !strings.Contains(text, "answered: 2 words, 13 letters.") {
		t.Errorf("a run: %d %s", status, text)
	}
	checkServedTree(t, url)
	if status, text := askServer(t, "GET", url+"/metrics", ""); status != 200 ||
		!strings.Contains(text, "rkat_server_runs 0") || !strings.Contains(text, `rkat_runs_total`) {
		t.Errorf("metrics: %d %.400s", status, text)
	}
	stop()
	select {
	case got := <-code:
		if log := stderr.String(); got != 0 || strings.Contains(log, "secret content") ||
			!strings.Contains(log, `operation="POST /sessions" status=200`) {
			t.Errorf("exit code %d: %s", got, log)
		}
	case <-time.After(time.Minute):
		t.Fatal("the server goes on")
	}
}

// checkServedTree runs two sub-agents, and reads where they stand and a large result.
func checkServedTree(t *testing.T, url string) {
	t.Helper()
	large := strings.Repeat("heron ", 20)
	prompt, err := json.Marshal(
		"spawn_agent {\"name\":\"one\",\"prompt\":\"op_status {}\\nthen say " + large +
			"\"}\nspawn_agent {\"name\":\"two\",\"prompt\":\"say hi\"}\nthen await_ops {}\nthen say Both.",
	)
	if err != nil {
		t.Fatal(err)
	}
	var run struct {
		SessionID string `json:"session_id"`
	}
	status, text := askServer(t, "POST", url+"/sessions", `{"prompt":`+string(prompt)+`}`)
	if err := json.Unmarshal([]byte(text), &run); err != nil || status != 200 ||
		!strings.Contains(text, `"text":"Both."`) {
		t.Fatalf("sub-agents: %d %s, %v", status, text, err)
	}
	session := url + "/sessions/" + run.SessionID
	var tree struct {
		Operations []struct {
			ID, Label, Status string
			ArtifactID        string `json:"artifact_id"`
		}
	}
	_, text = askServer(t, "GET", session+"/operations", "")
	if err := json.Unmarshal([]byte(text), &tree); err != nil || len(tree.Operations) != 2 ||
		tree.Operations[0].ID == run.SessionID || tree.Operations[1].Status != "completed" ||
		tree.Operations[1].Label != "two" {
		t.Fatalf("operations: %s, %v", text, err)
	}
	if status, text := askServer(
		t, "GET", session+"/artifacts/"+tree.Operations[0].ArtifactID, "",
	); status != 200 || strings.TrimSpace(text) != strings.TrimSpace(large) {
		t.Errorf("the artifact: %d %.200s", status, text)
	}
}

// TestServeRefuses holds that serve does not start where it could not be used safely.
func TestServeRefuses(t *testing.T) {
	token := "RKAT_SERVER_TOKEN=" + serveToken
	for _, c := range []struct {
		env, want string
		args      []string
	}{
		{"", "there is no token", nil},
		{"RKAT_SERVER_TOKEN=short", "shorter than 16", nil},
		{token, "other machines could reach it", []string{"--listen", "0.0.0.0:0"}},
		{token, "--max-runs 0", []string{"--max-runs", "0"}},
		{token, "--max-streams 0", []string{"--max-streams", "0"}},
		{token, "--drain -1s", []string{"--drain", "-1s"}},
	} {
		var stderr bytes.Buffer
		code := allBackends.Run(
			t.Context(), append([]string{"serve", "--demo"}, c.args...), strings.NewReader(""), io.Discard, &stderr,
			[]string{"HOME=" + t.TempDir(), c.env},
		)
		if code != exitUsage || !strings.Contains(stderr.String(), c.want) {
			t.Errorf("%v %s: %d %s", c.args, c.env, code, stderr.String())
		}
	}
}

// TestPatience holds that serve ends its runs in its own time, and other commands do not.
func TestPatience(t *testing.T) {
	for args, want := range map[string]time.Duration{
		"serve": 0, "-q serve --demo": 0, "run serve": InterruptPatience, "": InterruptPatience,
		"nothing": InterruptPatience,
	} {
		if got := Patience(strings.Fields(args)); got != want {
			t.Errorf("rkat %s: %s, want %s", args, got, want)
		}
	}
}
