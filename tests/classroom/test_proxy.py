"""data/class/nginx.conf in nginx: TLS in front of the server of a class."""

import http.client
import os
import shutil
import socket
import ssl
import subprocess
from contextlib import ExitStack

import gymnasium as gym
import pytest
from ports import free_ports
from small_class import SETTINGS
from waiting import wait_until

from pushlab.utils.files import data_dir
from pushlab_classroom import ClassDatabase, new_class, running_server

pytestmark = pytest.mark.slow


def program(name):
    """Return the path of a program. Without it the test is skipped, or fails if it is required."""
    path = shutil.which(name, path=os.environ["PATH"] + os.pathsep + "/usr/sbin")
    if path is None:
        required = os.environ.get("PUSHLAB_NGINX") == "required"
        (pytest.fail if required else pytest.skip)(f"there is no {name}")
    return path


def listens(port):
    with socket.socket() as line:
        return line.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture
def proxy(tmp_path, monkeypatch):
    """nginx with the shipped file on other ports: (TLS, the class's server)."""
    nginx = program("nginx")
    certificate = tmp_path / "cert.pem"
    command = [program("openssl"), "req", "-x509", "-newkey", "rsa:2048", "-nodes"]
    command += ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    command += ["-keyout", tmp_path / "key.pem", "-out", certificate]
    subprocess.run(command, check=True, capture_output=True)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    secure, plain, server = free_ports(3)
    site = (data_dir() / "class" / "nginx.conf").read_text("utf-8")
    letsencrypt = "/etc/letsencrypt/live/class.example.org"
    for shipped, here in (
        ("listen 443 ssl", f"listen 127.0.0.1:{secure} ssl"),
        ("listen 80;", f"listen 127.0.0.1:{plain};"),
        ("127.0.0.1:8000", f"127.0.0.1:{server}"),
        (f"{letsencrypt}/fullchain.pem", f"{certificate}"),
        (f"{letsencrypt}/privkey.pem", f"{tmp_path}/key.pem"),
        ("/var/log/nginx/class.log", f"{tmp_path}/class.log"),
    ):
        assert site.count(shipped) == 1, shipped
        site = site.replace(shipped, here)
    site = site.replace("class.example.org", "localhost")
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    paths = " ".join(f"{kind}_temp_path {tmp_path}/{kind};" for kind in kinds)
    log = tmp_path / "error.log"
    (tmp_path / "nginx.conf").write_text(
        f"pid {tmp_path}/pid; error_log {log}; daemon off; master_process off;\n"
        f"events {{}}\nhttp {{ {paths} {site} }}\n"
    )
    words = [nginx, "-p", tmp_path, "-e", log, "-c", tmp_path / "nginx.conf"]
    with subprocess.Popen(words) as process:
        wait_until(lambda: process.poll() is not None or listens(secure), "nginx")
        assert process.poll() is None, log.read_text()
        yield secure, server
        process.terminate()
    log = (tmp_path / "class.log").read_text()
    assert '"POST /api/steps" 200' in log
    assert "Bearer" not in log


def test_a_class_is_played_through_nginx_with_tls(proxy, tmp_path):
    secure, port = proxy
    folder = tmp_path / "class"
    [token] = new_class(folder, ["ann"], **SETTINGS).values()
    context = ssl.create_default_context()
    line = http.client.HTTPSConnection("localhost", secure, context=context)

    def ask(path, **headers):
        line.request("GET", path, headers=headers)
        answer = line.getresponse()
        return answer.status, answer.headers, answer.read()

    options = {"port": port, "behind_proxy": True, "strangers": 1}
    with running_server(folder, **options), ExitStack() as stack:
        for _ in range(300):  # strangers, who send nothing
            stack.enter_context(socket.create_connection(("127.0.0.1", secure)))
        url = f"https://localhost:{secure}"
        env = gym.make("pushlab/Remote-v0", url=url, token=token, scored=True)
        env.reset()
        rewards = [env.step([0] * 7)[1] for _ in range(30)]
        env.close()
        status, headers, body = ask("/")
        assert status == 200 and b"ann" in body
        assert headers["Strict-Transport-Security"]
        # A client's own X-Forwarded-For is not believed: all count as one address.
        addresses = [{"X-Forwarded-For": f"10.0.0.{number}"} for number in range(8)]
        assert 429 in [ask("/api/games/push", **one)[0] for one in addresses]
    status, headers, _ = ask("/api/games/push")
    assert (status, headers["Retry-After"]) == (503, "2")
    assert ClassDatabase(folder).steps(1)["reward"].tolist() == rewards
