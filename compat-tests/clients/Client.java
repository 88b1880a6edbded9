import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** The driver of Apache's Java clients, of any version from 3.0 on. doc.go has the protocol. */
public class Client {
    private static final int POLL_MS = 50;

    private final String bootstrap;
    private final BlockingQueue<String> commands = new LinkedBlockingQueue<>();
    private KafkaConsumer<String, String> consumer;
    private KafkaProducer<String, String> producer;
    private String topic;

    Client(String bootstrap) {
        this.bootstrap = bootstrap;
    }

    public static void main(String[] args) throws Exception {
        Client client = new Client(args[0]);
        Thread reader = new Thread(client::read);
        reader.setDaemon(true);
        reader.start();
        client.run();
    }

    private void read() {
        try (BufferedReader in = new BufferedReader(new InputStreamReader(System.in))) {
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                commands.add(line);
            }
        } catch (IOException e) {
            e.printStackTrace();
        }
        commands.add("quit");
    }

    private void run() throws InterruptedException {
        while (true) {
            String line = consumer == null ? commands.take() : commands.poll();
            if (line == null) {
                poll();
                continue;
            }
            if (line.equals("quit")) {
                return;
            }
            try {
                say("ok", execute(line.split(" ")));
            } catch (Exception e) {
                e.printStackTrace();
                say("error", String.valueOf(e).replace('\n', ' '));
            }
        }
    }

    private static void say(Object... words) {
        System.out.println(Arrays.stream(words).map(String::valueOf).filter(w -> !w.isEmpty()).collect(Collectors.joining(" ")));
    }

    private void poll() {
        for (ConsumerRecord<String, String> r : consumer.poll(Duration.ofMillis(POLL_MS))) {
            say("r", r.partition(), r.offset(), r.value());
        }
    }

    private String execute(String[] w) throws Exception {
        switch (w[0]) {
            case "join": return join(w);
            case "commit": consumer.commitSync(); return "";
            case "commit-async": return commitAsync();
            case "committed": return committed(partition(w[1]));
            case "seek": return seek(partition(w[1]), w[2]);
            case "leave": consumer.close(); consumer = null; return "";
            case "producer": return newProducer(w);
            case "produce": return produce(w);
            case "begin": producer.beginTransaction(); return "";
            case "send-offsets": producer.sendOffsetsToTransaction(positions(), consumer.groupMetadata()); return "";
            case "commit-txn": producer.commitTransaction(); return "";
            case "abort-txn": producer.abortTransaction(); return "";
            default: return admin(w);
        }
    }

    private Map<String, Object> config(String[] w, int from) {
        Map<String, Object> config = new HashMap<>();
        config.put("bootstrap.servers", bootstrap);
        for (int i = from; i < w.length; i++) {
            int eq = w[i].indexOf('=');
            config.put(w[i].substring(0, eq), w[i].substring(eq + 1));
        }
        return config;
    }

    private String join(String[] w) {
        topic = w[2];
        Map<String, Object> given = config(w, 3);
        Map<String, Object> config = config(w, w.length);
        config.put("group.id", w[1]);
        config.put("auto.offset.reset", "earliest");
        config.put("enable.auto.commit", "false");
        config.put("heartbeat.interval.ms", "300");
        config.put("session.timeout.ms", given.get("session"));
        config.put("partition.assignment.strategy", "cooperative".equals(given.get("strategy"))
            ? "org.apache.kafka.clients.consumer.CooperativeStickyAssignor" : "org.apache.kafka.clients.consumer.RangeAssignor");
        if (given.containsKey("instance")) {
            config.put("group.instance.id", given.get("instance"));
        }
        if (given.containsKey("committed")) {
            config.put("isolation.level", "read_committed");
        }
        consumer = new KafkaConsumer<>(config, new StringDeserializer(), new StringDeserializer());
        consumer.subscribe(List.of(topic), new ConsumerRebalanceListener() {
            @Override public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
                say("+", numbers(partitions));
            }

            @Override public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
                say("-", numbers(partitions));
            }
        });
        return "";
    }

    private static String numbers(Collection<TopicPartition> partitions) {
        return partitions.stream().map(p -> String.valueOf(p.partition())).collect(Collectors.joining(" "));
    }

    private TopicPartition partition(String number) {
        return new TopicPartition(topic, Integer.parseInt(number));
    }

    private String commitAsync() throws Exception {
        List<Exception> answer = new ArrayList<>();
        consumer.commitAsync((offsets, error) -> answer.add(error));
        while (answer.isEmpty()) {
            poll();
        }
        if (answer.get(0) != null) {
            throw answer.get(0);
        }
        return "";
    }

    private String committed(TopicPartition p) {
        OffsetAndMetadata o = consumer.committed(java.util.Set.of(p)).get(p);
        return o == null ? "-1" : String.valueOf(o.offset());
    }

    private String seek(TopicPartition p, String where) {
        if (where.equals("beginning")) {
            consumer.seekToBeginning(List.of(p));
        } else if (where.equals("end")) {
            consumer.seekToEnd(List.of(p));
        } else if (where.startsWith("@")) {
            consumer.seek(p, consumer.offsetsForTimes(Map.of(p, Long.parseLong(where.substring(1)))).get(p).offset());
        } else {
            consumer.seek(p, Long.parseLong(where));
        }
        return String.valueOf(consumer.position(p));
    }

    private Map<TopicPartition, OffsetAndMetadata> positions() {
        Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
        for (TopicPartition p : consumer.assignment()) {
            offsets.put(p, new OffsetAndMetadata(consumer.position(p)));
        }
        return offsets;
    }

    private String newProducer(String[] w) {
        Map<String, Object> given = config(w, 1);
        Map<String, Object> config = config(w, w.length);
        config.put("compression.type", given.getOrDefault("codec", "none"));
        config.put("enable.idempotence", given.getOrDefault("idempotent", "false"));
        config.put("batch.size", "1000"); // several batches, so that their sequences matter
        config.put("linger.ms", "5");
        if (producer != null) {
            producer.close();
        }
        if (given.containsKey("txn")) {
            config.put("transactional.id", given.get("txn"));
            config.put("enable.idempotence", "true");
        }
        producer = new KafkaProducer<>(config, new StringSerializer(), new StringSerializer());
        if (given.containsKey("txn")) {
            producer.initTransactions();
        }
        return "";
    }

    private String produce(String[] w) throws Exception {
        List<Future<RecordMetadata>> sent = new ArrayList<>();
        for (int i = 0; i < Integer.parseInt(w[4]); i++) {
            sent.add(producer.send(new ProducerRecord<>(w[1], Integer.parseInt(w[2]), "k", w[3] + "-" + i)));
        }
        producer.flush();
        for (Future<RecordMetadata> s : sent) {
            s.get();
        }
        return "";
    }

    private String admin(String[] w) throws Exception {
        try (Admin admin = Admin.create(config(w, w.length))) {
            switch (w[0]) {
                case "create":
                    admin.createTopics(List.of(new NewTopic(w[1], Integer.parseInt(w[2]), Short.parseShort(w[3])))).all().get();
                    return "";
                case "grow":
                    admin.createPartitions(Map.of(w[1], NewPartitions.increaseTo(Integer.parseInt(w[2])))).all().get();
                    return "";
                case "partitions":
                    return String.valueOf(admin.describeTopics(List.of(w[1])).allTopicNames().get().get(w[1]).partitions().size());
                case "set":
                    admin.incrementalAlterConfigs(Map.of(config(w[1]),
                        List.of(new AlterConfigOp(new ConfigEntry(w[2], w[3]), AlterConfigOp.OpType.SET)))).all().get();
                    return "";
                case "get":
                    return admin.describeConfigs(List.of(config(w[1]))).all().get().get(config(w[1])).get(w[2]).value();
                case "group":
                    return admin.describeConsumerGroups(List.of(w[1])).all().get().get(w[1]).members().size() + " "
                        + admin.listConsumerGroups().all().get().stream().filter(g -> g.groupId().equals(w[1])).count();
                case "delete":
                    admin.deleteTopics(List.of(w[1])).all().get();
                    return "";
                default:
                    throw new IllegalArgumentException("unknown command " + w[0]);
            }
        }
    }

    private static ConfigResource config(String topic) {
        return new ConfigResource(ConfigResource.Type.TOPIC, topic);
    }
}
