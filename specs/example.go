package specs

// Examples are two conversations that show a requirement. The self-test judges
// both: the failing one must be found, the passing one must be seen and pass.
type Examples struct {
	Failing Example `yaml:"failing" data:"required" json:"failing"`
	Passing Example `yaml:"passing" data:"required" json:"passing"`
}

// IsZero reports whether there is neither example.
func (e Examples) IsZero() bool { return len(e.Failing.Exchanges)+len(e.Passing.Exchanges) == 0 }

// Example is a short conversation as it stands on the wire.
type Example struct {
	// Provider is whose API the exchanges speak, unless they say otherwise.
	Provider string `yaml:"provider" data:"required,is=provider" json:"provider"`
	// Model is the model in the URL of Gemini's requests; others name it in the body.
	Model string `yaml:"model,omitempty" json:"model,omitempty"`
	// Note says in one sentence what to look at.
	Note string `yaml:"note,omitempty" json:"note,omitempty"`
	// Source is what the evidence comes from. Empty means recording, or where the
	// requirement does not apply to recordings the first source it applies to.
	Source string `yaml:"source,omitempty" data:"is=source" json:"source,omitempty"`
	// Limits are what the agent was told that it may spend.
	Limits    Limits            `yaml:"limits,omitempty" json:"limits,omitzero"`
	Exchanges []ExampleExchange `yaml:"exchanges" data:"empty" json:"exchanges"`
	// Processes are those that the exchanges name by ordinal.
	Processes []ExampleProcess `yaml:"processes,omitempty" json:"processes,omitempty"`
}

// ExampleExchange is one request and its reply.
type ExampleExchange struct {
	// Provider is set where it differs from the example's.
	Provider string `yaml:"provider,omitempty" data:"is=provider" json:"provider,omitempty"`
	// URL is the provider's own endpoint where it is left out.
	URL string `yaml:"url,omitempty" json:"url,omitempty"`
	// Headers are added to the content type.
	Headers map[string]string `yaml:"headers,omitempty" json:"headers,omitempty"`
	// Request is the body, JSON as sent.
	Request string `yaml:"request" data:"required" json:"request"`
	// Reply is the body that came back: a JSON document, or events of a stream
	// where it begins with "event:" or "data:". Left out, the model says "ok".
	Reply string `yaml:"reply,omitempty" json:"reply,omitempty"`
	// Status is 200 where it is left out.
	Status int `yaml:"status,omitempty" json:"status,omitempty"`
	// ReplyHeaders are added to the content type of the reply.
	ReplyHeaders map[string]string `yaml:"reply-headers,omitempty" json:"reply_headers,omitempty"`
	// ContentType is set where it differs from that of the reply's form.
	ContentType string `yaml:"content-type,omitempty" json:"content_type,omitempty"`
	// End is how the reply ended: eof where it is left out, reset or client_abort.
	End string `yaml:"end,omitempty" json:"end,omitempty"`
	// Process is the ordinal of the process that sent it, from 0.
	Process int `yaml:"process,omitempty" json:"process,omitempty"`
	// WebSocket is the ordinal, from 1, of the WebSocket that carried the request as a message.
	WebSocket int `yaml:"websocket,omitempty" json:"websocket,omitempty"`
	// Missed is set for a request that a replaying proxy had no answer for.
	Missed bool `yaml:"missed,omitempty" json:"missed,omitempty"`
}

// ExampleProcess is one run of the agent.
type ExampleProcess struct {
	Args    []string `yaml:"args,omitempty" json:"args,omitempty"`
	Exit    int      `yaml:"exit,omitempty" json:"exit,omitempty"`
	Stdout  string   `yaml:"stdout,omitempty" json:"stdout,omitempty"`
	Stderr  string   `yaml:"stderr,omitempty" json:"stderr,omitempty"`
	Resumed bool     `yaml:"resumed,omitempty" json:"resumed,omitempty"`
}
