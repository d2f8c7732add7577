module github.com/meerkat-go/conformance/peers

go 1.26.0

require (
	github.com/dnaeon/go-vcr/v2 v2.1.0
	github.com/elazarl/goproxy v1.9.2
	github.com/meerkat-go/conformance v0.0.0
	gopkg.in/dnaeon/go-vcr.v4 v4.0.7
	gopkg.in/yaml.v3 v3.0.1
)

require (
	github.com/coder/websocket v1.8.15 // indirect
	github.com/pelletier/go-toml/v2 v2.2.4 // indirect
	github.com/xeipuuv/gojsonpointer v0.0.0-20180127040702-4e3ac2762d5f // indirect
	github.com/xeipuuv/gojsonreference v0.0.0-20180127040603-bd5ef7bd5415 // indirect
	github.com/xeipuuv/gojsonschema v1.2.0 // indirect
	golang.org/x/tools v0.51.0 // indirect
)

require (
	github.com/andybalholm/brotli v1.2.8 // indirect
	github.com/go-json-experiment/json v0.0.0-20260820222146-c27c302e5fc3 // indirect
	github.com/klauspost/compress v1.20.3 // indirect
	go.yaml.in/yaml/v4 v4.0.0-rc.6 // indirect
	golang.org/x/net v0.59.0 // indirect
	golang.org/x/sys v0.48.0
	golang.org/x/text v0.43.0 // indirect
)

replace github.com/meerkat-go/conformance => ../
