// testdata/vectors.json holds what jinja2 makes of many small templates; see
// tools/make_template_vectors.py.

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "titan/base/error.h"
#include "titan/base/json.h"
#include "titan/text/jinja/template.h"

namespace titan::text::jinja {
namespace {

TEST(TemplateVectors, EqualToJinja2) {
  const Json vectors =
      read_json_file(TITAN_SOURCE_DIR "/titan/text/jinja/testdata/vectors.json");
  const auto time = vectors.at("time").get<std::time_t>();
  Arena arena;
  std::vector<Variable> variables;
  for (const auto& [name, value] : vectors.at("variables").items()) {
    variables.push_back({name, to_value(value, {}, arena, name)});
  }
  ASSERT_GT(vectors.at("cases").size(), 800U);
  for (const Json& entry : vectors.at("cases")) {
    const auto& source = entry.at(0).get_ref<const std::string&>();
    Json result;
    std::string message;
    try {
      result = Template(source, "t").render(variables, time).text;
    } catch (const Error& error) {  // a null in the vectors: jinja2 raises
      message = error.what();
    }
    EXPECT_EQ(result, entry.at(1)) << source << "\n" << message;
  }
}

}  // namespace
}  // namespace titan::text::jinja
