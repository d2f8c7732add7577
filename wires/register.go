package wires

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
)

// registry is what has been registered. It is replaced as a whole, so readers need no lock.
type registry struct {
	wires      []*Wire
	vocabulary Vocabulary
}

var registered atomic.Pointer[registry]

// Register adds a wire. The error names the wire and the part that is missing, or says that the
// name is taken. Wires are registered at the start of a program.
func Register(w *Wire) error {
	if err := w.checkParts(); err != nil {
		return err
	}
	for {
		was := registered.Load()
		next := &registry{}
		if was != nil {
			next.wires = slices.Clone(was.wires)
		}
		if slices.ContainsFunc(next.wires, func(o *Wire) bool { return o.Name == w.Name }) {
			return fmt.Errorf("wire %q: is registered already; give the wire another name", w.Name)
		}
		next.wires = append(next.wires, w)
		next.vocabulary = newVocabulary(next.wires)
		if registered.CompareAndSwap(was, next) {
			return nil
		}
	}
}

// checkParts says which part a wire lacks.
func (w *Wire) checkParts() error {
	missing := ""
	switch {
	case w.Name == "" || strings.Trim(w.Name, "abcdefghijklmnopqrstuvwxyz0123456789") != "":
		return fmt.Errorf("wire %q: needs a name of small letters and digits", w.Name)
	case w.Title == "":
		missing = "Title"
	case w.Vendor == "":
		missing = "Vendor"
	case w.Host == "":
		missing = "Host"
	case w.OwnHosts == nil:
		missing = "OwnHosts"
	case w.Paths == nil:
		missing = "Paths"
	case !slices.ContainsFunc(w.Routes, func(r Route) bool { return r.IsJudged() }):
		missing = "Routes with an operation that generates"
	case slices.ContainsFunc(w.Routes, func(r Route) bool { return r.Path == nil }):
		missing = "the Path of a route"
	case w.Member == "":
		missing = "Member"
	case w.Credentials.Header == "":
		missing = "Credentials.Header"
	case len(w.Environment.Keys) == 0 || len(w.Environment.AgentKeys) == 0:
		missing = "Environment.Keys or Environment.AgentKeys"
	case w.Models.Path == "":
		missing = "Models.Path"
	case len(w.Body.Conversation) == 0:
		missing = "Body.Conversation"
	case !strings.Contains(w.Tools.Request, "{tools}") || w.Tools.List == "" || w.Tools.Schema == "":
		missing = "Tools.Request with {tools}, Tools.List or Tools.Schema"
	case w.Errors.Body == nil || w.Errors.Event == nil:
		missing = "Errors.Body or Errors.Event"
	case len(w.Ending.Types) == 0 && (w.Ending.IsLast == nil || w.Ending.IsWhole == nil):
		missing = "Ending.Types, or Ending.IsLast and Ending.IsWhole"
	default:
		return nil
	}
	return fmt.Errorf("wire %q: lacks %s", w.Name, missing)
}

// All returns the wires in the order in which they were registered. The slice is read-only.
func All() []*Wire {
	if r := registered.Load(); r != nil {
		return r.wires
	}
	return nil
}

// At returns the wires that are spoken at a provider's own host, in lower case and without a port.
func At(host string) (list []*Wire) {
	for _, w := range All() {
		if w.OwnHosts.MatchString(host) {
			list = append(list, w)
		}
	}
	return list
}

// Find returns the wire with a name, nil if there is none.
func Find(name string) *Wire {
	for _, w := range All() {
		if w.Name == name {
			return w
		}
	}
	return nil
}

// Names returns the names of all wires in their order.
func Names() []string {
	var names []string
	for _, w := range All() {
		names = append(names, w.Name)
	}
	return names
}

// Keys reads the user's keys from an environment, by the names of the wires.
func Keys(getenv func(name string) string) map[string]string {
	keys := map[string]string{}
	for _, w := range All() {
		for _, name := range slices.Backward(w.Environment.Keys) {
			if key := strings.TrimSpace(getenv(name)); key != "" {
				keys[w.Name] = key
			}
		}
	}
	return keys
}

// Join joins words for a sentence, the last two by a conjunction: "a, b and c".
func Join(words []string, conjunction string) string {
	if n := len(words) - 1; n > 0 {
		return strings.Join(words[:n], ", ") + " " + conjunction + " " + words[n]
	}
	return strings.Join(words, "")
}

// List joins words for a sentence: "a, b or c".
func List(words []string) string { return Join(words, "or") }

// Titles returns the titles of all wires as they stand in a sentence: "A, B or C".
func Titles() string {
	var titles []string
	for _, w := range All() {
		titles = append(titles, w.Title)
	}
	return List(titles)
}

// Vendors returns the vendors of all wires as they stand in a sentence: "A, B or C".
func Vendors() string {
	var vendors []string
	for _, w := range All() {
		vendors = append(vendors, w.Vendor)
	}
	return List(vendors)
}

// Vocabulary is what the wires say together about members and headers: sets of their names. A
// recorder understands requests to gateways by it, whichever wire they speak.
type Vocabulary struct {
	Conversation, Prompt, Tools, Envelope, Blocks, IDs, CacheMarks, Tokens map[string]bool
	PromptRoles, ResultTypes, ResultMembers                                map[string]bool
	ClearHeaders, AccountHeaders, PayerHeaders                             map[string]bool
	ClearPrefixes                                                          []string
}

// Words returns the vocabulary of all wires. It is read-only.
func Words() *Vocabulary {
	if r := registered.Load(); r != nil {
		return &r.vocabulary
	}
	return &Vocabulary{}
}

func newVocabulary(wires []*Wire) (v Vocabulary) {
	for _, w := range wires {
		b, h := &w.Body, &w.Headers
		for _, set := range []struct {
			into  *map[string]bool
			names []string
		}{
			{&v.Conversation, b.Conversation}, {&v.Prompt, b.Prompt}, {&v.Tools, b.Tools}, {&v.Envelope, b.Envelope},
			{&v.Blocks, b.Blocks}, {&v.IDs, b.IDs}, {&v.CacheMarks, b.CacheMarks}, {&v.Tokens, b.Tokens},
			{&v.PromptRoles, b.PromptRoles}, {&v.ResultTypes, b.ResultTypes}, {&v.ResultMembers, b.ResultMembers},
			{&v.ClearHeaders, h.Clear}, {&v.AccountHeaders, h.Accounts}, {&v.PayerHeaders, h.Payers},
		} {
			for _, name := range set.names {
				if *set.into == nil {
					*set.into = map[string]bool{}
				}
				(*set.into)[name] = true
			}
		}
		v.ClearPrefixes = append(v.ClearPrefixes, h.ClearPrefixes...)
	}
	return v
}

// JSON encodes a value for a body: without escapes for HTML, and with a newline at its end. The
// value must consist of maps, slices, texts, numbers and booleans.
func JSON(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v) // such values cannot fail
	return b.Bytes()
}

// NameOfStatus returns what an error with a status is called: the name that is listed, or else the
// general name for errors of the client or of the server.
func NameOfStatus(named map[int]string, status int, client, server string) string {
	switch name := named[status]; {
	case name != "":
		return name
	case status < 500:
		return client
	}
	return server
}
