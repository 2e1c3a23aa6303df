"""A small OpenID provider on loopback: discovery, codes with PKCE, tokens, keys; and its failures.

It speaks the real protocol, and signs whoever ``subject`` names in without asking. What ``broken``
names goes wrong.
"""

import base64
import hashlib
import json
import secrets
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlencode, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa

__all__ = ["Provider"]


class Provider:
    """The provider: one client, one user at a time."""

    def __init__(self, client="studio", secret="s3cret of the client"):
        self.client, self.secret = client, secret
        self.subject, self.broken, self.now = "u-17", "", time.time
        self.codes, self.asked = {}, []
        self.rotate()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                outer.get(self)

            def do_POST(self):
                outer.post(self)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.issuer = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def rotate(self):
        self.key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        self.kid = secrets.token_hex(4)

    def get(self, request):
        place = urlsplit(request.path)
        query = {name: values[0] for name, values in parse_qs(place.query).items()}
        self.asked.append(place.path)
        if place.path == "/.well-known/openid-configuration":
            issuer = "http://127.0.0.1:1" if self.broken == "issuer" else self.issuer
            token = "http://192.0.2.1/token" if self.broken == "plain token" else None
            answer(request, 500 if self.broken == "discovery" else 200, {
                "issuer": issuer,
                "authorization_endpoint": f"{self.issuer}/authorize",
                "token_endpoint": token or f"{self.issuer}/token",
                "jwks_uri": f"{self.issuer}/keys",
            })  # fmt: skip
        elif place.path == "/keys":
            public = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(self.key.public_key()))
            answer(request, 200, {"keys": [{**public, "kid": self.kid, "use": "sig"}]})
        elif place.path == "/authorize":
            assert query["response_type"] == "code" and "openid" in query["scope"].split()
            assert query["client_id"] == self.client and query["code_challenge_method"] == "S256"
            code = secrets.token_urlsafe()
            self.codes[code] = query
            back = {"code": code, "state": query["state"], "iss": self.issuer}
            if self.broken == "denied":
                back = {"error": "access_denied", "state": query["state"]}
            elif self.broken == "state":
                back["state"] = "another"
            request.send_response(302)
            request.send_header("location", f"{query['redirect_uri']}?{urlencode(back)}")
            request.end_headers()
        else:
            answer(request, 404, {})

    def post(self, request):
        body = request.rfile.read(int(request.headers["content-length"])).decode()
        form = {name: values[0] for name, values in parse_qs(body).items()}
        asked = self.codes.pop(form.get("code"), None)  # a code is taken once
        given = request.headers.get("authorization", "").removeprefix("Basic ")
        wanted = base64.b64encode(f"{self.client}:{self.secret}".encode()).decode()
        digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        good = (
            asked is not None
            and challenge == asked["code_challenge"]
            and form["redirect_uri"] == asked["redirect_uri"]
            and form["grant_type"] == "authorization_code"
            and (given.replace("%20", " ") == wanted or self.secret == "")
        )
        if not good or self.broken == "token":
            answer(request, 400, {"error": "invalid_grant"})
        elif self.broken == "not json":
            answer(request, 200, None, b"<html>")
        else:
            token = self.token(asked["nonce"])
            answer(request, 200, {"access_token": "x", "token_type": "Bearer", "id_token": token})

    def token(self, nonce):
        now, broken = self.now(), self.broken
        claims = {"iss": self.issuer, "sub": self.subject, "aud": self.client, "nonce": nonce,
                  "iat": now, "exp": now + 300}  # fmt: skip
        claims |= {
            "nonce": {"nonce": "another"},
            "audience": {"aud": "another"},
            "shared": {"aud": [self.client, "another"], "azp": "another"},
            "expired": {"iat": now - 900, "exp": now - 600},
            "token issuer": {"iss": "http://127.0.0.1:1"},
            "nobody": {"sub": ""},
        }.get(broken, {})
        if broken == "unsigned":
            return jwt.encode(claims, None, algorithm="none")
        if broken == "confused":  # signed with what everybody knows, as if it were a secret
            return jwt.encode(claims, "k" * 32, algorithm="HS256", headers={"kid": self.kid})
        key = self.key
        if broken == "forged":
            key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        kid = "another" if broken == "key" else self.kid
        return jwt.encode(claims, key, algorithm="RS256", headers={"kid": kid})


def answer(request, status, body, raw=None):
    sent = raw if raw is not None else json.dumps(body).encode()
    request.send_response(status)
    request.send_header("content-type", "application/json")
    request.send_header("content-length", str(len(sent)))
    request.end_headers()
    request.wfile.write(sent)
