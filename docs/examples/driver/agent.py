#!/usr/bin/env python3
"""A tool loop for the Anthropic Messages API that conform drives, see docs/guides/driver.md."""
import base64, http.client, json, os, ssl, subprocess, sys, threading, time
from urllib.parse import urlsplit


class Unsupported(Exception):
    pass


class Tools:
    """A client of an MCP server on stdin and stdout."""

    def __init__(self, spec):
        env = dict(os.environ, **dict(e.split("=", 1) for e in spec.get("env") or []))
        self.server = subprocess.Popen(spec["command"], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.last = 0
        self.ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "agent.py", "version": "1"}})
        self.write({"jsonrpc": "2.0", "method": "notifications/initialized"})
        listed = self.ask("tools/list", {})["tools"]
        self.names = {"conform_" + t["name"].removeprefix("conform_"): t["name"] for t in listed}
        self.offered = [{"name": "conform_" + t["name"].removeprefix("conform_"), "description": t.get("description", ""),
                         "input_schema": t["inputSchema"]} for t in listed]

    def write(self, message):
        self.server.stdin.write(json.dumps(message) + "\n")
        self.server.stdin.flush()

    def ask(self, method, params):
        self.last += 1
        number = self.last
        self.write({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        for line in self.server.stdout:
            message = json.loads(line)
            if message.get("id") == number and "method" not in message:
                if "error" in message:
                    raise RuntimeError(message["error"]["message"])
                return message["result"]
        raise RuntimeError("the tool server has ended")

    def call(self, call):
        """The tool_result of one tool_use. A tool that fails is an answer, too."""
        result = {"type": "tool_result", "tool_use_id": call["id"]}
        try:
            said = self.ask("tools/call", {"name": self.names[call["name"]], "arguments": call["input"]})
        except (KeyError, RuntimeError) as error:
            return {**result, "content": f"error: {error}", "is_error": True}
        content = []
        for part in said.get("content", []):
            if part["type"] == "image":
                content.append({"type": "image", "source": {"type": "base64", "media_type": part["mimeType"], "data": part["data"]}})
            elif part.get("text"):
                content.append({"type": "text", "text": part["text"]})
        if content:
            result["content"] = content
        if said.get("isError"):
            result["is_error"] = True
        return result

    def close(self):
        self.server.kill()
        self.server.wait()


class Conversation:
    def __init__(self, opened):
        if opened["provider"] != "anthropic":
            raise Unsupported(f"this loop speaks to anthropic only, not to {opened['provider']}")
        self.opened = opened
        self.messages = opened.get("session") or []
        self.tools = Tools(opened["tools"]) if opened.get("tools", {}).get("command") else None
        self.interrupted = threading.Event()
        self.connection = None

    def connect(self):
        base = urlsplit(self.opened.get("base_url") or "https://api.anthropic.com")
        make = http.client.HTTPConnection
        options = {"timeout": 60}
        if base.scheme == "https":
            make, options["context"] = http.client.HTTPSConnection, ssl.create_default_context(cafile=self.opened.get("ca_file"))
        if self.opened.get("proxy"):
            proxy = urlsplit(self.opened["proxy"])
            connection = make(proxy.hostname, proxy.port, **options)
            headers = {}
            if proxy.username:
                word = f"{proxy.username}:{proxy.password or ''}".encode()
                headers["Proxy-Authorization"] = "Basic " + base64.b64encode(word).decode()
            connection.set_tunnel(base.hostname, base.port or 443, headers)
        else:
            connection = make(base.hostname, base.port, **options)
        return connection, base.path.rstrip("/") + "/v1/messages"

    def request(self):
        body = {"model": self.opened["model"], "max_tokens": 16000, "messages": self.messages}
        if self.opened.get("system"):
            body["system"] = self.opened["system"]
        if self.tools:
            body["tools"] = self.tools.offered
        if self.opened.get("effort") not in (None, "none"):
            if "-4-5" in body["model"]:
                body["thinking"] = {"type": "enabled", "budget_tokens": 4096}
            else:
                body["thinking"] = {"type": "adaptive"}
        return json.dumps(body).encode()

    def ask_model(self):
        """One reply. What a provider refuses for now is asked again."""
        headers = {"content-type": "application/json", "anthropic-version": "2023-06-01", "x-api-key": os.environ["ANTHROPIC_API_KEY"]}
        for attempt in range(4):
            if self.interrupted.is_set():
                raise InterruptedError
            self.connection, path = self.connect()
            try:
                self.connection.request("POST", path, self.request(), headers)
                response = self.connection.getresponse()
                reply = json.loads(response.read())
            finally:
                self.connection.close()
            if response.status == 200:
                return reply
            if response.status == 400 and "image" in reply["error"]["message"] and self.drop_images():
                continue
            if response.status not in (429, 500, 503, 504, 529) or attempt == 3:
                raise RuntimeError(f"{response.status}: {reply['error']['message']}")
            milliseconds = float(response.headers.get("retry-after-ms") or 0)
            time.sleep(min(milliseconds / 1000 or float(response.headers.get("retry-after") or 0.5), 5))

    def drop_images(self):
        """Puts a text in the place of each image of a tool, or every later request is refused too."""
        dropped = False
        for message in self.messages:
            for block in message["content"]:
                if block["type"] == "tool_result" and isinstance(block.get("content"), list):
                    for i, part in enumerate(block["content"]):
                        if part["type"] == "image":
                            block["content"][i] = {"type": "text", "text": "(an image that the provider refused)"}
                            dropped = True
        return dropped

    def add_prompt(self, text):
        if text:
            self.messages.append({"role": "user", "content": [{"type": "text", "text": text}]})

    def turn(self, text):
        self.add_prompt(text)
        while True:
            reply = self.ask_model()
            content, stop = reply["content"], reply["stop_reason"]
            if stop in ("max_tokens", "refusal", "model_context_window_exceeded"):
                while content and (stop == "refusal" or content[-1]["type"] != "text"):
                    content.pop()  # a refusal is not sent back, and neither is what may be half a call or thought
                kept = [block for block in content if block["type"] != "tool_use"]
                if kept:
                    self.messages.append({"role": "assistant", "content": kept})
                raise RuntimeError(f"the reply stopped with {stop}")
            if content:
                self.messages.append({"role": "assistant", "content": content})
            calls = [block for block in content if block["type"] == "tool_use"]
            if calls:
                self.messages.append({"role": "user", "content": [self.answer(call) for call in calls]})
            elif stop != "pause_turn":
                return "".join(block["text"] for block in content if block["type"] == "text")

    def answer(self, call):
        """Each call gets a result, also one that the user has called off."""
        if not self.interrupted.is_set() and self.tools:
            result = self.tools.call(call)
            if not self.interrupted.is_set():
                return result
        return {"type": "tool_result", "tool_use_id": call["id"], "content": "called off by the user", "is_error": True}

    def interrupt(self):
        self.interrupted.set()
        connection = self.connection
        if connection and connection.sock:
            connection.sock.shutdown(2)
        if self.tools:
            self.tools.close()  # ends the tool that runs; the next turn starts another server

    def run_turn(self, command, send):
        try:
            if self.interrupted.is_set():
                self.interrupted.clear()
                if self.tools:
                    self.tools = Tools(self.opened["tools"])
            send(command, type="ok", text=self.turn(command.get("input", "")), stop="end")
        except Exception as error:  # any error ends the turn and nothing else
            if self.interrupted.is_set():
                send(command, type="ok", text="", stop="interrupted")
            else:
                send(command, type="error", message=f"{type(error).__name__}: {error}")


def main():
    lock = threading.Lock()

    def send(command, **answer):
        with lock:
            print(json.dumps({"id": command["id"], **answer}), flush=True)

    conversation = running = None
    for line in sys.stdin:
        command = json.loads(line)
        kind = command.get("type")
        if kind != "interrupt" and running:
            running.join()
        try:
            if kind == "hello":
                send(command, type="hello_ok", name="example-python", version="1", providers=["anthropic"],
                     abilities=["tools", "resume", "turns", "interrupt", "model", "system"])
            elif kind in ("open", "resume"):
                conversation = Conversation(command)
                send(command, type="ok")
            elif kind == "turn":
                running = threading.Thread(target=conversation.run_turn, args=(command, send), daemon=True)
                running.start()
            elif kind == "interrupt":
                conversation.interrupt()
            elif kind == "export":
                send(command, type="ok", session=conversation.messages)
            elif kind == "close":
                if conversation and conversation.tools:
                    conversation.tools.close()
                send(command, type="ok")
                return
            # commands of newer versions are ignored
        except Unsupported as error:
            send(command, type="unsupported", reason=str(error))
        except Exception as error:
            send(command, type="error", message=f"{type(error).__name__}: {error}")


main()
