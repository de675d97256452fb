"""Ports of this machine."""

import socket


def free_ports(count=1):
    """Return different ports that no program uses."""
    servers = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [server.getsockname()[1] for server in servers]
    for server in servers:
        server.close()
    return ports
