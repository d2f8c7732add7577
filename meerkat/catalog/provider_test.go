package catalog

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"
)

// TestProviders: the file has no member that is misspelt and no provider with a
// gap.
func TestProviders(t *testing.T) {
	var all []Provider
	d := yaml.NewDecoder(bytes.NewReader(providerFile))
	d.KnownFields(true)
	if err := d.Decode(&all); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{Anthropic, OpenAI, Gemini}, ProviderNames()); diff != "" {
		t.Error(diff)
	}
	for _, p := range all {
		if p.BaseURL == "" || p.APIVersion == "" || p.ModelList == "" || len(p.KeyVariables) == 0 ||
			len(p.ModelPrefixes) == 0 || len(p.Traits.TokenTags) == 0 {
			t.Errorf("%s: %+v", p.Name, p)
		}
		for _, e := range Models() {
			if e.Provider == p.Name && !cmp.Equal(e.Traits, p.Traits) {
				t.Errorf("%s has not the traits of %s", e.Name, p.Name)
			}
		}
	}
	if e := Uncatalogued("cohere", "m"); e.Provider != "cohere" || !cmp.Equal(e.Traits, Traits{}) {
		t.Errorf("%+v", e)
	}
}

func TestToolNames(t *testing.T) {
	for _, c := range []struct {
		provider, name, legal string
	}{
		{Anthropic, "read_file", "read_file"},
		{Anthropic, "1st.tool", "1st_tool"},
		{OpenAI, "", "_"},
		{OpenAI, "a b", "a_b"},
		{Gemini, "1st.tool", "_1st.tool"},
		{Gemini, "-x:y", "_-x:y"},
		{Gemini, "näme", "n_me"},
	} {
		traits := ProviderNamed(c.provider).Traits
		if got := traits.LegalToolName(c.name); got != c.legal || !traits.AllowsToolName(got) {
			t.Errorf("%s: %q becomes %q, want %q", c.provider, c.name, got, c.legal)
		}
		if c.name != c.legal && traits.AllowsToolName(c.name) {
			t.Errorf("%s allows %q", c.provider, c.name)
		}
	}
}
