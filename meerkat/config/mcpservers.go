package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/go-viper/mapstructure/v2"

	"github.com/meerkat-go/conformance/meerkat/mcp"
)

// ReadMCPServers reads the form in which most MCP clients keep their servers:
//
//	{"mcpServers": {NAME: {"command": …, "args": […], "env": {…}, "cwd": …, "url": …, "headers": {…}}}}
//
// Beside these members a server may have "timeout" and "startTimeout" (such as
// "30s"), "allow", "deny", "optional" and "protocol", as in mcp.Server. Members that
// other clients have and that change nothing are ignored, all others refused; a server
// that is "disabled" is left out. ${NAME} in a text is
// replaced by the variable of env. The servers are ordered by name.
func ReadMCPServers(data []byte, env map[string]string) ([]mcp.Server, error) {
	var file struct {
		Servers map[string]any `json:"mcpServers"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, fmt.Errorf("it is not JSON of the form {\"mcpServers\": {…}}: %w", err)
	}
	if len(file.Servers) == 0 {
		return nil, errors.New("it names no server; write {\"mcpServers\": {NAME: {\"command\": …}}}")
	}
	var list []mcp.Server
	for _, name := range sortedKeys(file.Servers) {
		s := mcp.Server{}
		disabled, err := isDisabled(file.Servers[name])
		if disabled {
			continue
		}
		if err == nil {
			err = checkServerMembers(file.Servers[name])
		}
		var value any
		if err == nil {
			value, err = expandVariables(file.Servers[name], env)
		}
		if err == nil {
			err = decodeServers(value, &s, false)
		}
		if err != nil {
			return nil, fmt.Errorf("server %s: %w", name, err)
		}
		s.Name = name
		list = append(list, s)
	}
	return list, nil
}

// readServers reads the tables of MCP servers in a configuration file; each has a
// name of its own and either a command or a URL.
func readServers(v any) (any, error) {
	if list, ok := v.([]mcp.Server); ok {
		return list, checkServers(list)
	}
	var list []mcp.Server
	tables, _ := v.([]any)
	for i, table := range tables {
		if err := checkServerMembers(table); err != nil {
			return nil, fmt.Errorf("server %d: %w", i+1, err)
		}
	}
	if err := decodeServers(v, &list, true); err != nil {
		return nil, err
	}
	return list, checkServers(list)
}

// decodeServers decodes into a mcp.Server or a list of them. strict refuses
// members that it does not know.
func decodeServers(v, into any, strict bool) error {
	decoder, err := mapstructure.NewDecoder(&mapstructure.DecoderConfig{
		Result: into, ErrorUnused: strict, DecodeHook: decodeDuration, MatchName: isNameOfField,
	})
	if err != nil {
		return err
	}
	if err := decoder.Decode(v); err != nil {
		return errors.New(strings.Join(strings.Fields(err.Error()), " "))
	}
	return nil
}

// isNameOfField reports whether a member of a file means a field of mcp.Server:
// start_timeout and startTimeout are StartTimeout.
func isNameOfField(member, field string) bool {
	if member == "cwd" {
		member = "dir"
	}
	return strings.EqualFold(strings.ReplaceAll(member, "_", ""), field)
}

// decodeDuration reads a duration. The value is not in the error: somebody may
// have put a secret there.
func decodeDuration(_, to reflect.Type, v any) (any, error) {
	if to != reflect.TypeFor[time.Duration]() {
		return v, nil
	}
	s, _ := v.(string)
	d, err := time.ParseDuration(s)
	if err != nil || d <= 0 {
		return nil, errors.New("it is not a duration; write it such as 30s")
	}
	return d, nil
}

func checkServers(list []mcp.Server) error {
	seen := map[string]bool{}
	for i, s := range list {
		switch {
		case s.Name == "":
			return fmt.Errorf("server %d has no name", i+1)
		case seen[s.Name]:
			return fmt.Errorf("two servers are named %q", s.Name)
		case (s.Command == "") == (s.URL == ""):
			return fmt.Errorf("server %q needs a command or a url, and only one of them", s.Name)
		}
		seen[s.Name] = true
	}
	return nil
}
