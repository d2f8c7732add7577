package profiles

import (
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Profile describes an agent. It is plain data and read-only once loaded.
type Profile struct {
	// Name is what reports call the agent.
	Name string `yaml:"name" data:"required,is=name"`
	// About is one line for people.
	About string `yaml:"about"`

	// Run, ACP and Driver are the command that starts the agent; a profile has
	// exactly one of them. Run is a new process for each prompt. ACP is a process
	// that speaks the Agent Client Protocol on its standard streams, Driver one
	// that speaks the NDJSON driver protocol. A Run without {prompt} gets the
	// prompt on its standard input.
	Run    []Template `yaml:"run" data:"choice,is=template"`
	ACP    []Template `yaml:"acp" data:"choice,is=template"`
	Driver []Template `yaml:"driver" data:"choice,is=template"`
	// Resume continues a session in a new process. Nil: the agent cannot.
	Resume []Template `yaml:"resume" data:"is=template"`
	// Session says how the id of a session is found that Resume names as
	// {session}. Nil: Resume needs no id.
	Session *Session `yaml:"session"`
	// Version prints the agent's version; the first line with a digit counts.
	// Nil: the program with --version.
	Version []Template `yaml:"version" data:"is=template"`
	// Timeout bounds one process. 0: the limit of the run.
	Timeout time.Duration `yaml:"timeout"`

	// Always is added to each process.
	Always Addition `yaml:",inline"`
	// Model, System, Effort, MaxTurns, MCP and Hosted are added where a step chooses a model,
	// a system prompt, an effort, limits the turns, offers our tools or the provider's own.
	// Nil: the agent cannot be told.
	Model    *Addition `yaml:"model"`
	System   *Addition `yaml:"system"`
	Effort   *Addition `yaml:"effort"`
	MaxTurns *Addition `yaml:"max_turns"`
	MCP      *Addition `yaml:"mcp"`
	Hosted   *Addition `yaml:"hosted"`
	// MITM and BaseURL are added when the agent comes in that way.
	MITM    *Addition `yaml:"mitm"`
	BaseURL *Addition `yaml:"base_url"`
	// Ingress are the ways in that work: mitm, base-url. Nil: both.
	Ingress []string `yaml:"ingress" data:"one=mitm base-url"`

	// Providers are the model providers that the agent can be led to, by name.
	Providers map[string]Provider `yaml:"providers" data:"required,keys=provider"`

	// Tools names the agent's own tool for a role of the scenarios, for agents
	// that are not offered ours: {echo: Bash}.
	Tools map[string]string `yaml:"tools"`
	// Side holds regular expressions: a request whose system prompt or last prompt
	// matches one is not part of the main conversation (titles, summaries).
	Side []string `yaml:"side" data:"is=regexp"`
	// Unsupported gives the reason why cases do not apply, by a pattern of their
	// names: "cut-stream", "*/gemini", "resume-*@base-url".
	Unsupported map[string]string `yaml:"unsupported" data:"keys=cases"`
	// Exit is what the exit code 0 promises: [ExitAnswered], or "" for nothing.
	Exit string `yaml:"exit" data:"one=answered"`
	// Install says how the agent is installed; conform does not do that itself.
	Install *Install `yaml:"install"`

	// Path is the file that the profile was read from, "" for an embedded one.
	Path string `yaml:"-"`
}

// ExitAnswered promises that a process exits 0 only if the last reply of the model is an
// answer, and not one that was cut off, refused, filtered or paused.
const ExitAnswered = "answered"

// Addition is what a profile adds to a process under a condition.
type Addition struct {
	// Args stand where the command says {args}, else before a lone "--" or at the
	// end.
	Args []Template `yaml:"args" data:"is=template"`
	// Env sets variables of the process, Unset removes some that conform sets.
	Env   map[string]Template `yaml:"env" data:"keys=variable,is=template"`
	Unset []string            `yaml:"unset" data:"is=variable"`
	// Files are written before a case, by their path below HOME.
	Files map[string]Template `yaml:"files" data:"keys=file,is=template"`
}

// Provider is how an agent is led to one model provider.
type Provider struct {
	// Name is what the agent calls the provider, {provider} in templates. "": the
	// name that conform uses.
	Name string `yaml:"name"`
	// Model is asked for instead of the model of a case. "": that of the case.
	Model string `yaml:"model"`
	// Ingress are the ways in that work with this provider. Nil: those of the
	// profile.
	Ingress []string `yaml:"ingress" data:"one=mitm base-url"`
	// Always is added to each process that uses this provider, MITM and BaseURL
	// to those that come in that way.
	Always  Addition  `yaml:",inline"`
	MITM    *Addition `yaml:"mitm"`
	BaseURL *Addition `yaml:"base_url"`
}

// Session says where the id of a session comes from.
type Session struct {
	// From is stdout, stderr, or output for both: Pattern is looked for in what the
	// first process wrote. file: in the paths of the files below HOME, the newest first. given:
	// conform chooses a UUID, and run names it as {session}.
	From string `yaml:"from" data:"required,one=stdout stderr output file given"`
	// Pattern is a regular expression; its first group, or the whole match, is the
	// id. The last match counts.
	Pattern string `yaml:"pattern" data:"is=regexp"`
}

// Install names what has to be installed for the agent.
type Install struct {
	// NPM are packages with their versions, as npm install takes them.
	NPM []string `yaml:"npm"`
	// GitHub are repositories with the version of their release, as OWNER/REPOSITORY@VERSION.
	GitHub []string `yaml:"github"`
	// Node is the least version of Node.js, "" when any does.
	Node string `yaml:"node"`
}

// Version is the version of the first package, "" where it has none.
func (i *Install) Version() (version string) {
	if i == nil {
		return ""
	}
	for _, name := range slices.Concat(i.NPM, i.GitHub) {
		_, version = SplitVersion(name)
		break
	}
	return version
}

// SplitVersion splits NAME@VERSION, where NAME may begin with the "@" of a scope. version is "" where
// none is said.
func SplitVersion(text string) (name, version string) {
	if at := strings.LastIndex(text, "@"); at > 0 {
		return text[:at], text[at+1:]
	}
	return text, ""
}

// The ways in.
const (
	IngressMITM    = "mitm"
	IngressBaseURL = "base-url"
)

// Command is the command that starts the agent, and its kind: command, acp or
// driver.
func (p *Profile) Command() (kind string, argv []Template) {
	switch {
	case p.ACP != nil:
		return "acp", p.ACP
	case p.Driver != nil:
		return "driver", p.Driver
	}
	return "command", p.Run
}

// Dir is the folder of the profile's file, "" for an embedded one. Programs and
// files that {profile_dir} names are in it.
func (p *Profile) Dir() string {
	if p.Path == "" {
		return ""
	}
	return filepath.Dir(p.Path)
}
