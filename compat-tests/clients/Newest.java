import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.common.serialization.StringDeserializer;

/** What only the clients of 4.x ask for, and how a 3.9 broker refuses it: Newest BOOTSTRAP TOPIC. Prints a line for each question. */
public class Newest {
    interface Question {
        Object ask() throws Exception;
    }

    public static void main(String[] args) throws Exception {
        Map<String, Object> config = Map.of("bootstrap.servers", args[0], "group.id", "share",
            "request.timeout.ms", "60000", "default.api.timeout.ms", "120000");
        try (Admin admin = Admin.create(config)) {
            say("cluster", () -> admin.describeCluster().nodes().get().size());
            say("features", () -> admin.describeFeatures().featureMetadata().get().finalizedFeatures());
            say("groups", () -> admin.listGroups().all().get().size());
            say("topics", () -> admin.describeTopics(List.of(args[1])).allTopicNames().get().get(args[1]).partitions().size());
            say("client metrics", () -> admin.listClientMetricsResources().all().get().size());
            say("share group", () -> admin.describeShareGroups(List.of("share")).all().get());
        }
        say("share consumer", () -> {
            try (KafkaShareConsumer<String, String> consumer =
                     new KafkaShareConsumer<>(config, new StringDeserializer(), new StringDeserializer())) {
                consumer.subscribe(List.of(args[1]));
                for (int i = 0; i < 100; i++) {
                    consumer.poll(Duration.ofMillis(200));
                }
                return "no refusal";
            }
        });
    }

    private static void say(String name, Question question) {
        try {
            System.out.println(name + ": " + question.ask());
        } catch (ExecutionException e) {
            System.out.println(name + ": " + e.getCause());
        } catch (Exception e) {
            System.out.println(name + ": " + e);
        }
    }
}
