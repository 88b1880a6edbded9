package clients

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/IBM/sarama"
)

// saramaDriver is the driver of sarama.
type saramaDriver struct {
	bootstrap    []string
	group, topic string
	consumer     sarama.ConsumerGroup
	stop         context.CancelFunc
	consumed     chan error // gets the end of the consumer
	producer     sarama.SyncProducer

	mu struct {
		sync.Mutex
		session sarama.ConsumerGroupSession // of the current generation
		next    map[int32]int64             // position by partition
	}
}

func (s *saramaDriver) poll(context.Context) { time.Sleep(10 * time.Millisecond) }

func (s *saramaDriver) config() *sarama.Config {
	config := sarama.NewConfig()
	config.Version = sarama.V3_9_0_0
	config.Metadata.RefreshFrequency = 5 * time.Second
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	config.Consumer.Offsets.AutoCommit.Enable = false
	config.Consumer.Group.Heartbeat.Interval = 300 * time.Millisecond
	config.Producer.Return.Successes = true
	config.Producer.RequiredAcks = sarama.WaitForAll
	config.Producer.Partitioner = sarama.NewManualPartitioner
	config.Producer.Retry.Max = 20
	return config
}

func (s *saramaDriver) execute(ctx context.Context, w []string) (string, error) {
	switch w[0] {
	case "join":
		return "", s.join(ctx, w[1], w[2], options(w[3:]))
	case "commit":
		s.mu.Lock()
		defer s.mu.Unlock()
		s.mu.session.Commit()
		return "", nil
	case "committed":
		return s.committed(number[int32](w[1]))
	case "leave":
		s.stop()
		return "", errors.Join(s.consumer.Close(), <-s.consumed)
	case "producer":
		return "", s.newProducer(options(w[1:]))
	case "produce":
		return "", s.produce(w[1], number[int32](w[2]), w[3], number[int](w[4]))
	case "begin":
		return "", s.producer.BeginTxn()
	case "send-offsets":
		return "", s.producer.AddOffsetsToTxn(s.positions(), s.group)
	case "commit-txn":
		return "", s.producer.CommitTxn()
	case "abort-txn":
		return "", s.producer.AbortTxn()
	default:
		return s.administer(w)
	}
}

func (s *saramaDriver) join(ctx context.Context, group, topic string, given map[string]string) error {
	s.group, s.topic = group, topic
	config := s.config()
	config.Consumer.Group.Session.Timeout = time.Duration(number[int](given["session"])) * time.Millisecond
	config.Consumer.Group.Rebalance.GroupStrategies = []sarama.BalanceStrategy{sarama.NewBalanceStrategyRange()}
	config.Consumer.Group.InstanceId = given["instance"]
	if given["committed"] != "" {
		config.Consumer.IsolationLevel = sarama.ReadCommitted
	}
	var err error
	if s.consumer, err = sarama.NewConsumerGroup(s.bootstrap, group, config); err != nil {
		return err
	}
	s.mu.next = map[int32]int64{}
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx)) // it outlives the command
	s.stop, s.consumed = stop, make(chan error, 1)
	go s.consume(ctx, s.consumer, s.consumed)
	return nil
}

func (s *saramaDriver) consume(ctx context.Context, consumer sarama.ConsumerGroup, consumed chan<- error) {
	for ctx.Err() == nil {
		if err := consumer.Consume(ctx, []string{s.topic}, s); err != nil && !errors.Is(err, sarama.ErrClosedConsumerGroup) {
			fmt.Fprintln(os.Stderr, err)
		}
	}
	consumed <- nil
}

// Setup is a call of sarama: a generation begins.
func (s *saramaDriver) Setup(session sarama.ConsumerGroupSession) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.session = session
	sayPartitions("+", session.Claims()[s.topic])
	return nil
}

// Cleanup is a call of sarama: a generation ends.
func (s *saramaDriver) Cleanup(session sarama.ConsumerGroupSession) error {
	sayPartitions("-", session.Claims()[s.topic])
	return nil
}

// ConsumeClaim is a call of sarama: it tells each record of one partition.
func (s *saramaDriver) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for msg := range claim.Messages() {
		session.MarkMessage(msg, "")
		s.mu.Lock()
		s.mu.next[msg.Partition] = msg.Offset + 1
		s.mu.Unlock()
		say("r", msg.Partition, msg.Offset, string(msg.Value))
	}
	return nil
}

func (s *saramaDriver) positions() map[string][]*sarama.PartitionOffsetMetadata {
	s.mu.Lock()
	defer s.mu.Unlock()
	var offsets []*sarama.PartitionOffsetMetadata
	for p, next := range s.mu.next {
		offsets = append(offsets, &sarama.PartitionOffsetMetadata{Partition: p, Offset: next, LeaderEpoch: -1})
	}
	return map[string][]*sarama.PartitionOffsetMetadata{s.topic: offsets}
}

func (s *saramaDriver) newProducer(given map[string]string) error {
	config := s.config()
	config.Producer.Compression = sarama.CompressionCodec(slices.Index([]string{"none", "gzip", "snappy", "lz4", "zstd"}, cmp.Or(given["codec"], "none")))
	config.Producer.Flush.Messages = 50 // several batches, so that their sequences matter
	config.Producer.Flush.Frequency = 20 * time.Millisecond
	if given["idempotent"] != "" || given["txn"] != "" {
		config.Producer.Idempotent = true
		config.Net.MaxOpenRequests = 1
		config.Producer.Transaction.ID = given["txn"]
	}
	if s.producer != nil {
		if err := s.producer.Close(); err != nil {
			return err
		}
	}
	var err error
	s.producer, err = sarama.NewSyncProducer(s.bootstrap, config)
	return err
}

func (s *saramaDriver) produce(topic string, partition int32, prefix string, n int) error {
	var messages []*sarama.ProducerMessage
	for i := range n {
		messages = append(messages, &sarama.ProducerMessage{
			Topic: topic, Partition: partition, Key: sarama.StringEncoder("k"), Value: sarama.StringEncoder(fmt.Sprintf("%s-%d", prefix, i)),
		})
	}
	return s.producer.SendMessages(messages)
}

func (s *saramaDriver) committed(partition int32) (string, error) {
	return s.withAdmin(func(adm sarama.ClusterAdmin) (string, error) {
		r, err := adm.ListConsumerGroupOffsets(s.group, map[string][]int32{s.topic: {partition}})
		if err != nil {
			return "", err
		}
		return fmt.Sprint(r.GetBlock(s.topic, partition).Offset), nil
	})
}

func (s *saramaDriver) withAdmin(call func(sarama.ClusterAdmin) (string, error)) (string, error) {
	adm, err := sarama.NewClusterAdmin(s.bootstrap, s.config())
	if err != nil {
		return "", err
	}
	answer, err := call(adm)
	return answer, errors.Join(err, adm.Close())
}

func (s *saramaDriver) administer(w []string) (string, error) {
	return s.withAdmin(func(adm sarama.ClusterAdmin) (string, error) {
		switch w[0] {
		case "create":
			return "", adm.CreateTopic(w[1], &sarama.TopicDetail{NumPartitions: number[int32](w[2]), ReplicationFactor: number[int16](w[3])}, false)
		case "grow":
			return "", adm.CreatePartitions(w[1], number[int32](w[2]), nil, false)
		case "partitions":
			d, err := adm.DescribeTopics([]string{w[1]})
			if err != nil {
				return "", err
			}
			return fmt.Sprint(len(d[0].Partitions)), nil
		case "set":
			return "", adm.IncrementalAlterConfig(sarama.TopicResource, w[1], map[string]sarama.IncrementalAlterConfigsEntry{
				w[2]: {Operation: sarama.IncrementalAlterConfigsOperationSet, Value: &w[3]},
			}, false)
		case "get":
			return saramaConfig(adm, w[1], w[2])
		case "group":
			return saramaGroup(adm, w[1])
		case "delete":
			return "", adm.DeleteTopic(w[1])
		default:
			return "", fmt.Errorf("unknown command %s", w[0])
		}
	})
}

func saramaConfig(adm sarama.ClusterAdmin, topic, key string) (string, error) {
	resource := &sarama.ConfigResource{Type: sarama.TopicResource, Name: topic, ConfigNames: []string{key}}
	described, err := adm.DescribeConfigs([]*sarama.ConfigResource{resource}, sarama.DescribeConfigsOptions{})
	if err != nil {
		return "", err
	}
	return described[0].Configs[0].Value, nil
}

func saramaGroup(adm sarama.ClusterAdmin, group string) (string, error) {
	described, err := adm.DescribeConsumerGroups([]string{group})
	if err != nil {
		return "", err
	}
	listed, err := adm.ListConsumerGroups()
	count := 0
	if _, ok := listed[group]; ok {
		count = 1
	}
	return fmt.Sprint(len(described[0].Members), count), err
}
