// Package profiles holds what conform needs to know of an agent in order to run
// it: its command line, how it is led to the proxy, how tools are offered to it,
// and how it goes on with a session. A [Profile] is a YAML file. The ones of
// well-known agents are embedded:
//
//	p, err := profiles.Find("claude-code")         // an embedded name
//	p, err := profiles.Find("./my-agent.yaml")     // a file
//
// A profile for an agent that takes a prompt, offers a flag for tool servers and
// continues its last session:
//
//	name: my-agent
//	run: [my-agent, --print, "{prompt}"]
//	resume: [my-agent, --continue, --print, "{prompt}"]
//	mcp: {args: [--mcp-config, "{mcp_config}"]}
//	providers:
//	  anthropic: {}
//
// Loading is strict: unknown keys, wrong types, repeated and missing keys and
// unknown placeholders are errors with file, line and column, all of them at once. What a
// profile says is what the agent can do: `resume` is the ability to resume, `mcp`
// the ability to use tools. docs/guides/profiles.md describes every key;
// schemas/profile.v1.json is its JSON Schema.
//
// The package is a format and its parser. It starts nothing and reads nothing but
// the file that it is asked for.
package profiles
