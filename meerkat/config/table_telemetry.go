package config

import "time"

// telemetrySettings say who gets measurements of runs; by default nobody does.
// The variables are those that OpenTelemetry has for this.
func telemetrySettings() []Setting {
	return []Setting{
		{
			Key: "telemetry.otlp_endpoint", Flag: "otlp-endpoint", Commands: RunCommands, read: readAddress, Variables: []string{"OTEL_EXPORTER_OTLP_ENDPOINT"}, risk: riskSendsData,
			Help: "`address` of an OpenTelemetry collector (OTLP over HTTP), such as http://localhost:4318", field: func(c *Config) any { return &c.Telemetry.Endpoint },
		}, {
			Key: "telemetry.otlp_headers", read: readHeaders, Variables: []string{"OTEL_EXPORTER_OTLP_HEADERS"}, secret: true, form: "of the form NAME=VALUE[,NAME=VALUE…], or a table of texts", risk: riskHoldsKey,
			Help: "`NAME=VALUE` pairs sent to the collector, with commas between", field: func(c *Config) any { return &c.Telemetry.Headers },
		}, {
			Key: "telemetry.otlp_timeout", read: readDuration, Default: 2 * time.Second,
			Help: "`time` that the end of a run waits for the collector at most", field: func(c *Config) any { return &c.Telemetry.Timeout },
		}, {
			Key: "telemetry.content", Flag: "telemetry-content", Commands: RunCommands, read: readBool, Default: false, Variables: []string{"OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"}, risk: riskSendsData,
			Help: "`true` adds prompts, answers, arguments and results to the spans", field: func(c *Config) any { return &c.Telemetry.Content },
		}, {
			Key: "telemetry.metrics_listen", Flag: "metrics-listen", Commands: RunCommands, read: readListenAddress, risk: riskSendsData,
			Help: "`[HOST:]PORT` that serves /metrics for Prometheus while the command runs; without a host, 127.0.0.1", field: func(c *Config) any { return &c.Telemetry.MetricsListen },
		},
	}
}
