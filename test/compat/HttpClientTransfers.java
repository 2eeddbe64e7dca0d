import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;

/** Requests a URL as often as the second argument says, and prints how each request ended. */
class HttpClientTransfers {
    public static void main(String[] args) throws Exception {
        var client = HttpClient.newHttpClient();
        var request = HttpRequest.newBuilder(URI.create(args[0])).build();
        for (int count = 0; count < Integer.parseInt(args[1]); count++) {
            try {
                var response = client.send(request, BodyHandlers.ofByteArray());
                System.out.println(response.version() + " " + response.statusCode() + " " + response.body().length);
            } catch (IOException error) {
                System.out.println("broken off");
            }
        }
    }
}
