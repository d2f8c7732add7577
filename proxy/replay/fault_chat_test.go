package replay_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The reply of Chat Completions that the faults hit: a client reads "né, oui".
const (
	chatRole   = `data: {"id":"chatcmpl-1","choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}` + "\n\n"
	chatBegin  = `data: {"id":"chatcmpl-1","choices":[{"index":0,"delta":{"content":"né"}}]}` + "\n\n"
	chatGoesOn = `data: {"id":"chatcmpl-1","choices":[{"index":0,"delta":{"content":", oui"}}]}` + "\n\n"
	chatFinish = `data: {"id":"chatcmpl-1","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\n"
	chatDone   = "data: [DONE]\n\n"

	chatHost = "https://api.openai.com"
	chatPath = "/v1/chat/completions"
)

// TestFaultsOfChatCompletions holds what a client of Chat Completions reads under each kind of fault: its text, its
// finish reason, the end of the stream, an error in provider's words, and how the connection ended.
func TestFaultsOfChatCompletions(t *testing.T) {
	for plan, want := range map[string]string{
		"fault: reset, after_event: 2":           `200 "né" connection reset`,
		"fault: close, after_event: 2":           `200 "né" unexpected end`,
		"fault: truncate, before_terminal: true": `200 "né, oui" stop`,
		"fault: stall, for: 1h, after_event: 2":  `200 "né" time-out`,
		`fault: status, status: 429`:             `429 "" error "This request would exceed your rate limit. Please try again later."`,
		`fault: status, status: 400`:             `400 "" error "Bad Request"`,
		"fault: error_event, after_event: 2":     `200 "né" error "Internal server error"`,
		"fault: garbage, after_event: 2":         `200 "né, oui" bad event stop [DONE]`,
		"fault: duplicate, after_event: 2":       `200 "néné, oui" stop [DONE]`,
		"fault: reorder, after_event: 2":         `200 ", ouiné" stop [DONE]`,
		"fault: ping_flood, after_event: 2":      `200 "né, oui" stop [DONE] 100 comments`,
		"fault: bad_utf8, after_event: 1":        "200 \"\uFFFDné, oui\" stop [DONE]",
		"fault: content_type":                    `200 "né, oui" stop [DONE] as text/html`,
		"fault: content_length, by: 5":           `200 "né, oui" stop [DONE] unexpected end`,
	} {
		in := recorded(chatRole, chatBegin, chatGoesOn, chatFinish, chatDone)
		in.Request.URL = chatHost + chatPath
		server := faulty(t, plan, in)
		c := server.client(t, false)
		c.Timeout = 10 * time.Second
		if strings.Contains(plan, "1h") {
			c.Timeout = time.Second
		}
		if got := readChat(c); got != want {
			t.Errorf("%s\n got %s\nwant %s", plan, got, want)
		}
		if fired := server.replayer.Receipt().Faults; len(fired) != 1 {
			t.Errorf("%s: the receipt lists %v", plan, fired)
		}
	}
}

// readChat asks by Chat Completions and says what a client reads.
func readChat(c *http.Client) string {
	resp, err := c.Post(chatHost+chatPath, "application/json", strings.NewReader(`{"stream":true}`))
	if err != nil {
		return err.Error()
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	said, comments := "", 0
	var notes []string
	note := func(format string, args ...any) { notes = append(notes, fmt.Sprintf(format, args...)) }
	for line := range strings.Lines(string(body)) {
		data, isData := strings.CutPrefix(strings.TrimSpace(line), "data: ")
		var chunk struct {
			Error   *struct{ Message string }
			Choices []struct {
				Delta  struct{ Content string }
				Finish string `json:"finish_reason"`
			}
		}
		switch {
		case strings.HasPrefix(line, ":"):
			comments++
			continue
		case data == "[DONE]":
			note("[DONE]")
			continue
		case !isData && resp.StatusCode == http.StatusOK:
			continue
		case !isData:
			data = string(body)
		}
		if json.Unmarshal([]byte(data), &chunk) != nil {
			note("bad event")
			continue
		}
		if chunk.Error != nil {
			note("error %q", chunk.Error.Message)
		}
		for _, choice := range chunk.Choices {
			if said += choice.Delta.Content; choice.Finish != "" {
				note("%s", choice.Finish)
			}
		}
	}
	if comments > 0 {
		note("%d comments", comments)
	}
	if kind := resp.Header.Get("Content-Type"); strings.HasPrefix(kind, "text/html") {
		note("as text/html")
	}
	switch {
	case errors.Is(err, syscall.ECONNRESET):
		note("connection reset")
	case errors.Is(err, io.ErrUnexpectedEOF):
		note("unexpected end")
	case errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.DeadlineExceeded):
		note("time-out")
	case err != nil:
		note("%v", err)
	}
	said = replacements.ReplaceAllString(said, "\uFFFD")
	return fmt.Sprintf(`%d "%s" %s`, resp.StatusCode, said, strings.Join(notes, " "))
}

// replacements are the replacement characters that one run of bad bytes becomes; how many depends on the decoder.
var replacements = regexp.MustCompile("\uFFFD+")
