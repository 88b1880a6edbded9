"""The driver of aiokafka. Its tasks run while a command or a poll does, which is nearly always."""

import asyncio
import sys

import line
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, ConsumerRebalanceListener, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.coordinator.assignors.range import RangePartitionAssignor


class Listener(ConsumerRebalanceListener):
    def on_partitions_assigned(self, assigned):
        line.assigned(assigned)

    def on_partitions_revoked(self, revoked):
        line.revoked(revoked)


class Driver:
    def __init__(self, bootstrap):
        self.bootstrap, self.consumer, self.sender = bootstrap, None, None
        self.wait = asyncio.new_event_loop().run_until_complete

    def poll(self):
        for records in self.wait(self.consumer.getmany(timeout_ms=50)).values():
            for r in records:
                line.say("r", r.partition, r.offset, r.value.decode())

    def join(self, group, topic, *words):
        given, self.topic, self.id = line.options(words), topic, group

        async def start():
            consumer = AIOKafkaConsumer(
                bootstrap_servers=self.bootstrap, group_id=group, auto_offset_reset="earliest", enable_auto_commit=False,
                heartbeat_interval_ms=300, session_timeout_ms=int(given["session"]), group_instance_id=given.get("instance"),
                partition_assignment_strategy=[RangePartitionAssignor],
                isolation_level="read_committed" if "committed" in given else "read_uncommitted",
            )
            consumer.subscribe([topic], listener=Listener())
            await consumer.start()
            return consumer

        self.consumer = self.wait(start())

    def commit(self):
        self.wait(self.consumer.commit())

    def committed(self, partition):
        offset = self.wait(self.consumer.committed(TopicPartition(self.topic, int(partition))))
        return -1 if offset is None else offset

    def seek(self, partition, where):
        p = TopicPartition(self.topic, int(partition))
        if where == "beginning":
            self.wait(self.consumer.seek_to_beginning(p))
        elif where == "end":
            self.wait(self.consumer.seek_to_end(p))
        elif where.startswith("@"):
            self.consumer.seek(p, self.wait(self.consumer.offsets_for_times({p: int(where[1:])}))[p].offset)
        else:
            self.consumer.seek(p, int(where))
        return self.wait(self.consumer.position(p))

    def leave(self):
        self.wait(self.consumer.stop())
        self.consumer = None

    def producer(self, *words):
        given = line.options(words)
        codec = given.get("codec", "none")

        async def start():
            if self.sender:
                await self.sender.stop()
            producer = AIOKafkaProducer(
                bootstrap_servers=self.bootstrap, acks="all", linger_ms=20, max_batch_size=1000,
                compression_type=None if codec == "none" else codec,
                enable_idempotence="txn" in given or given.get("idempotent") == "true", transactional_id=given.get("txn"),
            )
            await producer.start()
            return producer

        self.sender = self.wait(start())

    def produce(self, topic, partition, prefix, n):
        async def send():
            sent = [await self.sender.send(topic, f"{prefix}-{i}".encode(), b"k", int(partition)) for i in range(int(n))]
            await asyncio.wait_for(asyncio.gather(*sent), 30)

        self.wait(send())

    def begin(self):
        self.wait(self.sender.begin_transaction())

    def send_offsets(self):
        offsets = {p: self.wait(self.consumer.position(p)) for p in self.consumer.assignment()}
        self.wait(self.sender.send_offsets_to_transaction(offsets, self.id))

    def commit_txn(self):
        self.wait(self.sender.commit_transaction())

    def abort_txn(self):
        self.wait(self.sender.abort_transaction())

    def admin(self, call):
        async def run():
            client = AIOKafkaAdminClient(bootstrap_servers=self.bootstrap)
            await client.start()
            try:
                return await call(client)
            finally:
                await client.close()

        return self.wait(run())

    def create(self, topic, partitions, replicas):
        self.admin(lambda a: a.create_topics([NewTopic(topic, int(partitions), int(replicas))]))

    def grow(self, topic, partitions):
        self.admin(lambda a: a.create_partitions({topic: NewPartitions(int(partitions))}))

    def partitions(self, topic):
        return len(self.admin(lambda a: a.describe_topics([topic]))[0]["partitions"])

    def set(self, topic, key, value):
        self.admin(lambda a: a.alter_configs([ConfigResource(ConfigResourceType.TOPIC, topic, {key: value})]))

    def get(self, topic, key):
        answers = self.admin(lambda a: a.describe_configs([ConfigResource(ConfigResourceType.TOPIC, topic)]))
        return next(entry[1] for entry in answers[0].resources[0][4] if entry[0] == key)

    def group(self, group):
        described = self.admin(lambda a: a.describe_consumer_groups([group]))
        listed = self.admin(lambda a: a.list_consumer_groups())
        return f"{len(described[0].groups[0][5])} {sum(g[0] == group for g in listed)}"

    def delete(self, topic):
        self.admin(lambda a: a.delete_topics([topic]))


line.run(Driver(sys.argv[1]))
