"""The Postern wire contract v1 in Python, written from its page and from nothing else.

Each file holds one concept. Nothing here opens a socket, reads a clock or keeps state.
"""
