package broker

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/broker/network"
	"jackdaw/config"
	"jackdaw/controller"
	"jackdaw/protocol"
	"jackdaw/security/acl"
	"jackdaw/zkstore"
)

// DescribeConfigs (32), v0-4. Kafka: KafkaApis.handleDescribeConfigsRequest, ConfigHelper; KIP-226, KIP-569.
// Pipelined: no.   Cost: a ZooKeeper read a resource.
func (b *Broker) handleDescribeConfigs(r *network.Request) {
	req := r.Body.(*kmsg.DescribeConfigsRequest)
	resp := req.ResponseKind().(*kmsg.DescribeConfigsResponse)
	for i := range req.Resources {
		resource := &req.Resources[i]
		out := kmsg.NewDescribeConfigsResponseResource()
		out.ResourceType, out.ResourceName = resource.ResourceType, resource.ResourceName
		out.Configs = []kmsg.DescribeConfigsResponseResourceConfig{}
		entries, err := b.describeResource(r, resource)
		out.ErrorMessage = new(string)
		if err != nil {
			out.ErrorCode, out.ErrorMessage = protocol.ErrorCode(err), protocol.ErrorMessage(err)
			if out.ErrorCode == kerr.UnknownTopicOrPartition.Code {
				out.ErrorMessage = new(string)
			}
		}
		for j := range entries {
			out.Configs = append(out.Configs, describedConfig(req, &entries[j]))
		}
		resp.Resources = append(resp.Resources, out)
	}
	r.Respond(resp)
}

// clientMetricsResource is the type of what clients are asked to report (KIP-714).
const clientMetricsResource = 16

func (b *Broker) describeResource(r *network.Request, resource *kmsg.DescribeConfigsRequestResource) ([]config.Entry, error) {
	ctx, name := r.Context(), resource.ResourceName
	if err := b.deniedConfig(r, acl.DescribeConfigs, resource.ResourceType, name); err != nil {
		return nil, err
	}
	switch resource.ResourceType {
	case kmsg.ConfigResourceTypeTopic:
		if err := controller.ValidateTopicName(name); err != nil {
			return nil, err
		}
		if !knownTopic(b.cache.Image(), name) {
			return nil, kerr.UnknownTopicOrPartition
		}
		return b.describeTopicConfig(ctx, name, resource.ConfigNames)
	case kmsg.ConfigResourceTypeBroker:
		return b.describeBrokerConfig(ctx, name, resource.ConfigNames)
	case kmsg.ConfigResourceTypeBrokerLogger:
		if name == "" {
			return nil, invalidRequest("Broker id must not be empty")
		}
		if err := b.checkResourceID(name, false); err != nil {
			return nil, err
		}
		return b.describeLoggers(resource.ConfigNames), nil
	case clientMetricsResource:
		return nil, invalidRequest("Config type client-metrics is only supported on KRaft clusters")
	default:
		return nil, fmt.Errorf("resource type %d: %w", resource.ResourceType, kerr.InvalidRequest)
	}
}

// describeTopicConfig reads what ZooKeeper has now, so that a change is seen by every broker as soon as it was answered.
func (b *Broker) describeTopicConfig(ctx context.Context, name string, only []string) ([]config.Entry, error) {
	overrides := b.topics.Overrides(name)
	dynamic := config.Dynamic{}
	if session := b.zk.Session(); session != nil {
		var err error
		if overrides, err = session.EntityConfig(ctx, topicEntity, name); err != nil && !errors.Is(err, zkstore.ErrNoNode) {
			return nil, fmt.Errorf("read config of topic %s: %w", name, err)
		}
		if dynamic, err = readDynamic(ctx, session, b.id); err != nil {
			return nil, err
		}
	}
	return b.loaded.DescribeTopic(overrides, dynamic, only), nil
}

func (b *Broker) describeBrokerConfig(ctx context.Context, name string, only []string) ([]config.Entry, error) {
	if err := b.checkResourceID(name, true); err != nil {
		return nil, err
	}
	dynamic := config.Dynamic{}
	if session := b.zk.Session(); session != nil {
		var err error
		if dynamic, err = readDynamic(ctx, session, b.id); err != nil {
			return nil, err
		}
	}
	if name == "" {
		return b.loaded.DescribeBrokerDefaults(dynamic, only), nil
	}
	return b.loaded.DescribeBroker(dynamic, only), nil
}

// checkResourceID holds the name of a broker resource against this broker's id: a broker tells about itself only.
func (b *Broker) checkResourceID(name string, emptyAllowed bool) error {
	if name == "" && emptyAllowed {
		return nil
	}
	id, err := strconv.ParseInt(name, 10, 32)
	switch {
	case err != nil:
		return protocol.WithMessage(kerr.InvalidRequest, "Broker id must be an integer, but it is: "+name)
	case int32(id) == int32(b.id):
		return nil
	case emptyAllowed:
		return protocol.WithMessage(kerr.InvalidRequest,
			fmt.Sprintf("Unexpected broker id, expected %d or empty string, but received %s", b.id, name))
	default:
		return protocol.WithMessage(kerr.InvalidRequest, fmt.Sprintf("Unexpected broker id, expected %d but received %s", b.id, name))
	}
}

func describedConfig(req *kmsg.DescribeConfigsRequest, e *config.Entry) kmsg.DescribeConfigsResponseResourceConfig {
	out := kmsg.NewDescribeConfigsResponseResourceConfig()
	out.Name, out.Value, out.ReadOnly, out.IsSensitive = e.Name, e.Value, e.ReadOnly, e.Sensitive
	out.IsDefault = e.Source == config.SourceDefault
	out.Source = kmsg.ConfigSource(e.Source)
	out.ConfigType = kmsg.ConfigType(e.Type)
	out.ConfigSynonyms = []kmsg.DescribeConfigsResponseResourceConfigConfigSynonym{}
	if req.IncludeDocumentation {
		out.Documentation = &e.Doc
	}
	if !req.IncludeSynonyms {
		return out
	}
	for _, s := range e.Synonyms {
		out.ConfigSynonyms = append(out.ConfigSynonyms, kmsg.DescribeConfigsResponseResourceConfigConfigSynonym{
			Name: s.Name, Value: s.Value, Source: kmsg.ConfigSource(s.Source),
		})
	}
	return out
}
