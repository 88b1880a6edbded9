// The driver of kafkajs.
const readline = require('readline');
const { Kafka, CompressionTypes, CompressionCodecs, ConfigResourceTypes, logLevel } = require('kafkajs');
const lz4 = require('lz4-napi');
const zstd = require('@bokuweb/zstd-wasm');

const codecs = {
  none: CompressionTypes.None, gzip: CompressionTypes.GZIP, snappy: CompressionTypes.Snappy, lz4: CompressionTypes.LZ4, zstd: CompressionTypes.ZSTD,
};
// kafkajs itself has gzip alone.
CompressionCodecs[CompressionTypes.Snappy] = require('kafkajs-snappy');
CompressionCodecs[CompressionTypes.LZ4] = () => ({
  compress: (encoder) => lz4.compressFrame(encoder.buffer),
  decompress: (buffer) => lz4.decompressFrame(buffer),
});
CompressionCodecs[CompressionTypes.ZSTD] = () => ({
  compress: async (encoder) => Buffer.from(zstd.compress(encoder.buffer)),
  decompress: async (buffer) => Buffer.from(zstd.decompress(buffer)),
});

const kafka = new Kafka({
  clientId: 'kafkajs', brokers: process.argv[2].split(','), logLevel: logLevel.WARN, retry: { initialRetryTime: 100, retries: 20 },
});
const say = (...words) => process.stdout.write(words.filter((w) => w !== undefined && w !== '').join(' ') + '\n');
const options = (words) => Object.fromEntries(words.map((w) => w.split('=', 2)));

let consumer, producer, transaction, group, topic, next, owned;

async function admin(call) {
  const client = kafka.admin();
  await client.connect();
  try {
    return await call(client);
  } finally {
    await client.disconnect();
  }
}

function own(partitions) {
  if (owned.length) say('-', ...owned);
  owned = partitions;
  if (owned.length) say('+', ...owned);
}

const positions = () => [{
  topic, partitions: owned.filter((p) => next[p] !== undefined).map((partition) => ({ partition, offset: next[partition] })),
}];

const commands = {
  async join(id, name, ...words) {
    const given = options(words);
    [group, topic, next, owned] = [id, name, {}, []];
    consumer = kafka.consumer({
      groupId: group, sessionTimeout: Number(given.session), heartbeatInterval: 300, maxWaitTimeInMs: 100, readUncommitted: !given.committed,
      // After a failure it joins as a new member, and the group waits so long for the one it was.
      rebalanceTimeout: 5000,
    });
    consumer.on(consumer.events.GROUP_JOIN, (e) => own(e.payload.memberAssignment[topic] || []));
    consumer.on(consumer.events.REBALANCING, () => own([]));
    await consumer.connect();
    await consumer.subscribe({ topic, fromBeginning: true });
    await consumer.run({
      autoCommit: false,
      eachMessage: async ({ partition, message }) => {
        next[partition] = String(BigInt(message.offset) + 1n);
        say('r', partition, message.offset, message.value.toString());
      },
    });
  },
  async commit() {
    await consumer.commitOffsets(positions()[0].partitions.map((p) => ({ topic, ...p })));
  },
  async committed(partition) {
    const [found] = await admin((a) => a.fetchOffsets({ groupId: group, topics: [topic] }));
    return found.partitions.find((p) => p.partition === Number(partition)).offset;
  },
  async seek(number, where) {
    const partition = Number(number);
    const at = (list) => list.find((p) => p.partition === partition);
    let offset = where;
    if (where === 'beginning') offset = at(await admin((a) => a.fetchTopicOffsets(topic))).low;
    else if (where === 'end') offset = at(await admin((a) => a.fetchTopicOffsets(topic))).high;
    else if (where[0] === '@') offset = at(await admin((a) => a.fetchTopicOffsetsByTimestamp(topic, Number(where.slice(1))))).offset;
    consumer.seek({ topic, partition, offset });
    next[partition] = offset;
    return offset;
  },
  async leave() {
    await consumer.disconnect();
    own([]);
  },
  async producer(...words) {
    const given = options(words);
    if (producer) await producer.disconnect();
    producer = kafka.producer({
      idempotent: given.idempotent === 'true' || 'txn' in given, transactionalId: given.txn,
      maxInFlightRequests: 'txn' in given ? 1 : undefined,
    });
    producer.compression = codecs[given.codec || 'none'];
    await producer.connect();
  },
  async produce(to, partition, prefix, n) {
    const all = Array.from({ length: Number(n) }, (_, i) => ({ partition: Number(partition), key: 'k', value: `${prefix}-${i}` }));
    while (all.length) { // several batches, so that their sequences matter
      await (transaction || producer).send({ topic: to, acks: -1, compression: producer.compression, messages: all.splice(0, 50) });
    }
  },
  async begin() { transaction = await producer.transaction(); },
  async 'send-offsets'() { await transaction.sendOffsets({ consumerGroupId: group, topics: positions() }); },
  async 'commit-txn'() { await transaction.commit(); transaction = undefined; },
  async 'abort-txn'() { await transaction.abort(); transaction = undefined; },
  async create(name, n, r) {
    await admin((a) => a.createTopics({ topics: [{ topic: name, numPartitions: Number(n), replicationFactor: Number(r) }] }));
  },
  async grow(name, n) { await admin((a) => a.createPartitions({ topicPartitions: [{ topic: name, count: Number(n) }] })); },
  async partitions(name) { return admin(async (a) => (await a.fetchTopicMetadata({ topics: [name] })).topics[0].partitions.length); },
  async set(name, key, value) {
    await admin((a) => a.alterConfigs({ resources: [{ type: ConfigResourceTypes.TOPIC, name, configEntries: [{ name: key, value }] }] }));
  },
  async get(name, key) {
    const answer = await admin((a) => a.describeConfigs({ resources: [{ type: ConfigResourceTypes.TOPIC, name }] }));
    return answer.resources[0].configEntries.find((e) => e.configName === key).configValue;
  },
  async group(id) {
    return admin(async (a) => {
      const described = (await a.describeGroups([id])).groups[0];
      return `${described.members.length} ${(await a.listGroups()).groups.filter((g) => g.groupId === id).length}`;
    });
  },
  async delete(name) { await admin((a) => a.deleteTopics({ topics: [name] })); },
};

(async () => {
  await zstd.init();
  for await (const text of readline.createInterface({ input: process.stdin })) {
    const [command, ...words] = text.split(' ');
    if (command === 'quit') break;
    try {
      say('ok', await commands[command](...words));
    } catch (err) {
      console.error(err);
      say('error', String(err).replaceAll('\n', ' '));
    }
  }
  process.exit(0);
})();
