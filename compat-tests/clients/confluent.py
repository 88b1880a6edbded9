"""The driver of confluent-kafka, which is librdkafka."""

import sys

import line
from confluent_kafka import OFFSET_BEGINNING, Consumer, Producer, TopicPartition
from confluent_kafka.admin import (
    AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, NewPartitions, NewTopic, ResourceType,
)


class Driver:
    def __init__(self, bootstrap):
        self.bootstrap, self.consumer, self.sender, self.answers = bootstrap, None, None, []
        self.admin = AdminClient({"bootstrap.servers": bootstrap})

    def poll(self):
        for message in self.consumer.consume(500, 0.05):
            if message.error():
                print(message.error(), file=sys.stderr)
            else:
                line.say("r", message.partition(), message.offset(), message.value().decode())

    def join(self, group, topic, *words):
        given, self.topic = line.options(words), topic
        config = {
            "bootstrap.servers": self.bootstrap, "group.id": group, "auto.offset.reset": "earliest", "enable.auto.commit": False,
            "heartbeat.interval.ms": 300, "session.timeout.ms": int(given["session"]), "fetch.wait.max.ms": 100,
            "partition.assignment.strategy": "cooperative-sticky" if given["strategy"] == "cooperative" else "range",
            "isolation.level": "read_committed" if "committed" in given else "read_uncommitted",
            "on_commit": lambda err, _: self.answers.append(err),
        }
        if "instance" in given:
            config["group.instance.id"] = given["instance"]
        self.consumer = Consumer(config)
        self.consumer.subscribe(
            [topic], on_assign=lambda _, p: line.assigned(p), on_revoke=lambda _, p: line.revoked(p), on_lost=lambda _, p: line.revoked(p),
        )

    def commit(self):
        self.consumer.commit(asynchronous=False)

    def commit_async(self):
        self.answers.clear()
        self.consumer.commit(asynchronous=True)
        while not self.answers:
            self.poll()
        if self.answers[0]:
            raise self.answers[0]

    def committed(self, partition):
        return self.consumer.committed([TopicPartition(self.topic, int(partition))], timeout=20)[0].offset

    def seek(self, partition, where):
        p = TopicPartition(self.topic, int(partition))
        if where == "beginning":
            p.offset = self.consumer.get_watermark_offsets(p, timeout=20)[0]
        elif where == "end":
            p.offset = self.consumer.get_watermark_offsets(p, timeout=20)[1]
        elif where.startswith("@"):
            p.offset = int(where[1:])
            p = self.consumer.offsets_for_times([p], timeout=20)[0]
        else:
            p.offset = int(where)
        self.consumer.seek(p)
        return p.offset

    def leave(self):
        self.consumer.close()
        self.consumer = None

    def producer(self, *words):
        given = line.options(words)
        config = {
            "bootstrap.servers": self.bootstrap, "compression.type": given.get("codec", "none"), "linger.ms": 20,
            "enable.idempotence": given.get("idempotent", "false"), "batch.num.messages": 50,
        }
        if "txn" in given:
            config.update({"transactional.id": given["txn"], "enable.idempotence": True})
        self.sender = Producer(config)
        if "txn" in given:
            self.sender.init_transactions(30)

    def produce(self, topic, partition, prefix, n):
        errors = []
        for i in range(int(n)):
            self.sender.produce(
                topic, f"{prefix}-{i}", "k", int(partition), on_delivery=lambda err, _: err and errors.append(err),
            )
        left = self.sender.flush(30)
        if left or errors:
            raise RuntimeError(f"{left} records not delivered, {errors[:1]}")

    def begin(self):
        self.sender.begin_transaction()

    def send_offsets(self):
        positions = [p for p in self.consumer.position(self.consumer.assignment()) if p.offset >= 0]
        self.sender.send_offsets_to_transaction(positions, self.consumer.consumer_group_metadata(), 30)

    def commit_txn(self):
        self.sender.commit_transaction(30)

    def abort_txn(self):
        self.sender.abort_transaction(30)

    def create(self, topic, partitions, replicas):
        self.admin.create_topics([NewTopic(topic, int(partitions), int(replicas))])[topic].result()

    def grow(self, topic, partitions):
        self.admin.create_partitions([NewPartitions(topic, int(partitions))])[topic].result()

    def partitions(self, topic):
        return len(self.admin.list_topics(topic, timeout=20).topics[topic].partitions)

    def set(self, topic, key, value):
        entry = ConfigEntry(key, value, incremental_operation=AlterConfigOpType.SET)
        resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[entry])
        self.admin.incremental_alter_configs([resource])[resource].result()

    def get(self, topic, key):
        resource = ConfigResource(ResourceType.TOPIC, topic)
        return self.admin.describe_configs([resource])[resource].result()[key].value

    def group(self, group):
        described = self.admin.describe_consumer_groups([group])[group].result()
        listed = self.admin.list_consumer_groups().result().valid
        return f"{len(described.members)} {sum(g.group_id == group for g in listed)}"

    def delete(self, topic):
        self.admin.delete_topics([topic])[topic].result()


line.run(Driver(sys.argv[1]))
