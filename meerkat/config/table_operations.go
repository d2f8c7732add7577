package config

import (
	"github.com/meerkat-go/conformance/meerkat/agent"
	"github.com/meerkat-go/conformance/meerkat/artifact"
	"github.com/meerkat-go/conformance/meerkat/ops"
)

// maxOperations bounds the settings that count operations.
const maxOperations = 1 << 12

func operationSettings() []Setting {
	limits := ops.DefaultLimits()
	return []Setting{
		{
			Key: "agent.sub_agents", Flag: "sub-agents", Commands: RequestCommands, Switch: true, read: readBool, Default: false,
			Help: "offer the model the tools that start and control sub-agents", field: func(c *Config) any { return &c.SubAgents },
		}, {
			Key: "operations.max_depth", read: countBetween(1, 16), Default: limits.MaxDepth,
			Help: "how many `levels` of sub-agents there may be", field: func(c *Config) any { return &c.OperationLimits.MaxDepth },
		}, {
			Key: "operations.max_concurrent_ops", read: countBetween(1, maxOperations), Default: limits.MaxConcurrentOps,
			Help: "how many `operations` of a run may be open at a time", field: func(c *Config) any { return &c.OperationLimits.MaxConcurrentOps },
		}, {
			Key: "operations.max_concurrent_agents", read: countBetween(1, maxOperations), Default: limits.MaxConcurrentAgents,
			Help: "how many `sub-agents` of a run may be open at a time", field: func(c *Config) any { return &c.OperationLimits.MaxConcurrentAgents },
		}, {
			Key: "operations.max_children_per_agent", read: countBetween(1, maxOperations), Default: limits.MaxChildrenPerAgent,
			Help: "how many `operations` of one agent may be open at a time", field: func(c *Config) any { return &c.OperationLimits.MaxChildrenPerAgent },
		}, {
			Key: "operations.artifact_threshold", read: countBetween(1, 1<<26), Default: agent.DefaultArtifactThreshold,
			Help: "results of sub-agents with more `bytes` are kept as artifacts, which the model reads with fetch_result", field: func(c *Config) any { return &c.ArtifactThreshold },
		},
	}
}

// artifactSettings bound what is kept of large results. The defaults are those of package
// artifact.
func artifactSettings() []Setting {
	return []Setting{
		{
			Key: "artifacts.max_artifact_bytes", read: readBytes, Default: artifact.DefaultMaxBytes,
			Help: "`size` of an artifact at most, such as 16MB; the model gets a larger result whole", field: func(c *Config) any { return &c.Artifacts.Limits.MaxBytes },
		}, {
			Key: "artifacts.max_artifacts_per_session", read: countBetween(1, 1<<20), Default: artifact.DefaultMaxPerSession,
			Help: "how many `artifacts` a session has at most", field: func(c *Config) any { return &c.Artifacts.Limits.MaxPerSession },
		}, {
			Key: "artifacts.max_total_artifact_bytes", read: readLargeBytes, Default: artifact.DefaultMaxTotalBytes,
			Help: "`size` of the artifacts of all sessions together at most, such as 20GB", field: func(c *Config) any { return &c.Artifacts.Limits.MaxTotalBytes },
		}, {
			Key: "artifacts.ttl", read: readDuration, Default: artifact.DefaultTTL,
			Help: "`time` that an artifact is kept; 0: for ever", field: func(c *Config) any { return &c.Artifacts.TTL },
		}, {
			Key: "artifacts.sweep_interval", read: readInterval, Default: artifact.DefaultSweepInterval,
			Help: "`time` after which artifacts that are kept no longer are removed again, a second or more", field: func(c *Config) any { return &c.Artifacts.SweepInterval },
		},
	}
}
