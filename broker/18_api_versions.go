package broker

import (
	"regexp"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/broker/network"
	"jackdaw/protocol"
)

// softwareName is what KIP-511 allows as name and version of a client. Kafka: ApiVersionsRequest.SOFTWARE_NAME_VERSION_PATTERN.
var softwareName = regexp.MustCompile(`^[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?$`)

// ApiVersions (18), v0-4. Kafka: KafkaApis.handleApiVersionsRequest. A version above ours is answered by broker/network (KIP-511).
// Pipelined: no.   Cost: none worth a word.
func (b *Broker) handleAPIVersions(r *network.Request) {
	req := r.Body.(*kmsg.ApiVersionsRequest)
	resp := req.ResponseKind().(*kmsg.ApiVersionsResponse)
	if req.Version >= 3 && (!softwareName.MatchString(req.ClientSoftwareName) || !softwareName.MatchString(req.ClientSoftwareVersion)) {
		resp.ErrorCode = kerr.InvalidRequest.Code
		r.Respond(resp)
		return
	}
	resp.FinalizedFeaturesEpoch = 0
	for _, api := range protocol.Table() {
		k := kmsg.NewApiVersionsResponseApiKey()
		k.ApiKey, k.MinVersion, k.MaxVersion = api.Key, api.Min, api.Max
		resp.ApiKeys = append(resp.ApiKeys, k)
	}
	r.Respond(resp)
}
