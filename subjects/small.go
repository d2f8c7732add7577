//go:build ignore

// Command small is an agent without tools: it asks Anthropic's API one question and
// prints the answer. CI lets conform judge it as an agent that it knows nothing of.
package main

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
)

func main() {
	answer, err := askModel(os.Args[len(os.Args)-1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(answer)
}

// askModel returns the answer once it is complete.
func askModel(prompt string) (string, error) {
	body, err := json.Marshal(map[string]any{
		"model": "claude-opus-4-6", "max_tokens": 1024, "stream": true,
		"messages": []any{map[string]any{"role": "user", "content": prompt}},
	})
	if err != nil {
		return "", err
	}
	base := cmp.Or(os.Getenv("ANTHROPIC_BASE_URL"), "https://api.anthropic.com")
	req, err := http.NewRequest(http.MethodPost, base+"/v1/messages", bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Anthropic-Version", "2023-06-01")
	req.Header.Set("X-Api-Key", os.Getenv("ANTHROPIC_API_KEY"))
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return "", errors.New(resp.Status)
	}
	return readAnswer(bufio.NewScanner(resp.Body))
}

// readAnswer reads events up to the last one. Without it, the answer is not complete.
func readAnswer(lines *bufio.Scanner) (string, error) {
	var answer strings.Builder
	var event struct {
		Type  string
		Delta struct {
			Text       string
			StopReason string `json:"stop_reason"`
		}
	}
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		event.Delta.Text = ""
		if err := json.Unmarshal([]byte(data), &event); err != nil {
			return "", err
		}
		answer.WriteString(event.Delta.Text)
		if event.Type == "message_stop" && event.Delta.StopReason != "end_turn" {
			return "", fmt.Errorf("the answer ended with %s", event.Delta.StopReason)
		} else if event.Type == "message_stop" {
			return answer.String(), nil
		}
	}
	return "", errors.Join(errors.New("the answer was cut off"), lines.Err())
}
