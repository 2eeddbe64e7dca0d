# Verifies the webhooks of two services, as their documents show it for Flask.
import sys

import stripe
from flask import Flask, request
from svix.webhooks import Webhook

SECRET = "c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0"
app = Flask(__name__)


@app.post("/stripe")
def receive_stripe():
    try:
        stripe.Webhook.construct_event(request.data, request.headers["stripe-signature"], SECRET)
    except stripe.SignatureVerificationError:
        return "", 400
    return "", 200


@app.post("/svix")
def receive_svix():
    try:
        Webhook(SECRET).verify(request.data, dict(request.headers))
    except Exception:
        return "", 400
    return "", 200


app.run(port=int(sys.argv[1]))
