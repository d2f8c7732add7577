package llm

import (
	"net"
	"slices"
	"strings"
)

// The providers, as every part of this module names them.
const (
	Anthropic = "anthropic"
	OpenAI    = "openai"
	Gemini    = "gemini"
)

const (
	anthropicHost = "api.anthropic.com"
	openAIHost    = "api.openai.com"
	chatGPTHost   = "chatgpt.com" // codex that is logged in to ChatGPT; not intercepted by default
	geminiHost    = "generativelanguage.googleapis.com"
	vertexHost    = "aiplatform.googleapis.com"
)

// vertexRegions are the locations that have a Vertex host of their own. They are
// listed because the name constraints of a certificate authority cannot cover
// them: the region stands before a dash, not before a dot.
var vertexRegions = []string{
	"africa-south1",
	"asia-east1", "asia-east2", "asia-northeast1", "asia-northeast2", "asia-northeast3",
	"asia-south1", "asia-south2", "asia-southeast1", "asia-southeast2",
	"australia-southeast1", "australia-southeast2",
	"europe-central2", "europe-north1", "europe-southwest1",
	"europe-west1", "europe-west2", "europe-west3", "europe-west4", "europe-west6",
	"europe-west8", "europe-west9", "europe-west12",
	"me-central1", "me-central2", "me-west1",
	"northamerica-northeast1", "northamerica-northeast2",
	"southamerica-east1", "southamerica-west1",
	"us-central1", "us-east1", "us-east4", "us-east5", "us-south1",
	"us-west1", "us-west2", "us-west3", "us-west4",
}

// vertexHosts are the global host, the two multi-regions and every region.
var vertexHosts = func() []string {
	hosts := []string{vertexHost, "aiplatform.eu.rep.googleapis.com", "aiplatform.us.rep.googleapis.com"}
	for _, region := range vertexRegions {
		hosts = append(hosts, region+"-"+vertexHost)
	}
	return hosts
}()

// Host returns the host of a provider's own API, "" for an unknown provider. It is the only
// host that may get the provider's key; for Vertex see [VertexHost].
func Host(provider string) string {
	switch provider {
	case Anthropic:
		return anthropicHost
	case OpenAI:
		return openAIHost
	case Gemini:
		return geminiHost
	}
	return ""
}

// VertexHost returns the host of a Vertex path by the location that it names
// (/v1/projects/P/locations/L/publishers/…): one global host, one for each multi-region,
// one for each region. The host of an unknown location is not one of [Hosts].
func VertexHost(path string) string {
	_, rest, _ := strings.Cut(path, "/locations/")
	switch location, _, _ := strings.Cut(rest, "/"); location {
	case "", "global":
		return vertexHost
	case "eu", "us":
		return "aiplatform." + location + ".rep.googleapis.com"
	default:
		return location + "-" + vertexHost
	}
}

// Hosts returns every provider host name: what a proxy may intercept by default.
// The slice belongs to the caller.
func Hosts() []string {
	return slices.Concat([]string{anthropicHost, openAIHost, geminiHost}, vertexHosts)
}

// Provider returns the provider whose API a request speaks, or "". The host,
// with or without a port, decides; for a host that is not a provider's (a base
// URL on loopback, a gateway) the path does.
func Provider(host, path string) string {
	switch name := bareHostname(host); {
	case name == anthropicHost:
		return Anthropic
	case name == openAIHost, name == chatGPTHost:
		return OpenAI
	case name == geminiHost:
		return Gemini
	case slices.Contains(vertexHosts, name):
		return vertexPublisher(path)
	}
	return byPath(path)
}

func bareHostname(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.ToLower(strings.TrimSuffix(host, "."))
}

// vertexPublisher returns the provider whose model a Vertex path names; each
// speaks its own API.
func vertexPublisher(path string) string {
	switch {
	case strings.Contains(path, "/publishers/anthropic/"):
		return Anthropic
	case strings.Contains(path, "/publishers/google/"):
		return Gemini
	}
	return ""
}

// codexPath is where codex calls models at chatgpt.com, when it is logged in to ChatGPT
// instead of using a key.
const codexPath = "/backend-api/codex/responses"

func byPath(path string) string {
	if p := vertexPublisher(path); p != "" {
		return p
	}
	switch {
	case hasSegments(path, "/v1/messages"):
		return Anthropic
	case hasSegments(path, "/v1/responses"), hasSegments(path, codexPath):
		return OpenAI
	case hasSegments(path, "/v1beta/models"), geminiVerb(path) != "":
		return Gemini
	}
	return ""
}

// hasSegments reports whether path is want, lies below it, or has it after a
// prefix, as base URLs often add one.
func hasSegments(path, want string) bool {
	_, rest, found := strings.Cut(path, want)
	return found && (rest == "" || rest[0] == '/')
}
