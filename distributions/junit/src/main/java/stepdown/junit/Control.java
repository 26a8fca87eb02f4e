package stepdown.junit;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.Map;

/** The control port of the brokers: JSON over HTTP. `GET /` of it lists what can be asked. */
final class Control {
    /** Longer than the longest wait that can be asked for. */
    private static final Duration TIMEOUT = Duration.ofMinutes(11);

    private final HttpClient client = HttpClient.newHttpClient();
    private final String address;
    private final String token;

    /** `token` "": none is asked for. */
    Control(String address, String token) {
        this.address = address;
        this.token = token;
    }

    /** Throws IllegalArgumentException with the reason where the brokers refuse, UncheckedIOException where none answers. */
    @SuppressWarnings("unchecked")
    Map<String, Object> ask(String method, String path, Map<String, ?> fields) {
        HttpRequest.Builder request = HttpRequest.newBuilder(URI.create("http://" + address + "/" + path))
                .timeout(TIMEOUT)
                .method(method, HttpRequest.BodyPublishers.ofString(Json.write(fields)));
        if (!token.isEmpty()) request.header("Authorization", "Bearer " + token);
        try {
            HttpResponse<String> response = client.send(request.build(), HttpResponse.BodyHandlers.ofString());
            Map<String, Object> answer = (Map<String, Object>) Json.parse(response.body());
            if (response.statusCode() != 200) throw new IllegalArgumentException((String) answer.get("error"));
            return answer;
        } catch (IOException fault) {
            throw new UncheckedIOException(method + " /" + path + " of " + address, fault);
        } catch (InterruptedException fault) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted while waiting for " + method + " /" + path, fault);
        }
    }
}
