package broker

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/broker/network"
	"jackdaw/protocol"
	"jackdaw/security/acl"
)

// UpdateFeatures (57), v0-1. Kafka: KafkaController.processFeatureUpdates; KIP-584. With ZooKeeper no feature has levels, so that there
// is none to finalize or to delete.   Pipelined: no.   Cost: none.
func (b *Broker) handleUpdateFeatures(r *network.Request) {
	req := r.Body.(*kmsg.UpdateFeaturesRequest)
	resp := req.ResponseKind().(*kmsg.UpdateFeaturesResponse)
	if b.refused(r, b.deniedCluster(r, acl.Alter)) {
		return
	}
	if !b.controller.Active() {
		resp.ErrorCode, resp.ErrorMessage = kerr.NotController.Code, new(string)
		r.Respond(resp)
		return
	}
	seen := map[string]bool{}
	for i := range req.FeatureUpdates {
		u := &req.FeatureUpdates[i]
		if seen[u.Feature] {
			continue
		}
		seen[u.Feature] = true
		err := refuseFeature(u, req.Version)
		resp.Results = append(resp.Results, kmsg.UpdateFeaturesResponseResult{
			Feature: u.Feature, ErrorCode: protocol.ErrorCode(err), ErrorMessage: protocol.ErrorMessage(err),
		})
	}
	r.Respond(resp)
}

// Upgrade types of UpdateFeatures v1. Kafka: FeatureUpdate.UpgradeType.
const (
	featureUpgrade         = 1
	featureSafeDowngrade   = 2
	featureUnsafeDowngrade = 3
)

func refuseFeature(u *kmsg.UpdateFeaturesRequestFeatureUpdate, version int16) error {
	kind := u.UpgradeType
	if version == 0 {
		kind = featureUpgrade
		if u.AllowDowngrade {
			kind = featureSafeDowngrade
		}
	}
	switch {
	case u.Feature == "":
		return invalidRequest("Feature name can not be empty.")
	case kind < featureUpgrade || kind > featureUnsafeDowngrade:
		return invalidRequest("Received unknown upgrade type.")
	case u.MaxVersionLevel < 1 && kind != featureUpgrade:
		return invalidRequest("Can not delete non-existing finalized feature.")
	case u.MaxVersionLevel < 1:
		return invalidRequest("Can not provide versionLevel: %d less than 1 without setting the SAFE downgradeType in the request.", u.MaxVersionLevel)
	}
	return invalidRequest("Could not apply finalized feature update because the provided feature is not supported.")
}
