"""A loop for Anthropic's API with one tool. FORGET_SIGNATURES=1 gives it a bug that many have."""

import json
import os
import urllib.error
import urllib.request

TOOLS = [{"name": "echo", "description": "Returns the text.",
          "input_schema": {"type": "object", "properties": {"text": {"type": "string"}}}}]


def ask(messages):
    body = {"model": "claude-opus-4-5", "max_tokens": 8000, "thinking": {"type": "enabled", "budget_tokens": 2000},
            "tools": TOOLS, "messages": messages}
    headers = {"content-type": "application/json", "x-api-key": os.environ["ANTHROPIC_API_KEY"],
               "anthropic-version": "2023-06-01"}
    url = os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages"
    request = urllib.request.Request(url, json.dumps(body).encode(), headers)
    try:
        with urllib.request.urlopen(request) as reply:
            return json.load(reply)
    except urllib.error.HTTPError as refused:
        return {"content": [{"type": "text", "text": json.load(refused)["error"]["message"]}]}  # the test looks at it


def loop(prompt):
    messages = [{"role": "user", "content": prompt}]
    while True:
        content = ask(messages)["content"]
        if os.environ.get("FORGET_SIGNATURES"):
            content = [{name: value for name, value in block.items() if name != "signature"} for block in content]
        messages.append({"role": "assistant", "content": content})
        calls = [block for block in content if block["type"] == "tool_use"]
        if not calls:
            return "".join(block.get("text", "") for block in content)
        messages.append({"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": call["id"], "content": call["input"]["text"]} for call in calls]})
