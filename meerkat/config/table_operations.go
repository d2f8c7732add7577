package config

import (
	"github.com/meerkat-go/conformance/meerkat/agent"
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
