"""Conversations that chat templates are compared on: variables for one rendering each."""
import itertools

TOOLS = [
    {"type": "function", "function": {
        "name": "get_weather", "description": "The weather in a city, if it's > 10 & < 50 °C.",
        "parameters": {"type": "object", "properties": {
            "city": {"type": "string", "description": "Name of the city, e.g. \"Zürich\""},
            "days": {"type": "integer", "minimum": 1, "maximum": 7, "default": 3},
            "unit": {"type": "string", "enum": ["celsius", "fahrenheit"]}},
            "required": ["city"]}}},
    {"type": "function", "function": {
        "name": "search", "description": "Looks things up.\nSecond line.",
        "parameters": {"type": "object", "properties": {
            "query": {"type": "string"}, "limit": {"type": ["integer", "null"]},
            "filters": {"type": "array", "items": {"type": "object", "properties": {
                "field": {"type": "string"}, "value": {"type": "number"}}}},
            "nested": {"type": "object", "description": "deep", "properties": {
                "flag": {"type": "boolean", "description": "yes or no"}}, "required": ["flag"]}},
            "required": ["query", "filters"]},
        "return": {"type": "array", "items": {"type": "string"}}}},
    {"type": "function", "function": {
        "name": "now", "description": "The time.", "parameters": {"type": "object", "properties": {}}}},
]


def call(name, arguments, number):
    return {"id": f"call{number:05d}", "type": "function",
            "function": {"name": name, "arguments": arguments}}


SYSTEM = {"role": "system", "content": "You are kind.\n  Be brief. "}
WEATHER = call("get_weather", {"city": "Zürich", "days": 2, "rain": None, "t": 1.5, "ok": True}, 1)
SEARCH = call("search", {"query": "a \"b\" <c>", "filters": [{"field": "x", "value": 1e-05}],
                         "nested": {"flag": False}}, 2)

CHATS = {
    "one": [{"role": "user", "content": "Hi there"}],
    "spaces": [{"role": "user", "content": "  two\n\nlines \n"}],
    "unicode": [{"role": "user", "content": "né 天气 😀 <b>&amp;'\"</b> {{ x }} {% y %}"}],
    "two": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello."},
            {"role": "user", "content": "How are you?"}],
    "answered": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello."}],
    "long": [m for i in range(4) for m in (
        {"role": "user", "content": f"Question {i}?"}, {"role": "assistant", "content": f" Answer {i}. "})],
    "reasoning": [
        {"role": "user", "content": "2+2?"},
        {"role": "assistant", "reasoning_content": "Two and two.\n", "content": "4"},
        {"role": "user", "content": "And 3+3?"},
        {"role": "assistant", "reasoning_content": "Three\n\nand three.", "content": "6"}],
    "think_text": [
        {"role": "user", "content": "2+2?"},
        {"role": "assistant", "content": "<think>\nTwo.\n</think>\n\n4"},
        {"role": "user", "content": "Sure?"}],
    "tool": [
        {"role": "user", "content": "Weather?"},
        {"role": "assistant", "content": "", "tool_calls": [WEATHER]},
        {"role": "tool", "tool_call_id": "call00001", "name": "get_weather", "content": "{\"t\": 21}"},
        {"role": "assistant", "content": "It is 21 °C."}],
    "tool_open": [
        {"role": "user", "content": "Weather?"},
        {"role": "assistant", "content": "Let me see.", "tool_calls": [WEATHER]},
        {"role": "tool", "tool_call_id": "call00001", "name": "get_weather", "content": "21"}],
    "tools_parallel": [
        {"role": "user", "content": "Both?"},
        {"role": "assistant", "reasoning_content": "Two calls.", "content": "", "tool_calls": [WEATHER, SEARCH]},
        {"role": "tool", "tool_call_id": "call00001", "name": "get_weather", "content": "21"},
        {"role": "tool", "tool_call_id": "call00002", "name": "search", "content": "[\"x\", \"y\"]"},
        {"role": "assistant", "content": "Done."},
        {"role": "user", "content": "Thanks"}],
    "tool_no_content": [
        {"role": "user", "content": "Weather?"},
        {"role": "assistant", "tool_calls": [WEATHER]},
        {"role": "tool", "tool_call_id": "call00001", "content": "21"}],
    "parts": [{"role": "user", "content": [{"type": "text", "text": "Part one."},
                                           {"type": "text", "text": "Part two."}]}],
    "developer": [{"role": "developer", "content": "Be terse."}, {"role": "user", "content": "Hi"}],
    "out_of_order": [{"role": "assistant", "content": "I begin."}, {"role": "user", "content": "No"}],
    "odd_role": [{"role": "critic", "content": "Bah."}],
    "empty": [],
}

EXTRAS = [{}, {"enable_thinking": False}, {"enable_thinking": True, "reasoning_effort": "high"},
          {"custom_instructions": "x", "documents": [{"title": "T", "text": "D"}]}]


def all_variables():
    """(label, variables) of every rendering."""
    for (label, chat), system, tools, prompt in itertools.product(
            CHATS.items(), (False, True), (None, TOOLS), (False, True)):
        messages = ([SYSTEM] if system else []) + chat
        for number, extra in enumerate(EXTRAS):
            if number > 0 and (system or label not in ("two", "reasoning", "tools_parallel")):
                continue
            yield (f"{label} system={system} tools={tools is not None} prompt={prompt} extra={number}",
                   {"messages": messages, "tools": tools, "add_generation_prompt": prompt,
                    "bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>", **extra})
