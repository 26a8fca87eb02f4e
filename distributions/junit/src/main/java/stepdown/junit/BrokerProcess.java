package stepdown.junit;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * `stepdown serve --temporary`, from PATH or in a container. It ends with its standard input, which closes with this JVM however that
 * ends, and removes its log directory.
 */
final class BrokerProcess {
    private static final Pattern READY = Pattern.compile("stepdown listening on (\\S+), http \\S+, control (\\S+)");
    private static final int STOP_S = 20;
    private static final int TRIES = 20;

    final String bootstrap;
    final Control control;
    private final Process process;

    private BrokerProcess(Process process, String bootstrap, Control control) {
        this.process = process;
        this.bootstrap = bootstrap;
        this.control = control;
    }

    /** Returns when clients are served. Throws IllegalStateException with the reason. */
    static BrokerProcess start(Options options) {
        String image = options.image().isEmpty() ? environment("STEPDOWN_IMAGE", "") : options.image();
        try {
            return image.isEmpty() ? startFromPath(options) : startContainer(options, image);
        } catch (IOException fault) {
            throw new UncheckedIOException(fault);
        }
    }

    private static BrokerProcess startFromPath(Options options) throws IOException {
        Process process = run(List.of(environment("STEPDOWN", "stepdown")), options, List.of());
        Matcher ready = awaitReady(process);
        return new BrokerProcess(process, ready.group(1), new Control(ready.group(2), ""));
    }

    /** Ports of a container are the same inside and outside: clients are told them. */
    private static BrokerProcess startContainer(Options options, String image) throws IOException {
        int first = freePorts(options.brokers());
        int control = freePorts(1);
        int last = first + options.brokers() - 1;
        String token = UUID.randomUUID().toString();
        List<String> docker = List.of("docker", "run", "--rm", "--interactive", "--env", "STEPDOWN_ACT_AS",
                "--publish", "127.0.0.1:" + first + "-" + last + ":" + first + "-" + last,
                "--publish", "127.0.0.1:" + control + ":" + control, image);
        List<String> addresses = List.of("--listen", "0.0.0.0:" + first, "--control", "0.0.0.0:" + control,
                "-o", "advertised.listeners=PLAINTEXT://127.0.0.1:" + first, "-o", "stepdown.control.token=" + token);
        Process process = run(docker, options, addresses);
        awaitReady(process);
        String bootstrap = IntStream.rangeClosed(first, last).mapToObj(port -> "127.0.0.1:" + port).collect(Collectors.joining(","));
        return new BrokerProcess(process, bootstrap, new Control("127.0.0.1:" + control, token));
    }

    private static Process run(List<String> prefix, Options options, List<String> addresses) throws IOException {
        List<String> command = new ArrayList<>(prefix);
        command.addAll(List.of("serve", "--temporary", "--log-level", "warning", "--brokers", "" + options.brokers()));
        command.addAll(addresses);
        if (!options.racks().isEmpty()) command.addAll(List.of("--racks", String.join(",", options.racks())));
        if (!options.actAs().isEmpty()) command.addAll(List.of("--act-as", options.actAs()));
        for (String setting : options.config()) command.addAll(List.of("-o", setting));
        try {
            return new ProcessBuilder(command).start();
        } catch (IOException fault) {
            throw new IllegalStateException("cannot run " + prefix.get(0) + ": put stepdown into PATH, or name it by STEPDOWN, or a"
                    + " docker image by STEPDOWN_IMAGE", fault);
        }
    }

    private static Matcher awaitReady(Process process) throws IOException {
        ErrorOutput errors = new ErrorOutput(process);
        String line = Optional.ofNullable(process.inputReader().readLine()).orElse("");
        Matcher ready = READY.matcher(line);
        if (ready.matches()) return ready;
        process.destroy();
        throw new IllegalStateException("stepdown did not start, it said:\n" + (line + "\n" + errors.last()).strip());
    }

    /** The first of that number of ports in a row. */
    private static int freePorts(int number) throws IOException {
        for (int tries = 0; tries < TRIES; tries++) {
            List<ServerSocket> held = new ArrayList<>();
            try {
                held.add(new ServerSocket(0, 1, InetAddress.getLoopbackAddress()));
                int first = held.get(0).getLocalPort();
                for (int more = 1; more < number; more++) held.add(new ServerSocket(first + more, 1, InetAddress.getLoopbackAddress()));
                return first;
            } catch (IOException | IllegalArgumentException taken) {
                // Another port of the row is in use, or beyond the last one.
            } finally {
                for (ServerSocket socket : held) socket.close();
            }
        }
        throw new IOException("found no " + number + " free ports in a row");
    }

    private static String environment(String name, String otherwise) {
        return Optional.ofNullable(System.getenv(name)).orElse(otherwise);
    }

    /** Returns when it has ended. */
    void stop() {
        try {
            process.getOutputStream().close();
            if (!process.waitFor(STOP_S, TimeUnit.SECONDS)) process.destroyForcibly().waitFor();
        } catch (IOException fault) {
            throw new UncheckedIOException(fault);
        } catch (InterruptedException fault) {
            process.destroyForcibly();
            Thread.currentThread().interrupt();
        }
    }
}
