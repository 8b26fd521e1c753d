package app

import (
	"net/netip"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/config"
	"superpipeline.dev/question-bridge/internal/httpapi"
)

// quota says how many questions of an agent, and in a room, may be pending.
func quota(cfg config.Config) func(bridge.AgentID) bridge.Quota {
	return func(agent bridge.AgentID) bridge.Quota {
		return bridge.Quota{Asker: int(cfg.AgentLimit(string(agent)).Pending), Conversation: int(cfg.Limits.Room.Pending)}
	}
}

// limits says how fast the API lets agents and people act.
func limits(cfg config.Config) httpapi.Limits {
	return httpapi.Limits{
		Agent: func(agent bridge.AgentID) httpapi.Pace { return paceOf(cfg.AgentLimit(string(agent)).Pace()) },
		Room:  paceOf(cfg.Limits.Room.Pace()), Person: paceOf(cfg.Limits.Person), SignIn: paceOf(cfg.Limits.SignIn),
		Response: paceOf(cfg.Limits.Response),
	}
}

func paceOf(p config.Pace) httpapi.Pace {
	return httpapi.Pace{PerMinute: int(p.PerMinute), Burst: int(p.Burst)}
}

// proxies are the networks of the proxies in front of the API.
func proxies(cfg config.Config) (networks []netip.Prefix) {
	for _, n := range cfg.API.TrustedProxies {
		if p, ok := n.Prefix(); ok { // or the configuration was refused
			networks = append(networks, p)
		}
	}
	return networks
}
