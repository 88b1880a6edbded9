"""Writes n records, reads them back as a group of one and commits; prints what it read as JSON.

kafka_python.py BOOTSTRAP TOPIC API_VERSION CODEC N
"""

import json
import sys

from kafka import KafkaConsumer, KafkaProducer

bootstrap, topic, version, codec, n = sys.argv[1:]
api = tuple(int(part) for part in version.split("."))
codec = None if codec == "none" else codec
n = int(n)

producer = KafkaProducer(bootstrap_servers=bootstrap, api_version=api, acks="all", linger_ms=20, compression_type=codec)
sent = [producer.send(topic, key=b"k", value=b"py-%d" % i) for i in range(n)]
producer.flush(timeout=20)
offsets = [future.get(timeout=20).offset for future in sent]
assert offsets == list(range(n)), offsets
producer.close()

consumer = KafkaConsumer(
    topic, bootstrap_servers=bootstrap, api_version=api, group_id=topic + "-group",
    auto_offset_reset="earliest", enable_auto_commit=False, consumer_timeout_ms=20000,
)
values = []
for message in consumer:
    values.append(message.value.decode())
    if len(values) == n:
        break
consumer.commit()
consumer.close()
print(json.dumps(values))
