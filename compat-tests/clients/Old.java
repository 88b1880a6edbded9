import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.Future;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;

/**
 * Writes n records, and from 0.11 on n in a transaction, reads them in a group and commits. Prints what it read.
 * Only calls that all of Apache's Java clients from 0.9 to 3.x have: Old BOOTSTRAP TOPIC N TRANSACTIONS
 */
public class Old {
    public static void main(String[] args) throws Exception {
        String topic = args[1];
        int n = Integer.parseInt(args[2]);
        boolean transactions = Boolean.parseBoolean(args[3]);
        write(config(args[0]), topic, n);
        if (transactions) {
            writeInTransaction(config(args[0]), topic, n);
        }
        read(config(args[0]), topic, transactions ? 2 * n : n);
    }

    private static Properties config(String bootstrap) {
        Properties config = new Properties();
        config.put("bootstrap.servers", bootstrap);
        for (String side : new String[] {"key", "value"}) {
            config.put(side + ".serializer", "org.apache.kafka.common.serialization.StringSerializer");
            config.put(side + ".deserializer", "org.apache.kafka.common.serialization.StringDeserializer");
        }
        return config;
    }

    private static void write(Properties config, String topic, int n) throws Exception {
        config.put("acks", "all");
        config.put("compression.type", "gzip");
        try (KafkaProducer<String, String> producer = new KafkaProducer<>(config)) {
            List<Future<RecordMetadata>> sent = new ArrayList<>();
            for (int i = 0; i < n; i++) {
                sent.add(producer.send(new ProducerRecord<>(topic, "k", "v-" + i)));
            }
            for (Future<RecordMetadata> s : sent) {
                s.get();
            }
        }
    }

    private static void writeInTransaction(Properties config, String topic, int n) throws Exception {
        config.put("transactional.id", topic);
        // By reflection, since 0.9 and 0.10 have none of these.
        try (KafkaProducer<String, String> producer = new KafkaProducer<>(config)) {
            call(producer, "initTransactions");
            for (String end : new String[] {"abortTransaction", "commitTransaction"}) {
                call(producer, "beginTransaction");
                for (int i = 0; i < n; i++) {
                    producer.send(new ProducerRecord<>(topic, "k", (end.startsWith("a") ? "a-" : "t-") + i));
                }
                producer.flush();
                call(producer, end);
            }
        }
    }

    private static void call(Object o, String method) throws Exception {
        o.getClass().getMethod(method).invoke(o);
    }

    @SuppressWarnings("deprecation") // poll(Duration) came with 2.0
    private static void read(Properties config, String topic, int n) throws Exception {
        config.put("group.id", topic);
        config.put("auto.offset.reset", "earliest");
        config.put("enable.auto.commit", "false");
        config.put("isolation.level", "read_committed");
        try (KafkaConsumer<String, String> consumer = new KafkaConsumer<>(config)) {
            subscribe(consumer, topic);
            long deadline = System.currentTimeMillis() + 60_000;
            for (int count = 0; count < n && System.currentTimeMillis() < deadline; ) {
                for (ConsumerRecord<String, String> r : consumer.poll(100)) {
                    System.out.println(r.value());
                    count++;
                }
            }
            consumer.commitSync();
        }
    }

    /** By reflection, since the parameter was a List in 0.9 and is a Collection now. */
    private static void subscribe(KafkaConsumer<String, String> consumer, String topic) throws Exception {
        for (Method m : consumer.getClass().getMethods()) {
            Class<?>[] types = m.getParameterTypes();
            if (m.getName().equals("subscribe") && types.length == 1 && types[0].isAssignableFrom(List.class)) {
                m.invoke(consumer, Collections.singletonList(topic));
                return;
            }
        }
        throw new NoSuchMethodException("subscribe");
    }
}
