package specs

import (
	"maps"
	"slices"

	"github.com/meerkat-go/conformance/internal/datafile"
)

// Prices says what tokens cost, by model. The user gives it, because prices change; none is
// built in. It is read-only. A nil *Prices knows no price.
type Prices struct {
	// Currency is the user's word for the unit, for example USD; "" where none is named.
	Currency string `yaml:"currency" data:"filled"`
	// Models are the prices by the name of a model, which covers its dated snapshots.
	Models map[string]Price `yaml:"models" data:"required"`
}

// Price is what a million tokens of one model cost. Without a price of their own,
// tokens of the cache cost what input costs.
type Price struct {
	Input      float64 `yaml:"input" data:"required,min=0"`
	Output     float64 `yaml:"output" data:"required,min=0"`
	CacheRead  float64 `yaml:"cache_read" data:"min=0"`
	CacheWrite float64 `yaml:"cache_write" data:"min=0"`
}

// MaxPriceBytes is the longest file of prices that is read, in bytes.
const MaxPriceBytes = 1 << 20

const priceExample = "models: {gpt-5.4-mini: {input: 0.25, output: 2.0}}"

// ParsePrices reads a file of prices. Errors name file, line and column.
func ParsePrices(file string, data []byte) (*Prices, error) {
	p := new(Prices)
	f := datafile.Read(file, data, p, datafile.Options{MaxBytes: MaxPriceBytes})
	f.AddUnless(!f.OK() || len(p.Models) > 0, "models", "names no model; write %s", priceExample)
	for model, price := range p.Models {
		if f.Line(datafile.Join("models", model)+".cache_read") == 0 {
			price.CacheRead = price.Input
		}
		if f.Line(datafile.Join("models", model)+".cache_write") == 0 {
			price.CacheWrite = price.Input
		}
		p.Models[model] = price
	}
	if !f.OK() {
		return nil, f.Err()
	}
	return p, nil
}

// PriceOf returns the price of a model or of the model that it is a snapshot of.
func (p *Prices) PriceOf(model string) (Price, bool) {
	if p == nil {
		return Price{}, false
	}
	if price, ok := p.Models[model]; ok {
		return price, true
	}
	bare := ParseModel(model).Bare
	for _, name := range slices.Sorted(maps.Keys(p.Models)) { // in a fixed order: snapshots of one model may differ
		if ParseModel(name).Bare == bare {
			return p.Models[name], true
		}
	}
	return Price{}, false
}
