#include "titan/text/jinja/template.h"

#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "titan/base/error.h"

namespace titan::text::jinja {
namespace {

constexpr std::time_t kTime = 1741089600;  // 2025-03-04 12:00 UTC

std::string render(
    const std::string& source,
    const Json& variables = Json::object(),
    const Limits& limits = {}) {
  Arena arena;
  std::vector<Variable> values;
  for (const auto& [name, value] : variables.items()) {
    values.push_back({name, to_value(value, {}, arena, name)});
  }
  return Template(source, "t", limits).render(values, kTime).text;
}

std::string error_of(
    const std::string& source,
    const Json& variables = Json::object(),
    const Limits& limits = {}) {
  try {
    (void)render(source, variables, limits);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

Json chat() {
  return {
      {"messages",
       {{{"role", "system"}, {"content", "S"}},
        {{"role", "user"}, {"content", "U1"}},
        {{"role", "assistant"}, {"content", "A1"}},
        {{"role", "user"}, {"content", "U2"}}}}};
}

// --- the field cases, by their numbers

TEST(TemplateField, C01SlicesWithSteps) {
  EXPECT_EQ(
      render("{% for m in messages[::-1] %}{{m.content}},{% endfor %}", chat()),
      "U2,A1,U1,S,");
  EXPECT_EQ(
      render("{{ 'abcdef'[4:0:-2] }} {{ [0,1,2,3,4][::2] }} {{ [0,1,2][-2:] }}"),
      "ec [0, 2, 4] [1, 2]");
  EXPECT_EQ(
      render(
          "{% for m in messages[1:] %}{{m.content}}"
          "{{ ',' if not loop.last }}{% endfor %}",
          chat()),
      "U1,A1,U2");
}

TEST(TemplateField, C02ConstructsOfRealTemplates) {
  EXPECT_EQ(
      render("{% set ns=namespace(n=0) %}{% for i in [1,2] %}{% set ns.n=ns.n+1 %}"
             "{% endfor %}{{ ns.n }}"),
      "2");
  EXPECT_EQ(
      render("{% set n=0 %}{% for i in [1,2] %}{% set n=n+1 %}{% endfor %}{{ n }}"), "0");
  EXPECT_EQ(
      render("{% macro f(a, b='d') %}<{{a}}:{{b}}>{% endmacro %}{{ f('a') }}{{ f('b', "
             "'c') }}"),
      "<a:d><b:c>");
  EXPECT_EQ(
      render("{% for i in [5,6,7] %}{{ loop.index0 }}{% if loop.index0 == 1 %}{% break %}"
             "{% endif %}{% endfor %}"),
      "01");
  EXPECT_EQ(render("{% set x %}a{{1+1}}b{% endset %}{{ x }}"), "a2b");
  EXPECT_EQ(
      render(
          "{{ messages|selectattr('role','equalto','user')|map(attribute='content')"
          "|join('+') }}",
          chat()),
      "U1+U2");
  EXPECT_EQ(render("{{ 'a</think>b</think>c'.split('</think>')[-1] }}"), "c");
  EXPECT_EQ(
      render(
          "{% for k, v in d|items %}{{ k }}={{ v }};{% endfor %}",
          {{"d", {{"b", 1}, {"a", 2}}}}),
      "b=1;a=2;");
}

TEST(TemplateField, C03GenerationTagsRenderAsIfAbsent) {
  EXPECT_EQ(
      render(
          "{% for m in messages %}{% generation %}{{ m.content }}{% endgeneration %}"
          "{% endfor %}",
          chat()),
      "SU1A1U2");
}

TEST(TemplateField, C04StrftimeNowHasAnInjectedClock) {
  EXPECT_EQ(render("{{ strftime_now('%d %b %Y') }}"), "04 Mar 2025");
}

TEST(TemplateField, C06TojsonIsThatOfTransformers) {
  const Json tool = {
      {"t",
       {{"name", "weather"},
        {"description", "if t > 10 & u < 5 (user's) é 天"},
        {"b", {1, 2.0, true, nullptr}}}}};
  EXPECT_EQ(
      render("{{ t|tojson }}", tool),
      R"({"name": "weather", "description": "if t > 10 & u < 5 (user's) é 天", "b": [1, 2.0, true, null]})");
  EXPECT_EQ(
      render("{{ t|tojson(indent=2) }}", {{"t", {{"z", 1}, {"a", Json::object()}}}}),
      "{\n  \"z\": 1,\n  \"a\": {}\n}");
  EXPECT_EQ(render("{{ 'a/b'|tojson }}"), "\"a/b\"");
  EXPECT_EQ(render("{{ t|tojson }}", {{"t", "\u2028\u0001"}}), "\"\u2028\\u0001\"");
}

TEST(TemplateField, C13AHostileTemplateIsStopped) {
  EXPECT_EQ(
      error_of("{{ ''.__class__.__mro__ }}"),
      "t:1:6: access to \"__class__\" is refused");
  EXPECT_EQ(
      error_of("{% for i in range(10**9) %}{% endfor %}"),
      "t:1:18: range: 1000000000 items, at most 100000");
  EXPECT_EQ(
      error_of("{% macro f(n) %}{{ f(n + 1) }}{% endmacro %}{{ f(0) }}"),
      "t:1:21: the limit of the depth of nested evaluation is reached");
}

// --- errors

TEST(Template, ErrorsHaveLineAndColumn) {
  EXPECT_EQ(
      error_of("a\n{% include 'x' %}"),
      "t:2:4: the tag \"include\" is not supported here");
  EXPECT_EQ(
      error_of("\n\n{{ x|nosuch }}"), "t:3:6: the filter \"nosuch\" is not supported");
  EXPECT_EQ(error_of("{{ x is nosuch }}"), "t:1:9: the test \"nosuch\" is not supported");
  EXPECT_EQ(error_of("{{ f(*x) }}"), "t:1:6: arguments with * are not supported");
  EXPECT_EQ(error_of("{{ cycler('a') }}"), "t: the function \"cycler\" is not supported");
  EXPECT_EQ(
      error_of("{% if x %}"), "t:1:11: expected \"endif\", got the end of the template");
  EXPECT_EQ(error_of("a\n  {{ x.y }}"), "t:2:7: \"x\" is undefined");
  EXPECT_EQ(
      error_of("{{ m.z.y }}", {{"m", {{"a", 1}}}}),
      "t:1:7: there is no attribute or item \"z\"");
  EXPECT_EQ(
      error_of("{{ raise_exception('why') }}"), "t:1:19: the template refuses: why");
  EXPECT_EQ(
      error_of("{{ 9223372036854775807 + 1 }}"),
      "t:1:24: an int beyond 64 bits is not supported");
  EXPECT_EQ(
      error_of("{{ l.append(1) }}", {{"l", Json::array()}}),
      "t:1:12: changing a list is refused");
  EXPECT_EQ(
      error_of("{{ f }}{% macro f() %}{% endmacro %}{{ f }}"),
      "t:1:40: a function cannot be printed");
}

TEST(Template, RefusesSourceThatIsNotUtf8) {
  EXPECT_EQ(error_of("ab\xFF"), "t:1:3: the template is not UTF-8");
}

TEST(Template, RefusesVariablesThatCannotBeValues) {
  EXPECT_EQ(error_of("{{ x }}", {{"x", {{"a", "\xFF"}}}}), "x: not UTF-8: byte 0 of 1");
  EXPECT_EQ(
      error_of("{{ x }}", {{"x", 9223372036854775808U}}),
      "x: the integer 9223372036854775808 is beyond 64 bits");
  Json deep = 1;
  for (int i = 0; i < 300; ++i) {
    deep = Json::array({deep});
  }
  EXPECT_EQ(error_of("{{ x }}", {{"x", deep}}), "x: nested deeper than 200 levels");
}

// --- limits

std::string repeat(std::string_view text, size_t times) {
  std::string result;
  for (size_t i = 0; i < times; ++i) {
    result += text;
  }
  return result;
}

TEST(TemplateLimits, Steps) {
  const std::string loops =
      "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}";
  EXPECT_EQ(error_of(loops), "t:1:45: the limit of the number of steps is reached");
  const std::string pairs =
      "{% set l = range(99999)|list %}{% for i in l %}{{ 'x' in l }}{% endfor %}";
  EXPECT_NE(error_of(pairs).find("number of steps"), std::string::npos);
  EXPECT_NE(
      error_of("{{ range(99999)|list|unique|list|length }}").find("number of steps"),
      std::string::npos);
}

TEST(TemplateLimits, SizeOfText) {
  EXPECT_EQ(
      error_of("{{ ('a' * 1000) * 100000 }}", {}, {.text = 1 << 20}),
      "t:1:17: the limit of the size of text is reached");
  EXPECT_EQ(
      error_of("{% for i in range(99) %}0123456789{% endfor %}", {}, {.text = 500}),
      "t:1:18: the limit of the size of text is reached");
  EXPECT_NE(
      error_of(
          "{% set ns = namespace(s='aaaaaaaa') %}"
          "{% for i in range(99) %}{% set ns.s = ns.s ~ ns.s %}{% endfor %}",
          {},
          {.text = 1 << 20})
          .find("the limit of the"),
      std::string::npos);
}

TEST(TemplateLimits, Memory) {
  EXPECT_NE(
      error_of("{% set ns = namespace(l=[0]) %}"
               "{% for i in range(40) %}{% set ns.l = ns.l + ns.l %}{% endfor %}")
          .find("the limit of the"),
      std::string::npos);
  EXPECT_NE(
      error_of("{{ [0] * 9223372036854775807 }}").find("number of steps"),
      std::string::npos);
  EXPECT_NE(
      error_of(
          "{% for i in range(99999) %}{% set s = 'aaaa'|list %}{% endfor %}",
          {},
          {.memory = 1 << 20})
          .find("the limit of the memory"),
      std::string::npos);
}

TEST(TemplateLimits, NestingOfTheSource) {
  for (const auto& [open, close] :
       {std::pair("(", ")"),
        std::pair("[", "]"),
        std::pair("{1:", "}"),
        std::pair("-", ""),
        std::pair("not ", ""),
        std::pair("f(", ")"),
        std::pair("x[", "]")}) {
    const std::string source =
        "{{ " + repeat(open, 100'000) + "1" + repeat(close, 100'000) + " }}";
    EXPECT_NE(error_of(source).find("nested deeper than"), std::string::npos) << open;
  }
  for (const char* chain :
       {" - 1", ".a", "|abs", " or 1", "[0]", "()", " ** 1", " * 1", " if 1"}) {
    const std::string source = "{{ 1" + repeat(chain, 100'000) + " }}";
    EXPECT_NE(error_of(source).find("nested deeper than"), std::string::npos) << chain;
  }
  EXPECT_NE(
      error_of(repeat("{% if 1 %}", 100'000)).find("nested deeper than"),
      std::string::npos);
  EXPECT_NE(
      error_of(repeat("{% if 1 %}{% else %}", 10'000)).find("nested deeper than"),
      std::string::npos);
  // Long, but not deep.
  EXPECT_EQ(render("{{ 1" + repeat(" ~ 1", 9999) + " }}").size(), 10'000U);
  EXPECT_EQ(render("{{ 1" + repeat(" + 1", 9999) + " }}"), "10000");
}

TEST(TemplateLimits, NestingOfValues) {
  EXPECT_NE(
      error_of("{% set ns = namespace(l=[]) %}"
               "{% for i in range(9999) %}{% set ns.l = [ns.l] %}{% endfor %}{{ ns.l }}")
          .find("nesting of values"),
      std::string::npos);
}

// --- marks

struct Part {
  std::string text;
  uint32_t source;
  uint32_t generation;

  bool operator==(const Part&) const = default;
};

std::ostream& operator<<(std::ostream& out, const Part& part) {
  return out << part.text << "@" << part.source << "/" << part.generation;
}

// The runs of what is printed; `a` is marked 1, `b` 2 and `d`, a dict, 3.
std::vector<Part> parts(const std::string& source, const Json& a, const Json& b = "B") {
  static const Json kDict = {{"k", "v"}, {"n", 5}};
  Arena arena;
  const std::vector<Variable> variables = {
      {"a", to_value(a, {1, 0}, arena, "a")},
      {"b", to_value(b, {2, 0}, arena, "b")},
      {"d", to_value(kDict, {3, 0}, arena, "d")}};
  const Output output = Template(source, "t").render(variables);
  std::vector<Part> parts;
  size_t begin = 0;
  for (const Run& run : output.runs) {
    parts.push_back(
        {output.text.substr(begin, run.end - begin),
         run.mark.source,
         run.mark.generation});
    begin = run.end;
  }
  EXPECT_EQ(begin, output.text.size());
  return parts;
}

using Parts = std::vector<Part>;

TEST(TemplateMarks, StayWithTheirBytes) {
  EXPECT_EQ(parts("x{{ a }}y", "A"), (Parts{{"x", 0, 0}, {"A", 1, 0}, {"y", 0, 0}}));
  EXPECT_EQ(
      parts("{{ '<' + a + b ~ '>' }}", "A"),
      (Parts{{"<", 0, 0}, {"A", 1, 0}, {"B", 2, 0}, {">", 0, 0}}));
  EXPECT_EQ(parts("{{ ('<' + a + '>')[1:] }}", "é"), (Parts{{"é", 1, 0}, {">", 0, 0}}));
  EXPECT_EQ(parts("{{ (' ' ~ a)|trim }}", " A "), (Parts{{"A", 1, 0}}));
  EXPECT_EQ(
      parts("{{ (a ~ '-' ~ b).split('-')|join('+') }}", "x-y"),
      (Parts{{"x", 1, 0}, {"+", 0, 0}, {"y", 1, 0}, {"+", 0, 0}, {"B", 2, 0}}));
  EXPECT_EQ(
      parts("{{ '[x]'.replace('x', a) }}", "A"),
      (Parts{{"[", 0, 0}, {"A", 1, 0}, {"]", 0, 0}}));
  EXPECT_EQ(parts("{{ (a ~ 'b')|upper }}", "x"), (Parts{{"X", 1, 0}, {"B", 0, 0}}));
  EXPECT_EQ(parts("{{ (a ~ 'b')|reverse }}", "x"), (Parts{{"b", 0, 0}, {"x", 1, 0}}));
  EXPECT_EQ(
      parts("{{ '<%s|%5s>' % (a, b) }}", "A"),
      (Parts{{"<", 0, 0}, {"A", 1, 0}, {"|    ", 0, 0}, {"B", 2, 0}, {">", 0, 0}}));
  EXPECT_EQ(
      parts("{{ '<{}>'.format(a) }}", "A"),
      (Parts{{"<", 0, 0}, {"A", 1, 0}, {">", 0, 0}}));
  EXPECT_EQ(
      parts("{% set x %}<{{ a }}>{% endset %}{{ x }}", "A"),
      (Parts{{"<", 0, 0}, {"A", 1, 0}, {">", 0, 0}}));
  EXPECT_EQ(
      parts("{% macro f(v) %}<{{ v }}>{% endmacro %}{{ f(a)|indent }}", "A\nB"),
      (Parts{{"<", 0, 0}, {"A", 1, 0}, {"\n    ", 0, 0}, {"B", 1, 0}, {">", 0, 0}}));
}

TEST(TemplateMarks, AreNeverLost) {
  // Where an operation cannot tell the bytes apart all of them count as data.
  EXPECT_EQ(parts("{{ ('É' ~ a)|lower }}", "X"), (Parts{{"éx", 1, 0}}));
  EXPECT_EQ(parts("{{ [a, 'x'] }}", "A").size(), 3U);
  EXPECT_EQ(parts("{{ [a, 1]|tojson }}", "A"), (Parts{{"[\"A\", 1]", 1, 0}}));
  EXPECT_EQ(parts("{{ d|tojson }}", ""), (Parts{{"{\"k\": \"v\", \"n\": 5}", 3, 0}}));
  EXPECT_EQ(parts("{% for k in d %}{{ k }}{% endfor %}", ""), (Parts{{"kn", 3, 0}}));
  EXPECT_EQ(
      parts("{{ ('{\"x\": \"' ~ a ~ '\"}')|from_json }}", "A"),
      (Parts{{"{", 0, 0}, {"'x'", 1, 0}, {": ", 0, 0}, {"'A'", 1, 0}, {"}", 0, 0}}));
  EXPECT_EQ(parts("{{ ('<' ~ a)|e }}", "<"), (Parts{{"&lt;&lt;", 1, 0}}));
}

TEST(TemplateMarks, GenerationBlocksAreNumbered) {
  EXPECT_EQ(
      parts(
          "{% generation %}{{ a }}.{% endgeneration %}"
          "{% generation %}{{ a }}{% endgeneration %}x",
          "A"),
      (Parts{{"A", 1, 1}, {".", 0, 1}, {"A", 1, 2}, {"x", 0, 0}}));
  EXPECT_EQ(
      parts(
          "{% macro f() %}<{% generation %}g{% endgeneration %}>{% endmacro %}"
          "{{ f()|upper }}",
          ""),
      (Parts{{"<", 0, 0}, {"G", 0, 1}, {">", 0, 0}}));
}

TEST(Template, TellsWhatItReads) {
  const Template source(
      "{% set a = 1 %}{{ tools }}{% generation %}{% endgeneration %}", "t");
  EXPECT_TRUE(source.reads("tools"));
  EXPECT_FALSE(source.reads("documents"));
  EXPECT_TRUE(source.has_generation());
}

TEST(Template, RendersOnSeveralThreads) {
  const Template source(
      "{% macro f(m) %}[{{ m.content }}]{% endmacro %}"
      "{% set ns = namespace(n=0) %}{% for m in messages %}{% set ns.n = ns.n + 1 %}"
      "{{ f(m) }}{% endfor %}{{ ns.n }}",
      "t");
  const Json variables = chat();
  std::vector<std::thread> threads;
  std::vector<std::string> results(4);
  for (std::string& result : results) {
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) {
        Arena arena;
        const std::vector<Variable> values = {
            {"messages", to_value(variables.at("messages"), {}, arena, "messages")}};
        result = source.render(values).text;
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(results, std::vector<std::string>(4, "[S][U1][A1][U2]4"));
}

}  // namespace
}  // namespace titan::text::jinja
