"""How a connection is secured: TLS, SASL, JAAS entries, key and trust stores.

Nothing here opens a socket, but for the HTTPS request of an OAuth token.
"""
