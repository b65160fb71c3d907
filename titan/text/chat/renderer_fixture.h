#pragma once
// For tests: a byte tokenizer (id = byte) with control tokens from id 256, and templates
// in the manner of the model families.

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "titan/base/files.h"
#include "titan/base/json.h"
#include "titan/text/byte_tokenizer_fixture.h"
#include "titan/text/chat/renderer.h"
#include "titan/text/tokenizer.h"

namespace titan::text::chat {

struct Family {
  std::string name;
  std::string chat_template;
  std::vector<std::string> control_tokens;
  std::string eos;  // one of them
  std::string bos = {};
};

// A model folder's tokenizer. Every control token is an added one, also in plain text.
inline Tokenizer make_tokenizer(const Family& family) {
  const fs::path folder = fs::path(testing::TempDir()) / ("chat_" + family.name);
  fs::remove_all(folder);
  fs::create_directories(folder);
  Json added = Json::array();
  for (size_t i = 0; i < family.control_tokens.size(); ++i) {
    added.push_back(
        added_token_json(static_cast<int>(256 + i), family.control_tokens[i]));
  }
  Json config = {{"chat_template", family.chat_template}};
  if (!family.eos.empty()) {
    config["eos_token"] = family.eos;
  }
  if (!family.bos.empty()) {
    config["bos_token"] = family.bos;
  }
  write_file_atomic(
      folder / "tokenizer.json",
      byte_tokenizer_json({}, {{"added_tokens", added}}).dump());
  write_file_atomic(folder / "tokenizer_config.json", config.dump());
  return Tokenizer::from_folder(folder);
}

inline Renderer make_renderer(const Family& family, const RendererOptions& options = {}) {
  return Renderer(make_tokenizer(family), options);
}

// A JSON list; braces around one object would be that object.
template <class... Items>
Json list(Items&&... items) {
  return Json::array({Json(std::forward<Items>(items))...});
}

inline Json message(const std::string& role, const std::string& content) {
  return {{"role", role}, {"content", content}};
}

// The text that each range of tokens stands for.
inline std::vector<std::string> texts(
    const Renderer& renderer,
    const std::vector<int32_t>& ids,
    const std::vector<TokenRange>& ranges) {
  std::vector<std::string> result;
  for (const TokenRange& range : ranges) {
    result.push_back(renderer.tokenizer().decode(
        std::span(ids).subspan(range.begin, range.end - range.begin)));
  }
  return result;
}

// ChatML with tools in Hermes' form, in the manner of Qwen3: reasoning is kept after the
// last user message only.
inline Family chatml() {
  return {
      "chatml",
      R"({%- if tools %}{{- '<|im_start|>system\n# Tools\n' }}
{%- for tool in tools %}{{- tool | tojson }}{{- '\n' }}{%- endfor %}
{{- '<tool_call>{"name": ..., "arguments": ...}</tool_call><|im_end|>\n' }}
{%- endif %}
{%- set ns = namespace(last_query=-1) %}
{%- for m in messages %}{%- if m.role == 'user' %}{%- set ns.last_query = loop.index0 %}{%- endif %}{%- endfor %}
{%- for m in messages %}
  {%- if m.role == 'assistant' %}
    {{- '<|im_start|>assistant\n' }}
    {%- if m.reasoning_content and loop.index0 > ns.last_query %}
      {{- '<think>\n' + m.reasoning_content.strip('\n') + '\n</think>\n\n' }}
    {%- endif %}
    {{- m.content }}
    {%- for call in m.tool_calls %}
      {{- '\n<tool_call>\n{"name": "' + call.function.name + '", "arguments": ' }}
      {{- call.function.arguments | tojson }}
      {{- '}\n</tool_call>' }}
    {%- endfor %}
    {{- '<|im_end|>\n' }}
  {%- elif m.role == 'tool' %}
    {%- if loop.first or loop.previtem.role != 'tool' %}{{- '<|im_start|>user' }}{%- endif %}
    {{- '\n<tool_response>\n' + m.content + '\n</tool_response>' }}
    {%- if loop.last or loop.nextitem.role != 'tool' %}{{- '<|im_end|>\n' }}{%- endif %}
  {%- else %}
    {{- '<|im_start|>' + m.role + '\n' + m.content + '<|im_end|>\n' }}
  {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
  {{- '<|im_start|>assistant\n' }}
  {%- if enable_thinking is defined and not enable_thinking %}{{- '<think>\n\n</think>\n\n' }}{%- endif %}
{%- endif %})",
      {"<|im_start|>",
       "<|im_end|>",
       "<|endoftext|>",
       "<think>",
       "</think>",
       "<tool_call>",
       "</tool_call>"},
      "<|im_end|>"};
}

// In the manner of Llama 3: BOS from the template, trimmed text.
inline Family llama3() {
  return {
      "llama3",
      R"({{- bos_token }}
{%- for m in messages %}
  {%- set role = 'ipython' if m.role == 'tool' else m.role %}
  {{- '<|start_header_id|>' + role + '<|end_header_id|>\n\n' }}
  {%- if m.tool_calls %}
    {{- '{"name": "' + m.tool_calls[0].function.name + '", ' }}
    {{- '"parameters": ' }}{{- m.tool_calls[0].function.arguments | tojson }}{{- '}' }}
  {%- else %}
    {{- m.content | trim }}
  {%- endif %}
  {{- '<|eot_id|>' }}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|start_header_id|>assistant<|end_header_id|>\n\n' }}{%- endif %})",
      {"<|begin_of_text|>",
       "<|start_header_id|>",
       "<|end_header_id|>",
       "<|eot_id|>",
       "<|python_tag|>"},
      "<|eot_id|>",
      "<|begin_of_text|>"};
}

// In the manner of Mistral: tools stand before the last user message, no header for
// answers.
inline Family mistral() {
  return {
      "mistral",
      R"({{- bos_token }}
{%- set ns = namespace(last=0) %}
{%- for m in messages %}{%- if m.role == 'user' %}{%- set ns.last = loop.index0 %}{%- endif %}{%- endfor %}
{%- for m in messages %}
  {%- if m.role == 'user' %}
    {%- if tools and loop.index0 == ns.last %}{{- '[AVAILABLE_TOOLS]' + tools | tojson + '[/AVAILABLE_TOOLS]' }}{%- endif %}
    {{- '[INST]' + m.content + '[/INST]' }}
  {%- elif m.tool_calls %}
    {{- '[TOOL_CALLS][' }}
    {%- for call in m.tool_calls %}
      {{- '{"name": "' + call.function.name + '", "arguments": ' + call.function.arguments | tojson + ', "id": "' + call.id + '"}' }}
      {{- ', ' if not loop.last }}
    {%- endfor %}
    {{- ']' + eos_token }}
  {%- elif m.role == 'assistant' %}
    {{- m.content + eos_token }}
  {%- elif m.role == 'tool' %}
    {{- '[TOOL_RESULTS]{"content": ' + m.content | tojson + ', "call_id": "' + m.tool_call_id + '"}[/TOOL_RESULTS]' }}
  {%- else %}
    {{- raise_exception('Only user, assistant and tool roles') }}
  {%- endif %}
{%- endfor %})",
      {"<s>",
       "</s>",
       "[INST]",
       "[/INST]",
       "[TOOL_CALLS]",
       "[AVAILABLE_TOOLS]",
       "[/AVAILABLE_TOOLS]",
       "[TOOL_RESULTS]",
       "[/TOOL_RESULTS]"},
      "</s>",
      "<s>"};
}

// In the manner of gpt-oss: messages on channels, reasoning of finished turns dropped.
inline Family harmony() {
  return {
      "harmony",
      R"({%- for m in messages %}
  {%- if m.role == 'assistant' and m.tool_calls %}
    {%- set name = m.tool_calls[0].function.name %}
    {{- '<|start|>assistant<|channel|>commentary to=functions.' + name + ' <|constrain|>json<|message|>' }}
    {{- m.tool_calls[0].function.arguments | tojson }}{{- '<|call|>' }}
  {%- elif m.role == 'assistant' %}
    {{- '<|start|>assistant<|channel|>final<|message|>' + m.content }}
    {{- '<|return|>' if loop.last and not add_generation_prompt else '<|end|>' }}
  {%- elif m.role == 'tool' %}
    {%- set name = loop.previtem.tool_calls[0].function.name %}
    {{- '<|start|>functions.' + name + ' to=assistant<|channel|>commentary<|message|>' + m.content + '<|end|>' }}
  {%- else %}
    {{- '<|start|>' + m.role + '<|message|>' + m.content + '<|end|>' }}
  {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|start|>assistant' }}{%- endif %})",
      {"<|start|>",
       "<|end|>",
       "<|message|>",
       "<|channel|>",
       "<|constrain|>",
       "<|return|>",
       "<|call|>"},
      "<|return|>"};
}

// With {% generation %}: the marked text holds the token that ends the turn.
inline Family marked() {
  return {
      "marked",
      R"({%- for m in messages %}
  {%- if m.role == 'assistant' %}
    {{- '<|a|>' }}{% generation %}{{ m.content + '<|end|>' }}{% endgeneration %}
  {%- else %}
    {{- '<|u|>' + m.content + '<|end|>' }}
  {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|a|>' }}{%- endif %})",
      {"<|a|>", "<|u|>", "<|end|>"},
      "<|end|>"};
}

}  // namespace titan::text::chat
