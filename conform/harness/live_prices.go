package harness

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/meerkat-go/conformance/specs"
)

// Prices says what tokens cost, by model. The user gives it: prices change, and the
// harness knows none. It is read-only.
type Prices struct {
	// Currency is the user's word for the unit, for example USD.
	Currency string `yaml:"currency"`
	// Models are the prices by the name of a model, which covers its dated snapshots.
	Models map[string]Price `yaml:"models"`
}

// Price is what a million tokens of one model cost. Without a price of their own,
// tokens of the cache cost what input costs.
type Price struct {
	Input      *float64 `yaml:"input"`
	Output     *float64 `yaml:"output"`
	CacheRead  *float64 `yaml:"cache_read"`
	CacheWrite *float64 `yaml:"cache_write"`
}

// maxPriceFile is the longest file of prices that is read, in bytes.
const maxPriceFile = 1 << 20

// ParsePrices reads a file of prices. file is named in errors.
func ParsePrices(file string, data []byte) (*Prices, error) {
	if len(data) > maxPriceFile {
		return nil, fmt.Errorf("%s: is longer than %d bytes, too long for a list of prices", file, maxPriceFile)
	}
	var p Prices
	dec := yaml.NewDecoder(bytes.NewReader(data))
	dec.KnownFields(true)
	if err := dec.Decode(&p); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("%s: is empty; list models with their price per million tokens: %s", file, priceExample)
		}
		return nil, fmt.Errorf("%s: %s; write %s", file, strings.Join(strings.Fields(err.Error()), " "), priceExample)
	}
	if len(p.Models) == 0 {
		return nil, fmt.Errorf("%s: names no model; write %s", file, priceExample)
	}
	for name, price := range p.Models {
		if price.Input == nil || price.Output == nil {
			return nil, fmt.Errorf("%s: %s: input and output are needed; write %s", file, name, priceExample)
		}
		for _, value := range []*float64{price.Input, price.Output, price.CacheRead, price.CacheWrite} {
			if value != nil && (*value < 0 || math.IsInf(*value, 0) || math.IsNaN(*value)) {
				return nil, fmt.Errorf("%s: %s: %v is not a price", file, name, *value)
			}
		}
	}
	return &p, nil
}

const priceExample = "models: {gpt-5.4-mini: {input: 0.25, output: 2.0}}"

// priceOf returns the price of a model or of the model that it is a snapshot of.
func (p *Prices) priceOf(model string) (Price, bool) {
	if price, ok := p.Models[model]; ok {
		return price, true
	}
	bare := specs.ParseModel(model).Bare
	for name, price := range p.Models {
		if specs.ParseModel(name).Bare == bare {
			return price, true
		}
	}
	return Price{}, false
}

// cost is what u costs, in the currency of the prices.
func (p Price) cost(u Usage) float64 {
	per := func(tokens int, price *float64) float64 {
		if price == nil {
			price = p.Input
		}
		return float64(tokens) * *price / 1e6
	}
	return per(u.Input, p.Input) + per(u.CacheRead, p.CacheRead) + per(u.CacheWrite, p.CacheWrite) + per(u.Output, p.Output)
}
