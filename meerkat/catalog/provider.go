package catalog

import (
	_ "embed"
	"slices"
	"strings"
	"sync"

	"gopkg.in/yaml.v3"
)

// Provider says where one provider is, how its key is found and what its models
// have in common. Together with a codec it is all that the agent knows of a
// provider; nothing else asks for a provider's name.
type Provider struct {
	Name string `yaml:"name"`
	// TelemetryName is its name in the OpenTelemetry conventions.
	TelemetryName string `yaml:"telemetry_name"`
	// ModelPrefixes are the beginnings of its model names.
	ModelPrefixes []string `yaml:"model_prefixes"`
	// DefaultModel is used when no model is named.
	DefaultModel string `yaml:"default_model"`
	// BaseURL is the provider's own address and APIVersion the last segment of
	// the path of any base URL; it is appended where it is missing.
	BaseURL    string `yaml:"base_url"`
	APIVersion string `yaml:"api_version"`
	// KeyVariables and BaseURLVariables are the environment variables that hold
	// the key and another base URL by custom, the preferred one first.
	KeyVariables     []string `yaml:"key_variables"`
	BaseURLVariables []string `yaml:"base_url_variables"`
	// OAuthPrefixes are the beginnings of credentials that are not API keys.
	OAuthPrefixes []string `yaml:"oauth_prefixes"`
	// OrganizationHeader is the header of replies that names the customer's
	// organization, "" if there is none.
	OrganizationHeader string `yaml:"organization_header"`
	// ModelList is the path and query of the list of models, which needs the key
	// and costs nothing.
	ModelList string `yaml:"model_list"`
	// StreamTypes are the content types of a streamed reply.
	StreamTypes []string `yaml:"stream_types"`
	// MaxRequestBytes is the largest request body that is taken; 0 when unknown.
	MaxRequestBytes int    `yaml:"max_request_bytes"`
	Traits          Traits `yaml:"traits"`
}

// KeyVariable returns the preferred environment variable for the key, "" when
// none is known.
func (p Provider) KeyVariable() string {
	if len(p.KeyVariables) == 0 {
		return ""
	}
	return p.KeyVariables[0]
}

// Traits are the rules by which providers differ outside their wire formats. The
// zero value describes a provider with the fewest peculiarities.
type Traits struct {
	// API names the interface whose continuity tokens these are; other interfaces
	// of the same provider do not read them.
	API string `yaml:"api"`
	// TokenTags are the tags of the continuity tokens that it issues
	// (transcript.MetaProvider).
	TokenTags []string `yaml:"token_tags"`
	// Base64Tokens: a token that is not base64 is refused (G-19).
	Base64Tokens bool `yaml:"base64_tokens"`
	// IndependentTokens: a reply without one of its thoughts is still what was
	// signed. Elsewhere the tokens of a reply go back together or not at all
	// (A-37, O-13).
	IndependentTokens bool `yaml:"independent_tokens"`
	// OmitsUnsignedThinking: thinking without a token is never sent back, and
	// nothing is lost by it.
	OmitsUnsignedThinking bool `yaml:"omits_unsigned_thinking"`
	// RefusesThinkingWhenOff: a request that does not let the model think must
	// not hold thinking.
	RefusesThinkingWhenOff bool `yaml:"refuses_thinking_when_off"`
	// RefusesTrailingThinking: thinking at the end of a reply is refused (A-40,
	// O-12). With ItemsNeedThinking the other items of such a reply are refused
	// as well while they carry their ids (O-13).
	RefusesTrailingThinking bool `yaml:"refuses_trailing_thinking"`
	ItemsNeedThinking       bool `yaml:"items_need_thinking"`
	// PrefillEndsThinking: models that take an assistant message at the end take
	// it only while they do not think.
	PrefillEndsThinking bool `yaml:"prefill_ends_thinking"`
	// ServerTools: it runs tools of its own within a reply. Their calls and
	// results go back in pairs, and a reply that paused for one is resumed by
	// sending it back.
	ServerTools bool `yaml:"server_tools"`

	// CompactsOnDemand: a call of its own returns a conversation compacted, for models
	// that compact at all.
	CompactsOnDemand bool `yaml:"compacts_on_demand"`
	// WebSocket: streamed replies can be asked for over WebSockets, which hold what was said
	// on them (O-25).
	WebSocket bool `yaml:"web_socket"`
	// DeclinesAgain: a conversation that holds a turn which the model declined is declined
	// again.
	DeclinesAgain bool `yaml:"declines_again"`
	// RefusesBlankText: text of white space only is refused.
	RefusesBlankText bool `yaml:"refuses_blank_text"`
	// StringArguments: the arguments of a call travel as a string. Elsewhere they
	// must be an object.
	StringArguments bool `yaml:"string_arguments"`
	// ToolSchema names the limits of the schemas of tools (A-7, O-19, G-12).
	ToolSchema string `yaml:"tool_schema"`
	// ToolNameExtras are further characters that tool names may hold beside
	// letters, digits, _ and -; ToolNameStartsWithLetter: the first character must
	// be a letter or _ (A-21, O-18, G-11).
	ToolNameExtras           string `yaml:"tool_name_extras"`
	ToolNameStartsWithLetter bool   `yaml:"tool_name_starts_with_letter"`
	// TextOnlyErrors: a result that is an error holds nothing but text.
	TextOnlyErrors bool `yaml:"text_only_errors"`
	// MediaTypes are the media types taken inline, by type of part ("image",
	// "file"); one that ends in / stands for all that begin so. Empty: any.
	MediaTypes map[string][]string `yaml:"media_types"`
	// MaxImageBase64 is the longest base64 of an inline image; 0 when unknown.
	MaxImageBase64 int `yaml:"max_image_base64"`

	// CacheBesideInput: cached input is counted beside the rest of the input and
	// not within it.
	CacheBesideInput bool `yaml:"cache_beside_input"`
	// ConflictIsFinal: status 409 says that the request is wrong. Elsewhere the
	// same request may succeed later.
	ConflictIsFinal bool `yaml:"conflict_is_final"`
}

// Issues reports whether a continuity token with this tag is the provider's.
func (t *Traits) Issues(tag string) bool { return slices.Contains(t.TokenTags, tag) }

// AllowsToolName reports whether a tool may have this name (A-21, O-18, G-11).
func (t *Traits) AllowsToolName(name string) bool {
	if name == "" || len(name) > 128 {
		return false
	}
	for i := range len(name) {
		if c := name[i]; !t.allowsInToolName(rune(c)) || i == 0 && !t.allowsAtStart(c) {
			return false
		}
	}
	return true
}

func (t *Traits) allowsAtStart(c byte) bool {
	return !t.ToolNameStartsWithLetter || c == '_' || isLetter(rune(c))
}

func (t *Traits) allowsInToolName(c rune) bool {
	return isLetter(c) || c >= '0' && c <= '9' || c == '_' || c == '-' || strings.ContainsRune(t.ToolNameExtras, c)
}

func isLetter(c rune) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

// maxPortableToolName is the longest name of a tool that all providers take
// (A-21, O-18, G-11).
const maxPortableToolName = 64

// LegalToolName returns name with every character replaced that tools must not
// have in their names.
func (t *Traits) LegalToolName(name string) string {
	legal := strings.Map(func(c rune) rune {
		if t.allowsInToolName(c) {
			return c
		}
		return '_'
	}, name)
	if legal == "" || !t.allowsAtStart(legal[0]) {
		legal = "_" + legal
	}
	return legal[:min(len(legal), maxPortableToolName)]
}

// TakesMedia reports whether an inline part of this type ("image", "file") and
// media type is taken, with content of that many bytes in base64.
func (t *Traits) TakesMedia(partType, mediaType string, base64Len int) bool {
	if t.MaxImageBase64 > 0 && partType == "image" && base64Len > t.MaxImageBase64 {
		return false
	}
	if len(t.MediaTypes) == 0 {
		return strings.Contains(mediaType, "/")
	}
	return slices.ContainsFunc(t.MediaTypes[partType], func(taken string) bool {
		return taken == mediaType || strings.HasSuffix(taken, "/") && strings.HasPrefix(mediaType, taken)
	})
}

// TakesPart reports whether parts of this type are taken at all.
func (t *Traits) TakesPart(partType string) bool {
	return len(t.MediaTypes) == 0 || len(t.MediaTypes[partType]) > 0
}

//go:embed providers.yaml
var providerFile []byte

// allProviders parses the embedded file once. It is a file of its own because
// programs need the providers at every start and the models only for a run.
var allProviders = sync.OnceValue(func() []Provider {
	var all []Provider
	if err := yaml.Unmarshal(providerFile, &all); err != nil {
		panic("catalog: providers.yaml: " + err.Error())
	}
	return all
})

// ProviderNames returns the names of all providers, in the order in which one is
// chosen when nothing names one.
func ProviderNames() []string {
	var names []string
	for _, p := range allProviders() {
		names = append(names, p.Name)
	}
	return names
}

// ProviderNamed returns the provider of that name. One that is not in the
// catalogue has a name and nothing else.
func ProviderNamed(name string) Provider {
	all := allProviders()
	if i := slices.IndexFunc(all, func(p Provider) bool { return p.Name == name }); i >= 0 {
		return all[i]
	}
	return Provider{Name: name, TelemetryName: name}
}

// ProviderOf infers the provider from a model's name, allowed or not. It
// returns "" for names of no known family.
func ProviderOf(model string) string {
	for _, p := range allProviders() {
		for _, prefix := range p.ModelPrefixes {
			if strings.HasPrefix(model, prefix) {
				return p.Name
			}
		}
	}
	return ""
}

// ProviderOfToken returns the name of the provider that issues continuity tokens
// with this tag, "" when none does.
func ProviderOfToken(tag string) string {
	for _, p := range allProviders() {
		if p.Traits.Issues(tag) {
			return p.Name
		}
	}
	return ""
}

// Uncatalogued returns an entry for a model that the catalogue does not know:
// it has the traits of its provider and no flags.
func Uncatalogued(provider, model string) Entry {
	return Entry{Model: model, Base: model, Name: model, Provider: provider, Traits: ProviderNamed(provider).Traits}
}
