import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** The application's clients, the same for every Kafka; lines of it count for none. Settings are names and values in turn. */
final class Clients {
    static final Duration SOON = Duration.ofMillis(50);
    static final int DEADLINE_S = 60;

    private Clients() {}

    static KafkaProducer<String, String> producer(String bootstrap, Object... settings) {
        Map<String, Object> all = named(settings);
        all.put("bootstrap.servers", bootstrap);
        all.putIfAbsent("retry.backoff.ms", 5);
        return new KafkaProducer<>(all, new StringSerializer(), new StringSerializer());
    }

    static KafkaConsumer<String, String> consumer(String bootstrap, String group, Object... settings) {
        Map<String, Object> all = named(settings);
        all.put("bootstrap.servers", bootstrap);
        all.put("group.id", group);
        all.putIfAbsent("auto.offset.reset", "earliest");
        all.put("enable.auto.commit", false);
        return new KafkaConsumer<>(all, new StringDeserializer(), new StringDeserializer());
    }

    static Admin admin(String bootstrap) {
        return Admin.create(Map.<String, Object>of("bootstrap.servers", bootstrap));
    }

    static void createTopic(String bootstrap, String name, int partitions, int replicas, Map<String, String> config) {
        try (Admin admin = admin(bootstrap)) {
            admin.createTopics(List.of(new NewTopic(name, partitions, (short) replicas).configs(config))).all().get();
        } catch (ExecutionException | InterruptedException fault) {
            throw new AssertionError(fault);
        }
    }

    /** Where it was written. Throws what the send fails with. */
    static RecordMetadata send(KafkaProducer<String, String> producer, String topic, String value) throws Throwable {
        try {
            return producer.send(new ProducerRecord<>(topic, "42", value)).get();
        } catch (ExecutionException fault) {
            throw fault.getCause();
        }
    }

    static void sendAll(String bootstrap, String topic, String... values) throws Throwable {
        try (var producer = producer(bootstrap)) {
            for (String value : values) send(producer, topic, value);
        }
    }

    /** The next records, as many as are wanted, however long they take. */
    static List<ConsumerRecord<String, String>> take(KafkaConsumer<String, String> consumer, int wanted) {
        List<ConsumerRecord<String, String>> found = new ArrayList<>();
        long end = System.nanoTime() + DEADLINE_S * 1_000_000_000L;
        while (found.size() < wanted && System.nanoTime() < end) consumer.poll(SOON).forEach(found::add);
        return found;
    }

    static List<String> values(KafkaConsumer<String, String> consumer, int wanted) {
        return take(consumer, wanted).stream().map(ConsumerRecord::value).toList();
    }

    /** All values that committed transactions have written to a topic of one partition. */
    static List<String> stored(String bootstrap, String topic) {
        var partition = new org.apache.kafka.common.TopicPartition(topic, 0);
        try (var consumer = consumer(bootstrap, "reader", "isolation.level", "read_committed")) {
            consumer.assign(List.of(partition));
            consumer.seekToBeginning(List.of(partition));
            long end = consumer.endOffsets(List.of(partition)).get(partition);
            List<String> found = new ArrayList<>();
            while (consumer.position(partition) < end) consumer.poll(SOON).forEach(each -> found.add(each.value()));
            return found;
        }
    }

    static void awaitAssignment(KafkaConsumer<String, String> consumer) {
        while (consumer.assignment().isEmpty()) consumer.poll(SOON);
    }

    private static Map<String, Object> named(Object... settings) {
        Map<String, Object> all = new HashMap<>();
        for (int at = 0; at < settings.length; at += 2) all.put((String) settings[at], settings[at + 1]);
        return all;
    }
}
