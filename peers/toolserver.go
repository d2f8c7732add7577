package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
)

// toolServer is an MCP server on in and out with one tool, conform_echo, that
// returns its text. It is written out here so that it costs next to nothing and
// the figures are those of the agents.
func toolServer(in io.Reader, out io.Writer) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var ask struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params json.RawMessage `json:"params"`
		}
		if err := json.Unmarshal(lines.Bytes(), &ask); err != nil {
			return err
		}
		if ask.ID == nil {
			continue // a notification
		}
		member, value := "result", toolAnswer(ask.Method, ask.Params)
		if value == nil {
			member, value = "error", map[string]any{"code": -32601, "message": "no such method: " + ask.Method}
		}
		line, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": ask.ID, member: value})
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(out, "%s\n", line); err != nil {
			return err
		}
	}
	return lines.Err()
}

// toolAnswer is the result of a method; nil for one that it does not know.
func toolAnswer(method string, params json.RawMessage) any {
	var p struct {
		ProtocolVersion string `json:"protocolVersion"`
		Arguments       struct {
			Text string `json:"text"`
		} `json:"arguments"`
	}
	_ = json.Unmarshal(params, &p) // what is missing is empty
	switch method {
	case "initialize":
		return map[string]any{
			"protocolVersion": p.ProtocolVersion, "capabilities": map[string]any{"tools": map[string]any{}},
			"serverInfo": map[string]any{"name": "bench", "version": "1"},
		}
	case "ping":
		return map[string]any{}
	case "tools/list":
		return map[string]any{"tools": []any{map[string]any{
			"name": "conform_echo", "description": "Returns the text.",
			"inputSchema": map[string]any{
				"type": "object", "required": []string{"text"},
				"properties": map[string]any{"text": map[string]any{"type": "string"}},
			},
			"annotations": map[string]any{"readOnlyHint": true, "openWorldHint": false, "destructiveHint": false},
		}}}
	case "tools/call":
		return map[string]any{"content": []any{map[string]any{"type": "text", "text": p.Arguments.Text}}}
	}
	return nil
}
