import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.net.http.WebSocket;
import java.nio.ByteBuffer;
import java.security.MessageDigest;
import java.util.HexFormat;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.stream.IntStream;

/** Uses a service by Java's HTTP client; prints what it has seen. */
public class Client {
    private final HttpClient client;
    private final String url;

    private Client(String url, HttpClient.Version version) {
        this.url = url;
        this.client = HttpClient.newBuilder().version(version).followRedirects(HttpClient.Redirect.NORMAL).build();
    }

    public static void main(String[] args) throws Exception {
        new Client(args[0], HttpClient.Version.valueOf(args[1])).use();
    }

    private HttpRequest.Builder request(String path) {
        return HttpRequest.newBuilder(URI.create(url + path));
    }

    private void use() throws Exception {
        for (String path : List.of("/film", "/moved", "/chunked"))
            System.out.println(path + " film " + digest(client.send(request(path).build(), BodyHandlers.ofByteArray()).body()));

        for (String method : List.of("HEAD", "DELETE", "PATCH", "OPTIONS", "PROPFIND")) {
            var built = request("/method").method(method, HttpRequest.BodyPublishers.noBody()).header("x-text", "text").build();
            var response = client.send(built, BodyHandlers.ofString());
            System.out.println(response.statusCode() + " " + response.headers().firstValue("x-method") + " " + response.body());
        }
        for (int status : List.of(204, 304, 404, 500, 503))
            System.out.println(client.send(request("/status/" + status).build(), BodyHandlers.ofString()).statusCode());
        System.out.println(client.send(request("/early").build(), BodyHandlers.ofString()).body());

        byte[] bytes = new byte[20_000_000];
        var known = HttpRequest.BodyPublishers.ofByteArray(bytes);
        var unknown = HttpRequest.BodyPublishers.ofInputStream(() -> new ByteArrayInputStream(bytes));
        for (var body : List.of(known, unknown))
            System.out.println("upload " + client.send(request("/upload").POST(body).build(), BodyHandlers.ofString()).body());

        List<CompletableFuture<HttpResponse<String>>> calls = IntStream.range(0, 100)
            .mapToObj(index -> client.sendAsync(request("/call/" + index).build(), BodyHandlers.ofString()))
            .toList();
        for (var call : calls) System.out.println(call.join().body());

        for (String path : List.of("/cut/length", "/cut/chunked"))
            try {
                client.send(request(path).build(), BodyHandlers.ofByteArray());
                System.out.println("cut " + path + " complete");
            } catch (IOException error) {
                System.out.println("cut " + path + " failed");
            }
        System.out.println(echo());
    }

    /** Sends a message of two fragments over a WebSocket and returns the digest of what comes back. */
    private String echo() throws Exception {
        var received = new CompletableFuture<String>();
        var digest = MessageDigest.getInstance("SHA-256");
        var listener = new WebSocket.Listener() {
            @Override
            public CompletionStage<?> onBinary(WebSocket socket, ByteBuffer data, boolean last) {
                digest.update(data);
                if (last) received.complete(HexFormat.of().formatHex(digest.digest()));
                socket.request(1);
                return null;
            }
        };
        var socket = client.newWebSocketBuilder().buildAsync(URI.create(url.replaceFirst("^http", "ws") + "/echo"), listener).join();
        socket.sendBinary(ByteBuffer.wrap(new byte[700_000]), false).join();
        socket.sendBinary(ByteBuffer.wrap(new byte[300_000]), true).join();
        String result = received.get();
        socket.sendClose(WebSocket.NORMAL_CLOSURE, "").join();
        return "echo " + result;
    }

    private static String digest(byte[] bytes) throws Exception {
        return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(bytes));
    }
}
