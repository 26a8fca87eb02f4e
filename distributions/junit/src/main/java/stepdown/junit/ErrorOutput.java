package stepdown.junit;

import java.io.BufferedReader;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.Deque;

/** What a process writes to stderr: it goes to ours, and the last lines are kept. */
final class ErrorOutput {
    private static final int KEPT_LINES = 20;

    private final Deque<String> lines = new ArrayDeque<>();
    private final Thread reader;

    ErrorOutput(Process process) {
        reader = new Thread(() -> copy(process.errorReader()), "stderr of stepdown");
        reader.setDaemon(true);
        reader.start();
    }

    private void copy(BufferedReader output) {
        try (output) {
            for (String line; (line = output.readLine()) != null; ) {
                System.err.println(line);
                if (lines.size() == KEPT_LINES) lines.removeFirst();
                lines.addLast(line);
            }
        } catch (IOException closed) {
            // The process has been ended.
        }
    }

    /** When the process has ended. */
    String last() {
        try {
            reader.join();
        } catch (InterruptedException fault) {
            Thread.currentThread().interrupt();
        }
        return String.join("\n", lines);
    }
}
