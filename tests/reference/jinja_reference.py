"""jinja2 set up as Hugging Face's transformers sets it up for chat templates.

Shared by the scripts that compare titan's template engine with it or make vectors from it.
"""
import datetime
import json

import jinja2
import jinja2.ext
import jinja2.nodes
import jinja2.sandbox
import jinja2.utils

# What strftime_now() shows: 2025-03-04 12:00 UTC.
TIME = 1741089600


class Generation(jinja2.ext.Extension):
    """{% generation %} marks what the assistant writes; rendering it changes nothing."""
    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("_render"), [], [], body).set_lineno(line)

    def _render(self, caller):
        return caller()


class SafeNamespace(jinja2.utils.Namespace):
    """Refuses names with an underscore, as transformers does."""

    def __init__(*args, **kwargs):
        self, args = args[0], args[1:]
        attributes = dict(*args, **kwargs)
        for name in attributes:
            SafeNamespace.check(name)
        jinja2.utils.Namespace.__init__(self, attributes)

    def __setitem__(self, name, value):
        SafeNamespace.check(name)
        jinja2.utils.Namespace.__setitem__(self, name, value)

    @staticmethod
    def check(name):
        if isinstance(name, str) and name.startswith("_"):
            raise jinja2.exceptions.SecurityError(name)


def make_environment():
    environment = jinja2.sandbox.ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols])

    def raise_exception(message):
        raise jinja2.exceptions.TemplateError(message)

    def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
        return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators,
                          sort_keys=sort_keys)

    def strftime_now(pattern):
        return datetime.datetime.fromtimestamp(TIME).strftime(pattern)

    environment.filters["tojson"] = tojson
    # Not in transformers, but in llama.cpp, whose templates use it.
    environment.filters["from_json"] = json.loads
    environment.globals["raise_exception"] = raise_exception
    environment.globals["strftime_now"] = strftime_now
    environment.globals["namespace"] = SafeNamespace
    return environment


def render(template, variables):
    """{"text"} or {"error": message}; every exception is an error of the template."""
    try:
        return {"text": template.render(**variables)}
    except Exception as error:  # noqa: BLE001 - TypeError, UndefinedError, RecursionError, ...
        return {"error": f"{type(error).__name__}: {error}"}
