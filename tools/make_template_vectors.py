#!/usr/bin/env python3
"""Makes titan/text/jinja/testdata/vectors.json with jinja2, set up as transformers sets it up.

    python3 -m venv venv && venv/bin/pip install jinja2==3.1.6
    venv/bin/python tools/make_template_vectors.py

Each case is a template with variables and what jinja2 makes of it: a text, or null where it raises.
"""
import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests/reference"))
from jinja_reference import TIME, make_environment, render  # noqa: E402

OUT = ROOT / "titan/text/jinja/testdata/vectors.json"

MESSAGES = [{"role": "system", "content": "S"}, {"role": "user", "content": "U1"},
            {"role": "assistant", "content": "A1"}, {"role": "user", "content": "U2"}]
VARIABLES = {
    "messages": MESSAGES, "n": 3, "x": 2.5, "big": 10**15, "s": "Hello World", "t": "né 天 😀", "e": "",
    "l": [3, 1, 2], "d": {"b": 1, "a": [1, 2.0, None], "items": 5}, "no": None, "yes": True,
    "words": ["b", "A", "c", "a"], "html": "<a href='x'>&\"</a>", "lines": "one\n\n  two\r\nthree\n",
    "tool": {"name": "weather", "description": "if t > 10 & u < 5 (user's) é 天",
             "b": [1, 2.0, True, None], "slash": "a/b", "odd": "\u2028\u0001\u007f\t\"\\"},
    "tree": [{"name": "a", "children": [{"name": "b", "children": []}, {"name": "c", "children": [
        {"name": "d", "children": []}]}]}],
}

WHITE_SPACE = [
    "a\n", "a\n\n", "\na", "a\r\nb\rc\n", "{% if yes %}\na\n{% endif %}\nb", "  {% if yes %}\n  a\n  {% endif %}\n",
    "x {% if yes %} a {% endif %} y", "x  {%- if yes -%}  a  {%- endif -%}  y", "  {%+ if yes %}a{% endif %}",
    "{% if yes +%}\na\n{%- endif +%}\n b", "  {{ n }}  \n  {{- n -}}  \n  x", "a {# c #} b\n{# c #}\nx  {#- c -#}  y",
    "   {# c #}\nx", "{% raw %}{{ n }} {% if %}{% endraw %}!", "{%- raw -%}  a  {%- endraw -%}  b",
    "{% raw %}\na\n{% endraw %}\nb", "\t{% set a = 1 %}\t{{ a }}", "a\n  {%- if yes %}\n b\n{%- endif %}",
    "{% for i in l %}\n  {{ i }}\n{% endfor %}\nend", "{{ '{{' }} {{ '%}' }}", "{{ {'a': {'b': 1}}['a']['b'] }}",
    "{%if yes%}a{%endif%}", "{{n}}{{-n}}", "\u00a0{% if yes %}\u2003x{%- endif %}", "a{% if yes %}\n\n\nb{% endif %}",
    "  {% if yes %}  {% endif %}  \n", "{{ n\n}}\n{{ s\n}}", "{#- only -#}", "{##}{% if yes %}{#-#}a{% endif %}",
]

EXPRESSIONS = [
    "n + 2 * 3 - 1", "7 // 2", "-7 // 2", "7 % 3", "-7 % 3", "7 % -3", "7.5 // 2", "-7.5 % 2", "2 ** 10", "2 ** -1",
    "2 ** 3 ** 2", "7 / 2", "6 / 2", "1 / 3", "0.1 + 0.2", "1e16", "1e15", "1.0", "1e-5", "1.5e300 * 1e10", "1e308 * 10",
    "100000000000000000.0", "0.0001", "123456789.123456789", "-0.0", "5 % 0", "1 // 0", "n / 0", "1_000", "big * 10",
    "'a' + 'b'", "'a' ~ 1 ~ none ~ true ~ 1.50", "'ab' * 3", "3 * 'ab'", "[1] + [2, 3]", "[0] * 3", "(1, 2) + (3,)",
    "'a' + 1", "1 + 'a'", "none + 1", "missing + 1", "missing ~ 'x'", "true + true", "-true", "- 3 | abs", "-(3)",
    "not n", "not missing", "n and s", "e or s", "no or missing or 'z'", "1 and 0 or 5", "not 1 == 2", "n == 3.0",
    "1 == true", "'a' == 'a'", "[1, 2] == [1, 2.0]", "(1,) == [1]", "none == missing", "missing == missing2", "1 < 2 < 3",
    "1 < 2 > 3", "3 > 2 >= 2 != 1", "'a' < 'b'", "'Z' < 'a'", "'é' > 'z'", "[1, 2] < [1, 3]", "(1,) < (1, 0)",
    "1 < 'a'", "none < 1", "missing < 1", "'ell' in s", "'' in s", "1 in l", "4 not in l", "'a' in d", "1 in d",
    "1 in s", "none in l", "1 in none", "'x' in missing", "2 in (1, 2)", "not 1 in l", "s if n else e", "s if e",
    "(s if e) is defined", "s if e else no if no else 'end'", "1 if 0 else 2 if 1 else 3", "[1, 'a', none, true, 1.0, [2]]",
    "(1, 'a')", "(1,)", "()", "[]", "{}", "1, 2", "{'a': 1, 'b': {'c': []}, 'a': 2}", "{1: 'x', none: 'y', 1.5: true}",
    "[\"it's\", 'a\"b', 'both \\' and \"', 'tab\\t', 'nl\\n', 'é', '\\x01', '\\u200b', '😀', '\\\\']",
    "{[1]: 2}", "'\\x41\\u00e9\\U0001F600\\101\\q\\'\\\"\\\n'", "'a' 'b'", "s[0]", "s[-1]", "s[20]", "s[20] is defined",
    "t[1]", "t[3]", "t[-1]", "t[1:4]", "t[::-1]", "t|length", "s[1:4]", "s[:-3]", "s[::2]", "s[4:0:-2]", "s[-3:]", "s[5:2]",
    "s[100:]", "s[:100]", "l[0]", "l[-1]", "l[5]", "l[::-1]", "l[::2]", "l[-2:]", "l[1:]", "l[5:1:-1]", "l[::0]", "l['a']",
    "(1, 2, 3)[1:]", "l[:n]", "l[none:2]", "l[1.0]", "d['b']", "d.b", "d.missing", "d['missing'].x", "d['items']",
    "d.a[1]", "d.a.1", "missing.x", "missing['x']", "missing()", "n.x", "n()", "s.missing", "messages[0].content",
    "messages[0]['role']", "d.get('b')", "d.get('z')", "d.get('z', 7)", "d.keys()|list", "d.values()|list", "d.items()|list",
    "d['items'] is callable", "{'a': 1}['items'] is callable", "{'a': 1}.items() | list", "d.keys()|length", "d.update({'z': 1})",
    "d.pop('a')", "l.append(4)", "l.pop()", "l.sort()", "l.index(2)", "l.index(9)", "l.count(1)", "l.copy()", "''.__class__.__mro__",
    "s.__len__()", "d.__class__.x", "range(3)|list", "range(1, 4)|list", "range(5, 0, -2)|list", "range(0)|list",
    "range(3)|length", "range(3)[1]", "range(1, 10**9)", "range(1, 2, 0)", "dict(a=1, b=2)", "dict({'a': 1}, a=2)",
    "1 is defined", "9223372036854775807", "true is sameas true", "s is sameas s", "1.0 is integer",
]

FILTERS = [
    "s|upper", "s|lower", "t|upper", "'straße'|upper", "'ÀB'|lower", "s|title", "'foo-bar (baz) it\\'s ünd'|title",
    "'hELLO wORLD'|capitalize", "''|capitalize", "'éa'|capitalize", "'  x '|trim", "'xxaxx'|trim('x')", "no|trim", "no|upper",
    "n|string + 'x'", "missing|upper", "missing|default('d')", "missing|d('d')", "no|default('d')", "no|default('d', true)",
    "e|default('d', boolean=true)", "missing|default", "missing.x|default('d')", "s|replace('l', 'L')", "s|replace('l', 'L', 2)",
    "s|replace('', '-')", "'aaa'|replace('aa', 'b')", "n|replace(3, 4)", "l|join", "l|join(', ')", "messages|join('+', attribute='content')",
    "l|join(1)", "[1, 'a', none, [2]]|join('|')", "s|join('.')", "d|join(',')", "missing|join", "l|length", "s|count", "d|length",
    "missing|length", "no|length", "n|length", "l|first", "l|last", "[]|first", "[]|first is defined", "s|first", "d|first",
    "missing|first is defined", "d|last", "s|list", "d|list", "no|list", "missing|list", "d|items|list", "missing|items|list",
    "s|items|list", "l|sort", "l|sort(reverse=true)", "words|sort", "words|sort(case_sensitive=true)", "words|sort(true)",
    "messages|sort(attribute='content')|map(attribute='content')|join(',')", "[1, 'a']|sort", "[2, 1.5, true]|sort",
    "s|sort|join", "d|dictsort", "{'B': 1, 'a': 2}|dictsort", "{'B': 1, 'a': 2}|dictsort(true)", "{'b': 1, 'a': 2}|dictsort(by='value')",
    "{'b': 1, 'a': 2}|dictsort(false, 'value', true)", "{'b': 1}|dictsort(by='x')", "l|dictsort", "l|reverse|list", "s|reverse", "t|reverse",
    "words|unique|list", "words|unique(true)|list", "[1, 1.0, true, 2]|unique|list", "messages|unique(attribute='role')|map(attribute='content')|list",
    "words|map('upper')|list", "words|map('replace', 'a', 'X')|join", "messages|map(attribute='role')|list", "messages|map(attribute='zzz')|list",
    "messages|map(attribute='zzz', default='-')|join", "l|map('string')|join('-')", "l|map('nofilter')|list", "no|map('upper')|list", "l|map|list",
    "[[1, 2], [3, 4]]|map('first')|list", "[[1, 2], [3]]|map(attribute=0)|list", "[{'a': {'b': [5]}}]|map(attribute='a.b.0')|list",
    "l|select|list", "[0, 1, '', 'a', none]|select|list", "[0, 1, none]|reject|list", "l|select('odd')|list", "l|reject('odd')|list",
    "l|select('gt', 1)|list", "l|select('notest')|list", "no|select('odd')|list", "[none, 1]|select('none')|list",
    "messages|selectattr('role', 'equalto', 'user')|map(attribute='content')|join('+')", "messages|selectattr('zzz')|list",
    "messages|rejectattr('role', 'eq', 'user')|map(attribute='content')|join('+')", "messages|selectattr('role', 'in', ['system'])|list|length",
    "messages|selectattr('tool_calls', 'defined')|list|length", "messages|selectattr|list", "l|sum", "[1.5, 2]|sum", "[]|sum", "l|sum(start=10)",
    "[{'v': 1}, {'v': 2}]|sum(attribute='v')", "[[1], [2]]|sum(start=[])", "['a']|sum", "l|min", "l|max", "words|min", "words|max(true)", "[]|min is defined",
    "messages|max(attribute='content')|tojson", "messages|groupby('role')|map('first')|list", "messages|groupby('role')|map(attribute='grouper')|join(',')",
    "(messages|groupby('role'))[1].list|length", "[{'a': 1}, {}]|groupby('a', default=0)|map('last')|map('length')|list",
    "'3'|int", "'3.9'|int", "'x'|int", "'x'|int(7)", "'0x1f'|int(base=16)", "'ff'|int(0, 16)", "3.9|int", "true|int", "no|int", "' 12 '|int", "'1_000'|int", "'1e3'|int",
    "missing|int", "l|int", "'2.5'|float", "'x'|float", "'x'|float(1.0)", "3|float", "'inf'|float", "'nan'|float", "'1_0.5'|float", "no|float", "-3|abs", "(-3)|abs", "-2.5|abs", "'a'|abs",
    "2.5|round", "3.5|round", "42.55|round(1)", "42.551|round(2)", "42|round", "1.1|round(0, 'ceil')", "1.19|round(1, 'floor')", "1.5|round(method='x')", "1234|round(-2)", "1255.0|round(-1)",
    "html|escape", "html|e", "html|safe", "'<b>'|safe + '<i>'", "'<i>' + '<b>'|safe", "('<b>'|safe) ~ '<i>'", "'<'|e|e", "lines|indent", "lines|indent(2)", "lines|indent(2, true)", "lines|indent(first=true, blank=true)",
    "lines|indent('> ')", "''|indent", "'a\\n'|indent(1)", "'a\\n\\n'|indent(1, blank=true)", "n|indent", "'%s-%s'|format('a', 1)", "'%05.2f|%-5d|%x|%+d'|format(3.14159, 42, 255, 7)", "'%s' % s", "'%s %s' % (1, [2])",
    "'%d' % 'a'", "'%s' % ()", "'%% %r' % 'x'", "'%5s|%-5s|%.2s' % ('é', 'é', '天天天')", "'%s'|format(1, 2)", "'%d' % 3.7", "'%e %g' % (12345.678, 0.00001)", "'%q' % 1", "'%03d' % -5",
    "n|tojson", "x|tojson", "s|tojson", "t|tojson", "html|tojson", "no|tojson", "yes|tojson", "tool|tojson", "tool|tojson(indent=2)", "{'z': 1, 'a': {}, 'e': [], 'l': [1, [2]]}|tojson(indent=4)", "{'z': 1, 'a': 2}|tojson(sort_keys=true)",
    "{'z': [1, 2]}|tojson(separators=(',', ':'))", "t|tojson(ensure_ascii=true)", "[1, 2]|tojson(true, 1)", "[1, {'a': 2}]|tojson(indent='\\t')", "[[], {}]|tojson(indent=0)", "missing|tojson", "range(2)|tojson", "l|map('string')|tojson",
    "{1: 2, none: 3, true: 4, 1.5: 5}|tojson", "(1, 2)|tojson", "1e400|tojson", "[0.1, 1e22, 1e-7, 100.0]|tojson", "d.items()|tojson", "'\\u2028\\x7f\\x1f/'|tojson", "[1, 2]|tojson(indent=none)", "namespace(a=1)|tojson",
    "s|nofilter", "s|upper|lower|title", "n|upper", "l|upper", "missing|string|length",
]

TESTS = [f"{value} is {test}" for value in ("n", "x", "s", "l", "d", "no", "yes", "missing", "(1, 2)", "range(2)", "d.items()", "l|map('string')", "namespace()")
         for test in ("defined", "undefined", "none", "string", "mapping", "sequence", "iterable", "number", "integer", "float", "boolean", "true", "false", "callable")] + [
    "4 is even", "3 is odd", "-3 is odd", "2.0 is even", "'a' is odd", "6 is divisibleby 3", "6 is divisibleby(4)", "5 is divisibleby 0", "1 is eq 1", "1 is equalto(1.0)", "1 is ne 2", "1 is lt 2", "2 is ge(2)",
    "'a' is in 'abc'", "4 is not in l", "'a' is lower", "'A1' is upper", "'1' is lower", "n is not none", "n is not defined or yes", "'upper' is filter", "'nofilter' is filter", "'odd' is test", "none is sameas none",
    "range is callable", "1 is nosuchtest", "n is defined and n is not none and n > 2", "n is lessthan 4 or false", "missing is string", "n is defined is none",
]

METHODS = [
    "s.upper()", "s.lower()", "s.title()", "\"they're bill's\".title()", "s.capitalize()", "'éÀ'.lower()", "'  a b '.strip()", "'  a '.lstrip() ~ '|'", "'  a '.rstrip() ~ '|'", "'xyaxy'.strip('xy')", "'\\n\\n<a>'.lstrip('\\n')", "'a\\u00a0'.strip()",
    "'é天é'.strip('é')", "s.split()", "' a  b '.split()", "s.split('o')", "s.split('o', 1)", "s.rsplit('o', 1)", "' a b  '.split(none, 1)", "' a  b '.rsplit(none, 1)", "'a,b,,c'.split(',')", "'a,b'.split(',', maxsplit=0)", "'abc'.split('')", "s.split(1)",
    "'a</think>b</think>c'.split('</think>')[-1]", "'a</think>b'.split('</think>')[0].rstrip('\\n').split('<think>')[-1].lstrip('\\n')", "''.split()", "''.split(',')", "'aaa'.rsplit('aa')", "s.startswith('Hell')", "s.startswith(('x', 'H'))", "s.startswith('ello', 1)",
    "s.endswith('World')", "s.endswith(('ld', 'x'))", "s.endswith('Hell', 0, 4)", "s.startswith(1)", "s.replace('l', '')", "s.replace('l', 'L', 1)", "s.replace('', '.')", "s.replace('l')", "s.find('o')", "s.find('o', 5)", "s.find('z')", "t.find('天')", "s.rfind('o')", "s.index('W')", "s.index('z')", "s.count('l')", "s.count('')", "t.count('', 3)",
    "', '.join(['a', 'b'])", "', '.join([1])", "'-'.join('abc')", "''.join(d)", "', '.join(words|map('upper'))", "lines.splitlines()", "lines.splitlines(true)", "'a\\x0bb\\u2028c'.splitlines()", "'foobar'.removeprefix('foo')", "'foobar'.removesuffix('bar')", "'foo'.removeprefix('x')", "'12'.isdigit()", "'1a'.isalnum()", "'²'.isdigit()", "'ab'.isalpha()", "''.isalpha()", "' '.isspace()", "'Ab'.isupper()", "'AB1'.isupper()", "'a-b'.partition('-')", "'a-b-c'.rpartition('-')", "'ab'.partition('-')",
    "'{} {}'.format('a', 1)", "'{1}{0}'.format('a', 'b')", "'{x}-{{}}'.format(x=none)", "'{}'.format()", "'{'.format(1)", "'a}'.format(1)", "s.nosuch()", "'a'.upper(1)", "'abc'.find('c', -2)", "'abc'.find('', 3)", "'abc'.find('', 4)", "'abcabc'.count('c', 1, -1)", "'abc'.startswith('', 4)",
]

STATEMENTS = [
    "{% set ns = namespace(n=0) %}{% for m in messages %}{% set ns.n = ns.n + 1 %}{% endfor %}{{ ns.n }}", "{% set n = 0 %}{% for m in messages %}{% set n = n + 1 %}{% endfor %}{{ n }}", "{% set n = 0 %}{% for m in messages %}{% set n = n + 1 %}{{ n }}{% endfor %}",
    "{% set ns = namespace() %}{{ ns.x }}{% set ns.x = 1 %}{{ ns.x }}{{ ns['x'] }}", "{% set ns = namespace({'a': 1}, b=2) %}{{ ns.a }}{{ ns.b }}", "{% set ns = namespace(_a=1) %}", "{% set ns = namespace() %}{% set ns._a = 1 %}", "{% set d.x = 1 %}", "{% set s.x %}a{% endset %}",
    "{% if yes %}{% set q = 1 %}{% endif %}{{ q }}", "{% if no %}{% set q = 1 %}{% endif %}{{ q }}|{{ q is defined }}", "{% if no %}a{% elif n == 3 %}b{% else %}c{% endif %}", "{% if no %}a{% elif e %}b{% else %}c{% endif %}", "{{ q }}{% set q = 1 %}{{ q }}", "{% set s = s ~ '!' %}{{ s }}", "{% set a, b = 1, 2 %}{{ a }}{{ b }}", "{% set (a, b) = [1, 2] %}{{ b }}{{ a }}", "{% set a, b = 1 %}", "{% set a, b = [1, 2, 3] %}",
    "{% set x %}a{{ 1 + 1 }}b{% endset %}{{ x }}", "{% set x | upper | replace('A', 'z') %}a{{ s }}{% endset %}{{ x }}", "{% set x %}{% set y = 1 %}{{ y }}{% endset %}{{ x }}{{ y }}", "{% set t = 1, %}{{ t }}", "{% set true = 1 %}", "{% filter upper %}a{{ s }}{% endfilter %}", "{% filter replace('a', 'b')|upper %}aXa{% endfilter %}", "{% filter nosuch %}{% endfilter %}", "{% with %}{% set w = 1 %}{{ w }}{% endwith %}{{ w }}", "{% with a = 1, b = n %}{{ a + b }}{% endwith %}{{ a }}", "{% set a = 5 %}{% with a = 1, b = a %}{{ a }}{{ b }}{% endwith %}",
    "{% for i in l %}{{ loop.index }}{{ loop.index0 }}{{ loop.revindex }}{{ loop.revindex0 }}{{ loop.first }}{{ loop.last }}{{ loop.length }}{{ loop.depth }}{{ loop.depth0 }};{% endfor %}", "{% for i in l %}{{ loop.previtem }}<{{ i }}>{{ loop.nextitem }} {% endfor %}", "{% for i in l %}{{ loop.previtem is defined }}{{ loop.nextitem is defined }} {% endfor %}", "{% for i in l %}{{ loop.cycle('a', 'b') }}{% endfor %}", "{% for i in [1, 1, 2, 2, 1] %}{{ loop.changed(i) }} {% endfor %}", "{% for i in l %}{{ loop.nosuch }}{% endfor %}|{{ loop }}", "{% for i in [] %}a{% else %}b{% endfor %}", "{% for i in l %}a{% else %}b{% endfor %}", "{% for i in missing %}a{% else %}b{% endfor %}", "{% for i in no %}a{% endfor %}", "{% for i in n %}a{% endfor %}",
    "{% for i in l if i > 1 %}{{ i }}{{ loop.index }}{{ loop.length }} {% else %}none{% endfor %}", "{% for i in l if i > 9 %}{{ i }}{% else %}none{% endfor %}", "{% for m in messages if m.role == 'user' %}{{ m.content }}{{ loop.last }}{% endfor %}", "{% for k, v in d.items() %}{{ k }}:{{ v }};{% endfor %}", "{% for k, v in d|items %}{{ k }}:{{ v }};{% endfor %}", "{% for k, v in d|dictsort %}{{ k }};{% endfor %}", "{% for k in d %}{{ k }}{% endfor %}", "{% for c in t %}[{{ c }}]{% endfor %}", "{% for a, b in [(1, 2), [3, 4]] %}{{ a }}{{ b }}{% endfor %}", "{% for a, (b, c) in [(1, (2, 3))] %}{{ a }}{{ b }}{{ c }}{% endfor %}", "{% for a, b in l %}{% endfor %}", "{% for a, b in ['xy'] %}{{ b }}{{ a }}{% endfor %}",
    "{% for i in range(10) %}{% if i == 3 %}{% break %}{% endif %}{{ i }}{% endfor %}", "{% for i in range(5) %}{% if i % 2 %}{% continue %}{% endif %}{{ i }}{% endfor %}", "{% for i in l %}{% for j in l %}{% if j == 1 %}{% break %}{% endif %}{{ i }}{{ j }} {% endfor %}{% endfor %}", "{% for i in l %}{% break %}{% else %}x{% endfor %}|", "{% for i in l %}{% for j in [] %}{% else %}{% break %}{% endfor %}{{ i }}{% endfor %}|", "{% break %}", "{% for i in l %}{{ i }}{% endfor %}{{ i }}", "{% set i = 9 %}{% for i in l %}{{ i }}{% endfor %}{{ i }}", "{% for i in l %}{% set j = i %}{{ j }}{% endfor %}{{ j }}", "{% for i in l %}{% if loop.first %}{% set q = 'f' %}{% endif %}{{ q }}{% endfor %}", "{% for i in l %}{% for j in 'ab' %}{{ loop.index }}{{ i }}{{ j }} {% endfor %}{{ loop.index }}{% endfor %}", "{% for m in messages[::-1] %}{{ m.content }},{% endfor %}", "{% for m in messages[1:] %}{{ m.content }}{% endfor %}", "{% for i in 1, 2 %}{{ i }}{% endfor %}", "{% for i in l if i is odd %}{{ i }}{% endfor %}", "{% for i in (l if yes else []) %}{{ i }}{% endfor %}", "{% for i in l|map('string') %}{{ loop.length }}{{ loop.last }}{% endfor %}", "{% set g = l|map('string') %}{{ g|list }}{{ g|list }}{% if g %}y{% endif %}", "{% if messages|selectattr('role', 'eq', 'zzz') %}a{% endif %}",
    "{% for n in tree recursive %}{{ n.name }}({{ loop(n.children) }}){{ loop.depth }}{% endfor %}", "{% for n in tree recursive %}{% set q = n.name %}{% if n.children %}{{ loop(n.children) }}{% endif %}{{ q }}{% else %}-{% endfor %}", "{% for n in tree %}{{ loop(n.children) }}{% endfor %}",
    "{% macro f(a, b='d') %}<{{ a }}:{{ b }}>{% endmacro %}{{ f('a') }}{{ f('b', 'c') }}{{ f(b=1, a=2) }}", "{% macro f(a) %}[{{ a }}]{% endmacro %}{{ f() }}", "{% macro f(a) %}{{ a.x }}{% endmacro %}{{ f() }}", "{% macro f(a) %}{% endmacro %}{{ f(1, 2) }}", "{% macro f(a) %}{% endmacro %}{{ f(b=1) }}", "{% macro f(a) %}{% endmacro %}{{ f(1, a=2) }}", "{% macro f(a, b=a) %}{{ a }}{{ b }}{% endmacro %}{{ f(1) }}", "{% macro f(a, b=n + 1) %}{{ a }}{{ b }}{% endmacro %}{% set n = 7 %}{{ f(1) }}", "{% macro f() %}{{ q }}{% endmacro %}{% set q = 1 %}{{ f() }}{% set q = 2 %}{{ f() }}", "{% macro f() %}{% set q = 1 %}{{ q }}{% endmacro %}{{ f() }}{{ q }}", "{% macro f(n) %}{% if n > 0 %}{{ n }}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(3) }}",
    "{% macro f(n) %}{{ f(n + 1) }}{% endmacro %}{{ f(0) }}", "{% macro f() %}{{ varargs }}{{ kwargs }}{% endmacro %}{{ f(1, 2, x=3) }}{{ f() }}", "{% macro f(a) %}{{ a }}{{ varargs|length }}{% endmacro %}{{ f(1, 2, 3) }}", "{% macro f() %}({{ caller() }}){% endmacro %}{% call f() %}x{{ n }}{% endcall %}", "{% macro f(l) %}{% for i in l %}{{ caller(i) }}{% endfor %}{% endmacro %}{% call(v) f([1, 2]) %}<{{ v }}>{% endcall %}", "{% macro f() %}{{ caller() }}{% endmacro %}{{ f() }}", "{% macro f() %}a{% endmacro %}{% call f() %}{% endcall %}", "{% macro f() %}{% if caller %}y{% else %}n{% endif %}{% endmacro %}{{ f() }}{% call f() %}{% endcall %}", "{% macro f(x) %}{{ x|upper }}{% endmacro %}{{ f('a') ~ f('b') }}{{ f('a')|length }}", "{% macro f() %}a\n{% endmacro %}{% set r = f() %}{{ r|trim }}|", "{% for i in l %}{% macro f() %}{{ i }}{{ loop.index }}{% endmacro %}{{ f() }}{% endfor %}", "{{ f() }}{% macro f() %}{% endmacro %}", "{% macro f(a, a2) %}{{ caller is defined }}{% endmacro %}{{ f() }}", "{% macro f(a=1, b) %}{% endmacro %}", "{% macro g(v) %}{{ v }}{% endmacro %}{% macro f(m) %}{{ m(1) }}{% endmacro %}{{ f(g) }}",
    "{% generation %}{{ s }}{% endgeneration %}", "{% for m in messages %}{% if m.role == 'assistant' %}{% generation %}{{ m.content }}{% endgeneration %}{% else %}{{ m.content }}{% endif %}{% endfor %}", "{% generation %}{% set q = 1 %}{{ q }}{% endgeneration %}{{ q }}", "{{ strftime_now('%d %b %Y') }}", "{{ raise_exception('no') }}", "{% if no %}{{ raise_exception('no') }}{% endif %}ok", "{% include 'x' %}", "{% nosuch %}", "{% if yes %}", "{% endif %}", "{{ n", "{{ n }", "{% for %}", "{{ 1 + }}", "{{ (1 }}", "{{ [1, }}", "{# open", "{{ 'open }}", "{{ n ! }}", "{{ ) }}", "{{ a b }}", "{{ f(a=1, 2) }}", "{% set %}", "{{}}", "{%%}", "{{ n.}}", "{{ n|}}", "{{ n is }}", "{% if %}{% endif %}", "{% else %}", "{{ 'a'.b.c }}",
]


def cases():
    for template in WHITE_SPACE + STATEMENTS:
        yield template
    for expression in EXPRESSIONS + FILTERS + TESTS + METHODS:
        yield "{{ " + expression + " }}"


def main():
    environment = make_environment()
    vectors = []
    for source in cases():
        try:
            template = environment.from_string(source)
        except Exception:  # noqa: BLE001
            vectors.append([source, None])
            continue
        vectors.append([source, render(template, VARIABLES).get("text")])
    OUT.parent.mkdir(exist_ok=True)
    lines = ",\n".join(json.dumps(vector, ensure_ascii=False) for vector in vectors)
    OUT.write_text(f'{{"time": {TIME},\n"variables": {json.dumps(VARIABLES, ensure_ascii=False)},\n'
                   f'"cases": [\n{lines}\n]}}\n', encoding="utf-8")
    print(f"{len(vectors)} cases, {sum(v[1] is None for v in vectors)} of them refused")


if __name__ == "__main__":
    main()
