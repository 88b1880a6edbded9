import java.util.Properties;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.state.Stores;

/**
 * One instance of a Kafka Streams application with exactly_once_v2: Totals BOOTSTRAP APPLICATION STATE_DIR. It reads "KEY NUMBER"
 * from APPLICATION-in, groups by key over a repartition topic, and writes for each record "COUNT SUM" of its key to
 * APPLICATION-out. The totals are a store in memory with a changelog. It runs until it is killed.
 */
public class Totals {
    public static void main(String[] args) {
        String id = args[1];
        StreamsBuilder builder = new StreamsBuilder();
        builder.stream(id + "-in", Consumed.with(Serdes.ByteArray(), Serdes.String()))
            .groupBy((key, value) -> value.split(" ")[0], Grouped.with(Serdes.String(), Serdes.String()))
            .aggregate(() -> "0 0", (key, value, total) -> add(total, value),
                Materialized.<String, String>as(Stores.inMemoryKeyValueStore("totals"))
                    .withKeySerde(Serdes.String()).withValueSerde(Serdes.String()).withCachingDisabled())
            .toStream().to(id + "-out", Produced.with(Serdes.String(), Serdes.String()));

        Properties config = new Properties();
        config.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, args[0]);
        config.put(StreamsConfig.APPLICATION_ID_CONFIG, id);
        config.put(StreamsConfig.STATE_DIR_CONFIG, args[2]);
        config.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, StreamsConfig.EXACTLY_ONCE_V2);
        config.put(StreamsConfig.REPLICATION_FACTOR_CONFIG, 3);
        config.put(StreamsConfig.COMMIT_INTERVAL_MS_CONFIG, 100);
        config.put(StreamsConfig.topicPrefix("min.insync.replicas"), 2);
        config.put(StreamsConfig.consumerPrefix("session.timeout.ms"), 6000);
        config.put(StreamsConfig.consumerPrefix("heartbeat.interval.ms"), 500);
        config.put(StreamsConfig.consumerPrefix("auto.offset.reset"), "earliest");
        config.put(StreamsConfig.producerPrefix("transaction.timeout.ms"), 10000);
        KafkaStreams streams = new KafkaStreams(builder.build(), config);
        streams.setUncaughtExceptionHandler(e -> {
            e.printStackTrace();
            return StreamThreadExceptionResponse.REPLACE_THREAD;
        });
        streams.setStateListener((now, before) -> System.out.println("state " + now));
        streams.start();
    }

    private static String add(String total, String value) {
        String[] t = total.split(" ");
        return (Long.parseLong(t[0]) + 1) + " " + (Long.parseLong(t[1]) + Long.parseLong(value.split(" ")[1]));
    }
}
