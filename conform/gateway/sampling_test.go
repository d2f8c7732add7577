package gateway_test

import (
	"cmp"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/conform/gateway"
	"github.com/meerkat-go/conformance/internal/standin"
	"github.com/meerkat-go/conformance/wires"
	"github.com/meerkat-go/conformance/wires/tree"
)

// TestSamplingBetweenWires holds that a sampling parameter that is lost or changed between two wires is found, and
// that a parameter may be left out that the upstream's wire does not have or its model refuses.
func TestSamplingBetweenWires(t *testing.T) {
	for _, c := range []struct {
		name, wire, upstreamWire, model string
		// members are what the gateway asks upstream beside the prompt: ${path} is a value that the client sent.
		members string
		// want are the paths that are reported, with what the breach leads to.
		want string
	}{
		{"all arrive", "anthropic", "chat", "gpt-4.1",
			`"max_completion_tokens":${max_tokens},"stop":${stop_sequences},"temperature":${temperature}`, ""},
		{"stop texts lost", "anthropic", "chat", "gpt-4.1", `"max_tokens":${max_tokens},"temperature":${temperature}`,
			"stop_sequences wrong"},
		{"one of two stop texts", "anthropic", "chat", "gpt-4.1",
			`"max_tokens":${max_tokens},"stop":"</block>","temperature":${temperature}`, "stop_sequences wrong"},
		{"length limit lost", "anthropic", "gemini", "gemini-2.5-flash",
			`"generationConfig":{"stopSequences":${stop_sequences},"temperature":${temperature},"topK":${top_k}}`,
			"max_tokens wrong"},
		{"temperature changed", "anthropic", "openai", "gpt-4.1", `"max_output_tokens":${max_tokens},"temperature":1`,
			"temperature degraded"},
		{"Responses has no stop texts", "anthropic", "openai", "gpt-4.1",
			`"max_output_tokens":${max_tokens},"temperature":${temperature}`, ""},
		{"a model that reasons takes no temperature", "anthropic", "openai", "gpt-5",
			`"max_output_tokens":${max_tokens}`, ""},
		{"a model that does not reason takes one", "anthropic", "openai", "gpt-4.1",
			`"max_output_tokens":${max_tokens}`, "temperature degraded"},
		{"a model without sampling parameters", "chat", "anthropic", "claude-opus-4-7",
			`"max_tokens":${max_tokens},"stop_sequences":${stop}`, ""},
		{"of two that exclude each other one is lost", "chat", "anthropic", "claude-opus-4-5",
			`"max_tokens":${max_tokens},"stop_sequences":${stop},"top_p":${top_p}`, ""},
		{"both are lost", "chat", "anthropic", "claude-opus-4-5", `"max_tokens":${max_tokens},"stop_sequences":${stop}`,
			"temperature degraded, top_p degraded"},
		{"seed lost", "gemini", "chat", "gpt-4.1",
			`"max_tokens":${generationConfig.maxOutputTokens},"stop":${generationConfig.stopSequences},` +
				`"temperature":${generationConfig.temperature},"top_p":${generationConfig.topP}`,
			"generationConfig.seed degraded"},
	} {
		t.Run(c.name, func(t *testing.T) {
			up, err := gateway.Open("")
			if err != nil {
				t.Fatal(err)
			}
			defer up.Close()
			front := httptest.NewServer(standin.ReadFirst(translator(up.URL, c.upstreamWire, c.model, c.members)))
			defer front.Close()
			out, err := gateway.Judge(t.Context(), gateway.Config{
				Wire: wires.Find(c.wire), UpstreamWire: wires.Find(c.upstreamWire), Upstream: up, Base: front.URL,
				Only: func(name string) bool { return strings.HasPrefix(name, "sampling/") },
			})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, r := range out.Cases[0].Results() {
				for _, f := range r.Findings {
					got = append(got, f.Path+" "+string(f.Consequence))
				}
			}
			if slices.Sort(got); strings.Join(got, ", ") != c.want {
				t.Errorf("got %q, want %q\n%s", got, c.want, out.Cases[0].Behind[0].Request.Body)
			}
		})
	}
}

// translator is a gateway that asks a model on another wire, and passes the reply on as it is.
func translator(upstream, wire, model, members string) http.Handler {
	prompts := map[string]string{
		"anthropic": `"messages":[{"role":"user","content":"Hello."}]`,
		"chat":      `"messages":[{"role":"user","content":"Hello."}]`,
		"openai":    `"input":"Hello."`, "gemini": `"contents":[{"role":"user","parts":[{"text":"Hello."}]}]`,
	}
	w := wires.Find(wire)
	address, _ := url.Parse(upstream + "/" + wire + strings.ReplaceAll(w.Models.Path, "{model}", model))
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		sent, _ := io.ReadAll(r.Body)
		asked, _ := tree.Parse(sent)
		body := "{" + prompts[wire] + "," + os.Expand(members, func(path string) string {
			return cmp.Or(asked.Get(strings.Split(path, ".")...).Raw(), "null")
		}) + "}"
		if wire != "gemini" {
			body = `{"model":"` + model + `",` + body[1:]
		}
		out, _ := http.NewRequestWithContext(r.Context(), http.MethodPost, address.String(), strings.NewReader(body))
		out.Header.Set("Content-Type", "application/json")
		for name, value := range w.Required {
			out.Header.Set(name, value)
		}
		out.Header.Set(w.Credentials.Header, w.Credentials.Prefix+"test-upstream-key")
		reply, err := http.DefaultTransport.RoundTrip(out)
		if err != nil {
			http.Error(rw, err.Error(), http.StatusBadGateway)
			return
		}
		defer func() { _ = reply.Body.Close() }()
		rw.Header().Set("Content-Type", reply.Header.Get("Content-Type"))
		rw.WriteHeader(reply.StatusCode)
		_, _ = io.Copy(rw, reply.Body)
	})
}
