"""Kafka message definitions and the two decoders made from them."""
