package stepdown.junit;

import java.util.List;

/**
 * What brokers begin with: their racks, in turn, settings as `key=value`, topics as `orders` or `orders:3` for three partitions, the release of Kafka
 * to act as ("": none), and the docker image ("": `stepdown` from PATH, or what STEPDOWN_IMAGE names).
 */
public record Options(int brokers, List<String> racks, List<String> config, List<String> topics, String actAs, String image) {
    public Options {
        racks = List.copyOf(racks);
        config = List.copyOf(config);
        topics = List.copyOf(topics);
    }

    /** One broker with nothing in it. */
    public Options() {
        this(1, List.of(), List.of(), List.of(), "", "");
    }
}
