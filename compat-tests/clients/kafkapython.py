"""The driver of kafka-python."""

import sys

import line
from kafka import ConsumerRebalanceListener, KafkaAdminClient, KafkaConsumer, KafkaProducer, OffsetAndMetadata, TopicPartition
from kafka.admin import ConfigResource, ConfigResourceType, NewPartitions, NewTopic
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.coordinator.assignors.range import RangePartitionAssignor


class Listener(ConsumerRebalanceListener):
    def on_partitions_assigned(self, assigned):
        line.assigned(assigned)

    def on_partitions_revoked(self, revoked):
        line.revoked(revoked)


class Driver:
    def __init__(self, bootstrap):
        self.bootstrap, self.consumer, self.sender = bootstrap.split(","), None, None

    def poll(self, timeout_ms=50):
        for records in self.consumer.poll(timeout_ms=timeout_ms).values():
            for r in records:
                line.say("r", r.partition, r.offset, r.value.decode())

    def join(self, group, topic, *words):
        given, self.topic = line.options(words), topic
        self.consumer = KafkaConsumer(
            bootstrap_servers=self.bootstrap, group_id=group, auto_offset_reset="earliest", enable_auto_commit=False,
            heartbeat_interval_ms=300, session_timeout_ms=int(given["session"]), group_instance_id=given.get("instance"),
            partition_assignment_strategy=[
                CooperativeStickyAssignor if given["strategy"] == "cooperative" else RangePartitionAssignor,
            ],
            isolation_level="read_committed" if "committed" in given else "read_uncommitted",
        )
        self.consumer.subscribe([topic], listener=Listener())
        # It joins a second time when it learns the topic's partitions late, and 3.0.12 then drops the assignment if poll's time is up
        # before the answer is there (base.py: join_group_async asks need_rejoin, which has become false). So the first polls are long.
        while not self.consumer.assignment():
            self.poll(3000)

    def commit(self):
        self.consumer.commit()

    def commit_async(self):
        answers = []
        self.consumer.commit_async(callback=lambda _, answer: answers.append(answer))
        while not answers:
            self.poll()
        if isinstance(answers[0], Exception):
            raise answers[0]

    def committed(self, partition):
        offset = self.consumer.committed(TopicPartition(self.topic, int(partition)))
        return -1 if offset is None else offset

    def seek(self, partition, where):
        p = TopicPartition(self.topic, int(partition))
        if where == "beginning":
            self.consumer.seek_to_beginning(p)
        elif where == "end":
            self.consumer.seek_to_end(p)
        elif where.startswith("@"):
            self.consumer.seek(p, self.consumer.offsets_for_times({p: int(where[1:])})[p].offset)
        else:
            self.consumer.seek(p, int(where))
        return self.consumer.position(p)

    def leave(self):
        self.consumer.close()
        self.consumer = None

    def producer(self, *words):
        given = line.options(words)
        codec = given.get("codec", "none")
        if self.sender:
            self.sender.close()
        self.sender = KafkaProducer(
            bootstrap_servers=self.bootstrap, acks="all", linger_ms=20, batch_size=1000, compression_type=None if codec == "none" else codec,
            enable_idempotence="txn" in given or given.get("idempotent") == "true", transactional_id=given.get("txn"),
        )
        if "txn" in given:
            self.sender.init_transactions()

    def produce(self, topic, partition, prefix, n):
        sent = [self.sender.send(topic, f"{prefix}-{i}".encode(), b"k", partition=int(partition)) for i in range(int(n))]
        self.sender.flush(timeout=30)
        for future in sent:
            future.get(timeout=30)

    def begin(self):
        self.sender.begin_transaction()

    def send_offsets(self):
        offsets = {p: OffsetAndMetadata(self.consumer.position(p), "", -1) for p in self.consumer.assignment()}
        self.sender.send_offsets_to_transaction(offsets, self.consumer.group_metadata())

    def commit_txn(self):
        self.sender.commit_transaction()

    def abort_txn(self):
        self.sender.abort_transaction()

    def admin(self, call):
        client = KafkaAdminClient(bootstrap_servers=self.bootstrap)
        try:
            return call(client)
        finally:
            client.close()

    def create(self, topic, partitions, replicas):
        self.admin(lambda a: a.create_topics([NewTopic(topic, int(partitions), int(replicas))]))

    def grow(self, topic, partitions):
        self.admin(lambda a: a.create_partitions({topic: NewPartitions(int(partitions))}))

    def partitions(self, topic):
        return len(self.admin(lambda a: a.describe_topics([topic]))[0]["partitions"])

    def set(self, topic, key, value):
        self.admin(lambda a: a.alter_configs([ConfigResource(ConfigResourceType.TOPIC, topic, {key: value})]))

    def get(self, topic, key):
        return self.admin(lambda a: a.describe_configs([ConfigResource(ConfigResourceType.TOPIC, topic)]))["topic"][topic][key]["value"]

    def group(self, group):
        described = self.admin(lambda a: a.describe_groups([group]))
        listed = self.admin(lambda a: a.list_groups())
        return f"{len(described[group]['members'])} {sum(g['group_id'] == group for g in listed)}"

    def delete(self, topic):
        self.admin(lambda a: a.delete_topics([topic]))


line.run(Driver(sys.argv[1]))
