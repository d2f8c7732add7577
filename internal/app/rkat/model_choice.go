package rkat

import (
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

// chooseModel chooses the provider and the model of a new session.
func chooseModel(cfg *config.Loaded, unlisted bool) (modelChoice, error) {
	c, err := cfg.ChooseModel(func(model string) (catalog.Entry, error) { return lookupModel(model, unlisted) })
	if err != nil && !isError[*catalog.UnsupportedModel](err) {
		err = &cli.UsageError{Err: err}
	}
	return modelChoice{c.Provider, c.Model, unlisted}, err
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

func lookupModel(model string, unlisted bool) (catalog.Entry, error) {
	if unlisted {
		return catalog.Unlisted(model)
	}
	return catalog.Lookup(model)
}
