package conform

import (
	"os"

	"github.com/spf13/pflag"

	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/specs"
)

// priceFlag names the file with the user's prices.
type priceFlag struct{ file string }

func (f *priceFlag) addTo(flags *pflag.FlagSet) {
	flags.StringVar(&f.file, "prices", "", "YAML `file` with your prices per million tokens, by which a lost cache and a live run are counted in money; none are built in")
}

// read returns the prices, nil where no file is named.
func (f priceFlag) read() (*specs.Prices, error) {
	if f.file == "" {
		return nil, nil //nolint:nilnil // nothing is counted in money
	}
	data, err := os.ReadFile(f.file)
	if err != nil {
		return nil, cli.Unreadable("--prices "+f.file, err)
	}
	prices, err := specs.ParsePrices(f.file, data)
	if err != nil {
		return nil, cli.Usage("--prices %w", err)
	}
	return prices, nil
}
