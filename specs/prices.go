package specs

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/meerkat-go/conformance/internal/spelling"
)

// Prices says what tokens cost, by model. The user gives it, because prices change; none is
// built in. It is read-only. A nil *Prices knows no price.
type Prices struct {
	// Currency is the user's word for the unit, for example USD; "" where none is named.
	Currency string
	// Models are the prices by the name of a model, which covers its dated snapshots.
	Models map[string]Price
}

// Price is what a million tokens of one model cost. Without a price of their own,
// tokens of the cache cost what input costs.
type Price struct {
	Input, Output         float64
	CacheRead, CacheWrite float64
}

// MaxPriceBytes is the longest file of prices that is read, in bytes.
const MaxPriceBytes = 1 << 20

const priceExample = "models: {gpt-5.4-mini: {input: 0.25, output: 2.0}}"

// priceKeys are the members of the price of a model.
var priceKeys = []string{"input", "output", "cache_read", "cache_write"}

// ParsePrices reads a file of prices. Errors name file and the line, and are one line each.
func ParsePrices(file string, data []byte) (*Prices, error) {
	if len(data) > MaxPriceBytes {
		return nil, fmt.Errorf("%s: is longer than %d bytes, too long for a list of prices", file, MaxPriceBytes)
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return nil, fmt.Errorf("%s: %s; write %s", file, strings.Join(strings.Fields(err.Error()), " "), priceExample)
	}
	if len(doc.Content) == 0 {
		return nil, fmt.Errorf("%s: is empty; list models with their price per million tokens: %s", file, priceExample)
	}
	r := priceReader{file}
	p := &Prices{Models: map[string]Price{}}
	err := r.eachMember(doc.Content[0], []string{"currency", "models"}, func(key string, value *yaml.Node) error {
		if key == "models" {
			return r.eachMember(value, nil, func(model string, price *yaml.Node) (err error) {
				p.Models[model], err = r.readPrice(model, price)
				return err
			})
		}
		if p.Currency = value.Value; value.Kind != yaml.ScalarNode || p.Currency == "" {
			return r.lineError(value, "currency is not a word; write for example currency: USD")
		}
		return nil
	})
	if err == nil && len(p.Models) == 0 {
		err = fmt.Errorf("%s: names no model; write %s", file, priceExample)
	}
	if err != nil {
		return nil, err
	}
	return p, nil
}

// priceReader reads the parts of one file.
type priceReader struct{ file string }

func (r priceReader) lineError(n *yaml.Node, format string, args ...any) error {
	return fmt.Errorf("%s:%d: %s", r.file, n.Line, fmt.Sprintf(format, args...))
}

// eachMember calls read for the members of a mapping. Nil known knows any name.
func (r priceReader) eachMember(n *yaml.Node, known []string, read func(key string, value *yaml.Node) error) error {
	if n.Kind != yaml.MappingNode {
		return r.lineError(n, "is not a mapping; write %s", priceExample)
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if known != nil && !slices.Contains(known, key.Value) {
			return r.lineError(key, "unknown key %q; %s", key.Value, spelling.Advice(key.Value, known))
		}
		if seen[key.Value] {
			return r.lineError(key, "%s stands there twice; leave one out", key.Value)
		}
		seen[key.Value] = true
		if err := read(key.Value, value); err != nil {
			return err
		}
	}
	return nil
}

// readPrice reads the price of a model.
func (r priceReader) readPrice(model string, n *yaml.Node) (p Price, err error) {
	given := map[string]float64{}
	err = r.eachMember(n, priceKeys, func(key string, value *yaml.Node) error {
		price, err := strconv.ParseFloat(value.Value, 64)
		if err != nil || value.Kind != yaml.ScalarNode || !(price >= 0) || math.IsInf(price, 0) {
			return r.lineError(value, "%s: %s: %q is not a price; write a number, such as 0.25", model, key, value.Value)
		}
		given[key] = price
		return nil
	})
	if err != nil {
		return p, err
	}
	for _, key := range []string{"input", "output"} {
		if _, ok := given[key]; !ok {
			return p, r.lineError(n, "%s: input and output are needed; write %s", model, priceExample)
		}
	}
	p = Price{Input: given["input"], Output: given["output"], CacheRead: given["input"], CacheWrite: given["input"]}
	if price, ok := given["cache_read"]; ok {
		p.CacheRead = price
	}
	if price, ok := given["cache_write"]; ok {
		p.CacheWrite = price
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
