package stepdown.junit;

import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/** A running broker or cluster. Clients connect to `bootstrap`; what is not a method here is asked by `ask`. */
public final class Kafka implements AutoCloseable {
    private final Options options;
    private final BrokerProcess process;
    private final Control control;

    private Kafka(Options options) {
        this.options = options;
        this.process = BrokerProcess.start(options);
        this.control = process.control;
        createTopics();
    }

    /** Returns when clients are served. Throws IllegalStateException with the reason. */
    public static Kafka start(Options options) {
        return new Kafka(options);
    }

    /** HOST:PORT of each broker, with commas between them. */
    public String bootstrap() {
        return process.bootstrap;
    }

    public Faults faults() {
        return new Faults(control);
    }

    public Clock clock() {
        return new Clock(control);
    }

    /** The requests of clients, in the order in which they came. */
    @SuppressWarnings("unchecked")
    public List<Request> requests() {
        List<Map<String, Object>> shown = (List<Map<String, Object>>) ask("GET", "requests", Map.of()).get("requests");
        return shown.stream().map(Request::of).toList();
    }

    /** Those of an API, such as `Produce`. */
    public List<Request> requests(String api) {
        return requests().stream().filter(each -> each.api().equals(api)).toList();
    }

    public void createTopic(String name, int partitions) {
        createTopic(name, partitions, Map.of());
    }

    public void createTopic(String name, int partitions, Map<String, ?> config) {
        ask("POST", "topics/create", Map.of("topic", name, "partitions", partitions, "config", config));
    }

    public void deleteTopic(String name) {
        ask("POST", "topics/delete", Map.of("topic", name));
    }

    /** Of a group that has no members, with its offsets. */
    public void deleteGroup(String name) {
        ask("POST", "groups/delete", Map.of("group", name));
    }

    /**
     * Returns when the group has that number of members, and each has fetched from every partition that it was given: what is produced
     * then is read by them. Throws AssertionError after ten seconds.
     */
    public void awaitConsumers(String group, int members) {
        Map<String, Object> answer = ask("POST", "groups/wait", Map.of("group", group, "members", members));
        if (answer.get("is_there").equals(false)) throw new AssertionError(answer.get("reason"));
    }

    /** Ends a broker at once; nothing is flushed. */
    public void kill(int broker) {
        ask("POST", "brokers/kill", Map.of("broker", broker));
    }

    /** Ends the broker that leads partition 0 of a topic, at once; needs several brokers. */
    public void killLeader(String topic) {
        ask("POST", "brokers/kill", Map.of("leader_of", topic));
    }

    /** Another in-sync replica of partition 0 of a topic leads; needs several brokers. */
    public void moveLeader(String topic) {
        ask("POST", "leaders/move", Map.of("topic", topic));
    }

    /** Stops a broker in order. */
    public void stop(int broker) {
        ask("POST", "brokers/stop", Map.of("broker", broker));
    }

    /** Starts a broker again, on its port and with its data. */
    public void start(int broker) {
        ask("POST", "brokers/start", Map.of("broker", broker));
    }

    /** The broker accepts and reads, and answers nobody. */
    public void pause(int broker) {
        ask("POST", "brokers/pause", Map.of("broker", broker));
    }

    /** It goes on. */
    public void resume(int broker) {
        ask("POST", "brokers/resume", Map.of("broker", broker));
    }

    /** Whatever the control port can do: `ask("POST", "leaders/take", Map.of("topic", "orders"))`. `GET /` of it lists all. */
    public Map<String, Object> ask(String method, String path, Map<String, ?> fields) {
        return control.ask(method, path, fields);
    }

    /**
     * Makes topics, groups, transactions, faults and clock as new, and starts brokers that do not run. Throws AssertionError naming the
     * faults that were armed, are not optional, and have never fired.
     */
    public void reset() {
        Map<String, Object> answer = ask("POST", "reset", Map.of());
        createTopics();
        throwUnfired(answer);
    }

    /** As `reset`, but topics, groups and transactions stay, and the clock runs on from where it is. */
    public void endTest() {
        throwUnfired(ask("POST", "reset", Map.of("keep_contents", true)));
    }

    @SuppressWarnings("unchecked")
    private static void throwUnfired(Map<String, Object> answer) {
        List<Map<String, Object>> unfired = (List<Map<String, Object>>) answer.get("unfired");
        if (!unfired.isEmpty()) {
            throw new AssertionError("armed and never fired (say optional if that is right): "
                    + unfired.stream().map(each -> each.get("fault") + ", " + each.get("near")).collect(Collectors.joining("; ")));
        }
    }

    /** What the brokers did last, a screen of lines at most: requests with their answers, faults, moves of the clock, elections, groups. */
    @SuppressWarnings("unchecked")
    List<String> lastEvents() {
        return (List<String>) ask("GET", "events/last", Map.of()).get("lines");
    }

    private void createTopics() {
        for (String topic : options.topics()) {
            String[] parts = topic.split(":");
            createTopic(parts[0], parts.length > 1 ? Integer.parseInt(parts[1]) : 1);
        }
    }

    /** Ends the brokers; nothing of them is left. */
    @Override
    public void close() {
        process.stop();
    }
}
