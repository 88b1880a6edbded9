"""Administers a cluster of three brokers by the admin clients of confluent-kafka and kafka-python.

admin_clients.py BOOTSTRAP confluent|kafka-python
"""

import sys
import time

bootstrap, kind = sys.argv[1:]
topic = "admin-" + kind


def eventually(check):
    """Waits until check returns something: not all brokers know of a change at once."""
    for _ in range(100):
        result = check()
        if result:
            return result
        time.sleep(0.1)
    raise AssertionError("not so after 10 s: " + check.__name__)


def confluent():
    from confluent_kafka import ElectionType, KafkaException, Producer, TopicCollection, TopicPartition
    from confluent_kafka import admin as a

    client = a.AdminClient({"bootstrap.servers": bootstrap})

    def done(futures):
        return {key: future.result(20) for key, future in futures.items()}

    cluster = client.describe_cluster().result(20)
    assert len(cluster.nodes) == 3 and cluster.controller is not None, cluster
    done(client.create_topics([a.NewTopic(topic, num_partitions=2, replication_factor=2, config={"retention.ms": "60000"})]))
    try:
        done(client.create_topics([a.NewTopic(topic, num_partitions=1, replication_factor=1)]))
        raise AssertionError("created twice")
    except KafkaException as e:
        assert e.args[0].name() == "TOPIC_ALREADY_EXISTS", e
    done(client.create_partitions([a.NewPartitions(topic, 3)]))
    eventually(lambda: len(client.list_topics(topic, 10).topics[topic].partitions) == 3)

    resource = a.ConfigResource(a.ConfigResource.Type.TOPIC, topic)
    entry = a.ConfigEntry("cleanup.policy", "compact", incremental_operation=a.AlterConfigOpType.APPEND)
    change = a.ConfigResource(a.ConfigResource.Type.TOPIC, topic, incremental_configs=[entry])
    done(client.incremental_alter_configs([change]))
    configs = next(iter(done(client.describe_configs([resource])).values()))
    assert configs["cleanup.policy"].value == "delete,compact", configs["cleanup.policy"]
    assert configs["retention.ms"].value == "60000" and configs["retention.ms"].source == a.ConfigSource.DYNAMIC_TOPIC_CONFIG.value
    broker = next(iter(done(client.describe_configs([a.ConfigResource(a.ConfigResource.Type.BROKER, "1")])).values()))
    assert broker["broker.id"].value == "1" and broker["broker.id"].is_read_only, broker["broker.id"]

    producer = Producer({"bootstrap.servers": bootstrap})
    for i in range(10):
        producer.produce(topic, b"v%d" % i, b"k", partition=0)
    assert producer.flush(20) == 0
    first = TopicPartition(topic, 0)
    latest = done(client.list_offsets({first: a.OffsetSpec.latest()}))
    assert latest[first].offset == 10, latest
    assert done(client.delete_records([TopicPartition(topic, 0, 4)]))[first].low_watermark == 4
    described = done(client.describe_topics(TopicCollection([topic])))
    assert len(described[topic].partitions) == 3, described

    groups = client.list_consumer_groups().result(20)
    assert not groups.errors, groups.errors
    scram = a.ScramMechanism.SCRAM_SHA_256
    done(client.alter_user_scram_credentials([a.UserScramCredentialUpsertion(topic, a.ScramCredentialInfo(scram, 4096), b"secret")]))
    credentials = eventually(lambda: done(client.describe_user_scram_credentials([topic])))
    assert credentials[topic].scram_credential_infos[0].iterations == 4096, credentials
    done(client.alter_user_scram_credentials([a.UserScramCredentialDeletion(topic, scram)]))
    elected = client.elect_leaders(ElectionType.PREFERRED, [first]).result(20)
    assert elected[first] is None or elected[first].name() == "ELECTION_NOT_NEEDED", elected
    done(client.delete_topics([topic]))


def kafka_python():
    from kafka import KafkaAdminClient, KafkaProducer, TopicPartition
    from kafka import errors
    from kafka.admin import ConfigResource, ConfigResourceType, NewPartitions, NewTopic

    client = KafkaAdminClient(bootstrap_servers=bootstrap)
    assert len(client.describe_cluster()["brokers"]) == 3
    client.create_topics([NewTopic(name=topic, num_partitions=2, replication_factor=2, topic_configs={"retention.ms": "60000"})])
    try:
        client.create_topics([NewTopic(name=topic, num_partitions=1, replication_factor=1)])
        raise AssertionError("created twice")
    except errors.TopicAlreadyExistsError:
        pass
    client.create_partitions({topic: NewPartitions(3)})
    eventually(lambda: len(client.describe_topics([topic])[0]["partitions"]) == 3)
    client.alter_configs([ConfigResource(ConfigResourceType.TOPIC, topic, configs={"cleanup.policy": "compact,delete"})])
    assert topic in client.list_topics()
    assert "compact,delete" in str(client.describe_configs([ConfigResource(ConfigResourceType.TOPIC, topic)]))
    producer = KafkaProducer(bootstrap_servers=bootstrap)
    for i in range(10):
        producer.send(topic, key=b"k", value=b"v%d" % i, partition=0).get(20)
    producer.close()
    deleted = client.delete_records({TopicPartition(topic, 0): 4})
    assert "4" in str(deleted), deleted
    client.list_groups() if hasattr(client, "list_groups") else client.list_consumer_groups()
    client.delete_topics([topic])
    client.close()


{"confluent": confluent, "kafka-python": kafka_python}[kind]()
print("done", kind)
