package znode

import (
	"net/url"
	"strconv"
	"strings"

	"jackdaw/metadata"
)

// The fixed places. Kafka: ZkData.
const (
	ControllerPath          = "/controller"
	ControllerEpochPath     = "/controller_epoch"
	BrokerIDsPath           = "/brokers/ids"
	BrokerSequencePath      = "/brokers/seqid"
	TopicsPath              = "/brokers/topics"
	ConfigPath              = "/config"
	ConfigChangesPath       = "/config/changes"
	DeleteTopicsPath        = "/admin/delete_topics"
	ReassignPartitionsPath  = "/admin/reassign_partitions"
	PreferredElectionPath   = "/admin/preferred_replica_election"
	IsrChangePath           = "/isr_change_notification"
	LogDirEventPath         = "/log_dir_event_notification"
	ProducerIDBlockPath     = "/latest_producer_id_block"
	ClusterIDPath           = "/cluster/id"
	FeaturePath             = "/feature"
	ConfigChangePrefix      = ConfigChangesPath + "/config_change_"
	LogDirEventPrefix       = LogDirEventPath + "/log_dir_event_"
	IsrChangePrefix         = IsrChangePath + "/isr_change_"
	DelegationTokensPath    = "/delegation_token/tokens"
	DelegationChangesPath   = "/delegation_token/token_changes"
	partitionsNode          = "/partitions"
	stateNode               = "/state"
	topicsEntity, idsEntity = "topics", "brokers"
)

// DefaultEntity is the literal node name of the default entity of a configuration type.
const DefaultEntity = "<default>"

// PersistentPaths lists the parents that every broker creates at start, in Kafka's order. All have null data.
// Kafka: ZkData.PersistentZkPaths.
func PersistentPaths() []string {
	return []string{
		"/consumers", BrokerIDsPath, TopicsPath, ConfigChangesPath, DeleteTopicsPath, BrokerSequencePath, IsrChangePath,
		ProducerIDBlockPath, LogDirEventPath, "/config/topics", "/config/clients", "/config/users", "/config/brokers",
		"/config/ips",
	}
}

// BrokerPath is the registration of a broker.
func BrokerPath(id metadata.BrokerID) string {
	return BrokerIDsPath + "/" + strconv.Itoa(int(id))
}

// TopicPath is the assignment of a topic.
func TopicPath(topic string) string { return TopicsPath + "/" + topic }

// PartitionsPath is the parent of a topic's partitions.
func PartitionsPath(topic string) string { return TopicPath(topic) + partitionsNode }

// PartitionPath is the parent of a partition's state.
func PartitionPath(tp metadata.TopicPartition) string {
	return PartitionsPath(tp.Topic) + "/" + strconv.Itoa(int(tp.Partition))
}

// StatePath is the state of a partition.
func StatePath(tp metadata.TopicPartition) string { return PartitionPath(tp) + stateNode }

// EntityConfigPath is the configuration of an entity. entityType is topics, brokers, clients, users or ips; name may
// hold a further level, as in alice/clients/app. Names of users, clients and ips must have passed Sanitize.
func EntityConfigPath(entityType, name string) string {
	return ConfigPath + "/" + entityType + "/" + name
}

// TopicConfigPath is the configuration of a topic.
func TopicConfigPath(topic string) string { return EntityConfigPath(topicsEntity, topic) }

// BrokerConfigPath is the dynamic configuration of a broker.
func BrokerConfigPath(id metadata.BrokerID) string {
	return EntityConfigPath(idsEntity, strconv.Itoa(int(id)))
}

// DeleteTopicPath asks the controller to delete a topic.
func DeleteTopicPath(topic string) string { return DeleteTopicsPath + "/" + topic }

// Parent is the path of the node above, "/" for the top level.
func Parent(path string) string {
	i := strings.LastIndexByte(path, '/')
	if i <= 0 {
		return "/"
	}
	return path[:i]
}

// Base is the last component of a path.
func Base(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

// Sanitize percent-encodes a user, client or principal name so that it can be a node name. Kafka: Sanitizer.sanitize.
func Sanitize(name string) string {
	// url.QueryEscape differs from Java's URLEncoder in * (kept by Java, then replaced by Kafka) and ~ only.
	s := strings.ReplaceAll(url.QueryEscape(name), "+", "%20")
	return strings.ReplaceAll(s, "~", "%7E")
}

// Desanitize undoes Sanitize. A name that is not well encoded is returned as it is.
func Desanitize(name string) string {
	s, err := url.QueryUnescape(name)
	if err != nil {
		return name
	}
	return s
}

// ConsumerOffsetPath is an offset of a group as OffsetCommit version 0 keeps it. Kafka: ZkData.ConsumerOffset.
func ConsumerOffsetPath(group string, tp metadata.TopicPartition) string {
	return "/consumers/" + group + "/offsets/" + tp.Topic + "/" + strconv.Itoa(int(tp.Partition))
}

// EncodeConsumerOffset is the content of that node: the offset in decimal.
func EncodeConsumerOffset(offset int64) []byte { return strconv.AppendInt(nil, offset, 10) }
