package rkat

import (
	"slices"

	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/meerkat/catalog"
	"github.com/meerkat-go/conformance/meerkat/config"
	"github.com/meerkat-go/conformance/meerkat/session"
)

// modelChoice is the provider and the model of a run.
type modelChoice struct {
	provider string
	model    string // "": the provider's default
	unlisted bool   // the model need not be in the catalogue
}

const (
	keyModel    = "agent.model"
	keyProvider = "provider.type"
)

// chooseModel chooses the provider of a new session: that of the model, else the one
// that is set, else the first with a key. If model and provider do not belong
// together, the one from the stronger layer counts.
func chooseModel(cfg *config.Loaded, unlisted bool) (modelChoice, error) {
	c := modelChoice{provider: cfg.Provider, model: cfg.Agent.Model, unlisted: unlisted}
	if c.model == "" {
		if c.provider == "" {
			c.provider = firstWithKey(cfg)
		}
		return c, nil
	}
	entry, err := lookupModel(c.model, unlisted)
	switch asked, named := cfg.From(keyModel).Strength(), cfg.From(keyProvider).Strength(); {
	case c.provider == "" || c.provider == entry.Provider || err != nil && asked >= named:
	case asked == named:
		return c, cli.Usage("%s %s: model %s is one of %s; drop one of the two", cfg.From(keyProvider).Where, c.provider, c.model, entry.Provider)
	case asked < named:
		return modelChoice{provider: c.provider, unlisted: unlisted}, nil
	}
	c.provider = entry.Provider
	return c, err
}

// chooseResumedModel chooses the provider and model of a resumed session: the last
// ones, unless the command line names others. A model that the session is marked
// with stays allowed; every other is checked again.
func chooseResumedModel(cfg *config.Loaded, unlisted bool, s *session.Session) (modelChoice, error) {
	last := modelChoice{provider: s.Provider, model: s.Model, unlisted: unlisted}
	if s.Prefix != nil {
		last.provider, last.model = s.Prefix.Provider, s.Prefix.Model
	}
	model, provider := isSetByFlag(cfg, keyModel), isSetByFlag(cfg, keyProvider)
	c := last
	switch {
	case model && provider:
		return chooseModel(cfg, unlisted)
	case model:
		c.model = cfg.Agent.Model
	case provider && cfg.Provider != last.provider:
		return modelChoice{provider: cfg.Provider, unlisted: unlisted}, nil
	}
	if marked, ok := s.AnnotationValue(session.AnnotationAllowUnlisted); ok && marked == c.model {
		c.unlisted = true
	}
	entry, err := lookupModel(c.model, c.unlisted)
	c.provider = entry.Provider
	return c, err
}

// firstWithKey returns the preferred provider among those with a key, or the
// preferred one of all.
func firstWithKey(cfg *config.Loaded) string {
	providers := catalog.ProviderNames()
	if i := slices.IndexFunc(providers, func(p string) bool { return cfg.Key(p) != "" }); i >= 0 {
		return providers[i]
	}
	return providers[0]
}

func lookupModel(model string, unlisted bool) (catalog.Entry, error) {
	if unlisted {
		return catalog.Unlisted(model)
	}
	return catalog.Lookup(model)
}
